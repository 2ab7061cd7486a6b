//! The counters in memory: decide and count in one step, all of a request's counters or none.
//!
//! Must never admit one request too many, drop an open counter, hold more counters than the cap, or read a clock.

mod decide;
mod entry;
mod everyone;
mod key;
mod room;
mod segment;
mod segments;
mod storing;
mod table;
mod window;
mod windows;

use crate::sync::{AtomicU64, Ordering};
use crate::{Client, Ipv6Prefix, Moment, RateLimitPolicy};

pub(crate) use decide::Taken;
use everyone::Everyone;
use key::{AccountKey, Key};
use table::Table;
pub(crate) use window::judge;
use windows::Windows;

/// An interned (bucket, operation, custom name, window): what a counter is for, apart from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// How many slots there can be.
    pub const LIMIT: u32 = 1 << 30;

    /// The slot of a number below [`Slot::LIMIT`], for programs that use [`Counters`] without a
    /// [`Limiter`](crate::Limiter), which numbers slots itself.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number < Self::LIMIT {
            Some(Self(number))
        } else {
            None
        }
    }
}

/// One counter that a request spends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which counter.
    pub slot: Slot,
    /// The policy now in force.
    pub policy: RateLimitPolicy,
    /// Count and report, never refuse.
    pub observe: bool,
}

/// What identifies one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// Whose (a wider group past the cap).
    pub client: Client,
    /// What for.
    pub slot: Slot,
    /// A keyed hash of the account, for failed sign-ins only; 0 elsewhere.
    pub account: u64,
}

/// One counter's whole state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterState {
    /// When its window opened.
    pub window_start: Moment,
    /// How many requests it admitted.
    pub count: u32,
}

/// The answer of one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Counted in every counter.
    Admitted {
        /// The first charge that would have refused, had it not been observed or exempt.
        would_refuse: Option<Hit>,
    },
    /// Counted in none.
    Refused(Hit),
}

/// The counter that refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The index of the charge.
    pub charge: usize,
    /// When its window closes.
    pub reset: Moment,
}

/// How many failed sign-ins are counted per client and account; past it they are counted per client.
pub const MAX_ACCOUNT_COUNTERS: usize = 100_000;

/// The counters of one server.
///
/// ```
/// use zonai_limit::{Charge, Client, Counters, Moment, Outcome, RateLimitPolicy, Slot};
/// let counters = Counters::new(1_000);
/// let charge = Charge { slot: Slot::new(0).unwrap(), policy: RateLimitPolicy::per_minute(1), observe: false };
/// let now = Moment::from_millis(5_000);
/// assert!(matches!(counters.decide(now, Client::Local, &[charge], false), Outcome::Admitted { .. }));
/// let Outcome::Refused(hit) = counters.decide(now, Client::Local, &[charge], false) else { panic!() };
/// assert_eq!(hit.reset.since(now), 60_000);
/// ```
pub struct Counters {
    clients: Clients,
    accounts: Table<AccountKey>,
    everyone: Everyone,
    windows: Windows,
    crowded: AtomicU64,
}

/// Keys are as narrow as the configured prefix allows.
enum Clients {
    Narrow(Table<u64>),
    Wide(Table<u128>),
}

/// Runs `$body` with `$table` bound to whichever table there is.
macro_rules! with_clients {
    ($counters:expr, $table:ident => $body:expr) => {
        match &$counters.clients {
            Clients::Narrow($table) => $body,
            Clients::Wide($table) => $body,
        }
    };
}
use with_clients;

impl Counters {
    /// Bytes of one counter where IPv6 counts per /64 or wider, the table's own overhead aside.
    pub const ENTRY_BYTES: usize = size_of::<entry::Entry<u64>>();

    /// Room for at most `max_counters` counters (a sixteenth of them for groups of clients), IPv6 per /64.
    #[must_use]
    pub fn new(max_counters: usize) -> Self {
        Self::with_prefix(max_counters, Ipv6Prefix::DEFAULT)
    }

    /// The same with another IPv6 prefix.
    #[must_use]
    pub fn with_prefix(max_counters: usize, prefix: Ipv6Prefix) -> Self {
        let clients = if prefix.bits() <= 64 {
            Clients::Narrow(Table::new(max_counters, prefix))
        } else {
            Clients::Wide(Table::new(max_counters, prefix))
        };
        Self {
            clients,
            accounts: Table::new(MAX_ACCOUNT_COUNTERS, prefix),
            everyone: Everyone::new(),
            windows: Windows::new(),
            crowded: AtomicU64::new(0),
        }
    }

    /// Does not note which counters changed: nobody stores them.
    #[must_use]
    pub fn untracked(mut self) -> Self {
        match &mut self.clients {
            Clients::Narrow(table) => table.tracked = false,
            Clients::Wide(table) => table.tracked = false,
        }
        self.accounts.tracked = false;
        self
    }

    /// Another cap for failed sign-ins than [`MAX_ACCOUNT_COUNTERS`].
    #[must_use]
    pub fn with_account_cap(mut self, max_counters: usize) -> Self {
        let tracked = self.accounts.tracked;
        self.accounts = Table::new(max_counters, self.accounts.prefix);
        self.accounts.tracked = tracked;
        self
    }

