//! What a store of counters needs: put back, take what changed, free, list, give a place back.
//!
//! Must never hold a lock for longer than one small table of counters takes.

use super::decide::Taken;
use super::entry::{Entry, tag};
use super::everyone::Total;
use super::key::{AccountKey, Key, Level};
use super::table::Table;
use super::{Clients, CounterKey, CounterState, Counters, with_clients};
use crate::{Client, Moment};

impl Counters {
    /// Puts a stored counter back, at start. A counter that exists with a later window is left alone, and of two with
    /// the same window the higher count stays. Past the cap it is added to its wider group.
    pub fn restore(&self, key: CounterKey, state: CounterState) {
        if key.account != 0 {
            if let Some((own, level)) =
                AccountKey::of(key.client, key.account, self.accounts.prefix)
                && !self.accounts.restore(own, key, level, state, self)
            {
                self.restore(CounterKey { account: 0, ..key }, state);
            }
            return;
        }
        let mut at = Some(key.client);
        while let Some(client) = at {
            let placed = with_clients!(self, table => match Key::of(client, 0, table.prefix) {
                Some((own, level)) => table.restore(own, key, level, state, self),
                None => false,
            });
            if placed {
                return;
            }
            at = client.wider();
        }
        let mut totals = self.everyone.lock();
        let total = totals.entry(key.slot).or_insert(Total {
            state,
            dirty: false,
        });
        total.state = later(total.state, state);
    }

    /// How many counters changed since they were last taken by [`Self::take_changed`].
    #[must_use]
    pub fn changed(&self) -> usize {
        with_clients!(self, table => table.dirty()) + self.accounts.dirty() + self.everyone.dirty()
    }

    /// Takes at most `max` changed counters and marks them as taken: first those of accounts, then of everyone, then of
    /// clients, going on where the last call ended, so that none waits for ever.
    pub fn take_changed(&self, max: usize, out: &mut Vec<(CounterKey, CounterState)>) {
        let end = out.len().saturating_add(max);
        self.accounts
            .take_dirty(max, |entry| out.push(self.accounts.pair(entry)));
        self.everyone
            .take_dirty(end.saturating_sub(out.len()), |slot, state| {
                out.push((
                    CounterKey {
                        client: Client::Everyone,
                        slot,
                        account: 0,
                    },
                    state,
                ));
            });
        let left = end.saturating_sub(out.len());
        with_clients!(self, table => table.take_dirty(left, |entry| out.push(table.pair(entry))));
    }

    /// The state of one counter, which is marked as taken: it is about to be stored.
    #[must_use]
    pub fn take(&self, key: CounterKey) -> Option<CounterState> {
        let mut taken = None;
        self.change(key, |state, _| {
            taken = Some(*state);
            false
        });
        taken
    }

    /// Marks a counter changed again: what was taken could not be written.
    pub fn mark_changed(&self, key: CounterKey) {
        self.change(key, |_, _| true);
    }

    /// Takes one request back from every counter whose window is still the one in which it was counted.
    pub(crate) fn give_back(&self, taken: &Taken) {
        for (key, window_start) in taken.keys.iter().zip(&taken.starts) {
            self.change(*key, |state, dirty| {
                if state.window_start != *window_start {
                    return dirty;
                }
                state.count = state.count.saturating_sub(1);
                true
            });
        }
    }

    /// Removes every counter that `matches`; returns the keys.
    pub fn free(&self, matches: &mut dyn FnMut(&CounterKey) -> bool) -> Vec<CounterKey> {
        let mut freed = Vec::new();
        let mut check = |key: CounterKey| {
            let found = matches(&key);
            if found {
                freed.push(key);
            }
            found
        };
        with_clients!(self, table => table.remove_if(|entry| check(table.pair(entry).0)));
        self.accounts
            .remove_if(|entry| check(self.accounts.pair(entry).0));
        self.everyone.lock().retain(|&slot, _| {
            !check(CounterKey {
                client: Client::Everyone,
                slot,
                account: 0,
            })
        });
        freed
    }