    /// Decides and counts in one step. Where several charges refuse, the one that resets last is named, and of those
    /// that reset together the first.
    #[must_use]
    #[inline(always)]
    pub fn decide(&self, now: Moment, client: Client, charges: &[Charge], exempt: bool) -> Outcome {
        if let ([charge], Clients::Narrow(table)) = (charges, &self.clients)
            && let Some(outcome) = table.decide_one(now, Key::pack(client, 0), charge, exempt)
        {
            return outcome;
        }
        self.decide_otherwise(now, client, charges, exempt)
    }

    /// What is not the most common case. Out of line, so that the one that is takes few steps.
    #[cold]
    #[inline(never)]
    fn decide_otherwise(
        &self,
        now: Moment,
        client: Client,
        charges: &[Charge],
        exempt: bool,
    ) -> Outcome {
        if let ([charge], Clients::Wide(table)) = (charges, &self.clients)
            && let Some(outcome) = table.decide_one(now, Key::pack(client, 0), charge, exempt)
        {
            return outcome;
        }
        self.decide_all(now, client, charges, exempt, None)
    }

    /// The same, and adds the counters that were counted in to `taken`.
    pub(crate) fn decide_taking(
        &self,
        now: Moment,
        client: Client,
        charges: &[Charge],
        exempt: bool,
        taken: &mut Taken,
    ) -> Outcome {
        self.decide_all(now, client, charges, exempt, Some(taken))
    }

    fn decide_all(
        &self,
        now: Moment,
        client: Client,
        charges: &[Charge],
        exempt: bool,
        taken: Option<&mut Taken>,
    ) -> Outcome {
        let decided = with_clients!(self, table => {
            table.decide_all(now, Key::pack(client, 0), charges, exempt, &self.windows, &self.everyone, taken)
        });
        match decided {
            Some(decided) => {
                self.note_crowded(decided.crowded);
                decided.outcome
            }
            // Does not happen: the counter of everyone always has a place. Refusing nothing would be wrong.
            None => Outcome::Refused(Hit {
                charge: 0,
                reset: now.plus(1_000),
            }),
        }
    }

    /// Takes a place for a failed sign-in of `client` on `account`; past the cap on the client alone.
    pub(crate) fn decide_account(
        &self,
        now: Moment,
        client: Client,
        account: u64,
        charges: &[Charge],
        taken: &mut Taken,
    ) -> Outcome {
        let own = AccountKey::pack(client, account.max(1));
        let decided = self.accounts.decide_all(
            now,
            own,
            charges,
            false,
            &self.windows,
            &self.everyone,
            Some(&mut *taken),
        );
        match decided {
            Some(decided) => decided.outcome,
            None => {
                self.note_crowded(true);
                self.decide_all(now, client, charges, false, Some(taken))
            }
        }
    }

    fn note_crowded(&self, crowded: bool) {
        if crowded {
            self.crowded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The state of one counter, `None` where it does not exist.
    #[must_use]
    pub fn get(&self, key: CounterKey) -> Option<CounterState> {
        if key.account != 0 {
            let (own, level) = AccountKey::of(key.client, key.account, self.accounts.prefix)?;
            return self.accounts.get(own, key.slot, level);
        }
        if key.client == Client::Everyone {
            return self.everyone.lock().get(&key.slot).map(|total| total.state);
        }
        with_clients!(self, table => {
            let (own, level) = Key::of(key.client, 0, table.prefix)?;
            table.get(own, key.slot, level)
        })
    }

    /// How many counters there are, those of failed sign-ins aside.
    #[must_use]
    pub fn len(&self) -> usize {
        with_clients!(self, table => table.room.live())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there may be.
    #[must_use]
    pub fn max(&self) -> usize {
        with_clients!(self, table => table.room.max())
    }

    /// How many decisions were made on a wider group because there was no room for the client's own counter.
    #[must_use]
    pub fn crowded(&self) -> u64 {
        self.crowded.load(Ordering::Relaxed)
    }

    /// The prefix by which IPv6 clients are counted.
    #[must_use]
    pub fn prefix(&self) -> Ipv6Prefix {
        self.accounts.prefix
    }

    /// Sets how long the window of a slot now is; `None` where it is not limited any more, so that its counters go.
    pub fn set_window(&self, slot: Slot, window: Option<std::time::Duration>) {
        let window_ms = window.map_or(0, |window| {
            u64::try_from(window.as_millis()).unwrap_or(u64::MAX)
        });
        self.windows.set(slot, window_ms);
    }

    /// How long the window of a slot is, in ms; 0 where it is not limited or not known yet.
    #[must_use]
    pub fn window_ms(&self, slot: Slot) -> u64 {
        self.windows.get(slot)
    }

    /// Makes the window of a slot at least as long as that of `policy`.
    pub(crate) fn raise_window(&self, slot: Slot, policy: RateLimitPolicy) {
        self.windows.raise(slot, policy.window_ms());
    }

    /// The level at which a client could next be counted, for explanations.
    pub(crate) fn counted_as(&self, client: Client, slot: Slot) -> (Client, u32) {
        let full = with_clients!(self, table => table.room.is_full());
        let mut at = Some(client);
        let mut factor = 1_u32;
        while let Some(group) = at {
            let exists = self
                .get(CounterKey {
                    client: group,
                    slot,
                    account: 0,
                })
                .is_some();
            if exists || !full || group == Client::Everyone {
                return (group, factor);
            }
            at = group.wider();
            factor = factor.saturating_mul(8);
        }
        (client, 1)
    }
}

impl std::fmt::Debug for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counters")
            .field("len", &self.len())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}