    /// Calls `each` for every counter, with copies and under no lock. Counters made meanwhile may be missing.
    pub fn for_each(&self, each: &mut dyn FnMut(CounterKey, CounterState)) {
        with_clients!(self, table => table.for_each(|entry| {
            let (key, state) = table.pair(entry);
            each(key, state);
        }));
        self.accounts.for_each(|entry| {
            let (key, state) = self.accounts.pair(entry);
            each(key, state);
        });
        let totals: Vec<_> = self
            .everyone
            .lock()
            .iter()
            .map(|(&slot, total)| (slot, total.state))
            .collect();
        for (slot, state) in totals {
            each(
                CounterKey {
                    client: Client::Everyone,
                    slot,
                    account: 0,
                },
                state,
            );
        }
    }

    /// Removes counters whose window has closed, looking at about `budget` places in memory; returns how many went.
    /// For a background tick while no new clients come.
    pub fn reclaim(&self, now: Moment, budget: usize) -> usize {
        let removed = with_clients!(self, table => table.reclaim(budget, now, &self.windows));
        let mut totals = self.everyone.lock();
        totals.retain(|&slot, total| now.since(total.state.window_start) < self.windows.get(slot));
        drop(totals);
        removed + self.accounts.reclaim(budget / 8, now, &self.windows)
    }

    /// Removes every counter whose window has closed, so that a longer window does not open it again. Looks at all of
    /// them, a shard at a time: for changes of policies, not for requests.
    pub fn drop_closed(&self, now: Moment) {
        with_clients!(self, table => table.drop_closed(now, &self.windows));
        self.accounts.drop_closed(now, &self.windows);
        self.everyone
            .lock()
            .retain(|&slot, total| now.since(total.state.window_start) < self.windows.get(slot));
    }

    /// Changes one counter that exists; `change` says whether it is dirty then.
    fn change(&self, key: CounterKey, change: impl FnOnce(&mut CounterState, bool) -> bool) {
        if key.account != 0 {
            if let Some((own, level)) =
                AccountKey::of(key.client, key.account, self.accounts.prefix)
            {
                self.accounts
                    .with(own, key.slot, level, |entry| entry.change(change));
            }
        } else if key.client == Client::Everyone {
            if let Some(total) = self.everyone.lock().get_mut(&key.slot) {
                total.dirty = change(&mut total.state, total.dirty);
            }
        } else {
            with_clients!(self, table => {
                if let Some((own, level)) = Key::of(key.client, 0, table.prefix) {
                    table.with(own, key.slot, level, |entry| entry.change(change));
                }
            });
        }
    }
}

impl<K: Key> Entry<K> {
    fn change(&mut self, change: impl FnOnce(&mut CounterState, bool) -> bool) -> bool {
        let mut state = self.state();
        let dirty = change(&mut state, self.is_dirty());
        let given_back = state.count == 0 && self.count > 0;
        self.open(state.window_start, state.count);
        if given_back {
            self.mark_given_back();
        }
        dirty
    }
}

impl<K: Key> Table<K> {
    fn pair(&self, entry: &Entry<K>) -> (CounterKey, CounterState) {
        let key = CounterKey {
            client: self.client(entry),
            slot: entry.slot(),
            account: entry.key.account(),
        };
        (key, entry.state())
    }

    /// `false` where there is no place.
    fn restore(
        &self,
        own: K,
        key: CounterKey,
        level: Level,
        state: CounterState,
        of: &Counters,
    ) -> bool {
        let tag = tag(key.slot, level);
        let hash = self.hash(own, tag);
        let mut locked = self.lock(own);
        if let Some(entry) = locked.segment(hash).find_mut(hash, own, tag) {
            let state = later(entry.state(), state);
            entry.open(state.window_start, state.count);
            return true;
        }
        if !self.room.reserve(level, own.is_v6()) {
            return false;
        }
        let entry = Entry::new(own, tag, state.window_start, state.count);
        // Nothing is looked at for closed windows: `window_start` is all that is known of the time.
        self.insert(&mut locked, hash, entry, Moment::default(), &of.windows);
        true
    }
}

fn later(one: CounterState, other: CounterState) -> CounterState {
    let order = |state: &CounterState| (state.window_start, state.count);
    if order(&one) >= order(&other) {
        one
    } else {
        other
    }
}
