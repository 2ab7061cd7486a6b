//! One decision: judge every counter of a request under one lock, then count in all of them or in none.
//!
//! Must never count before all have been judged.

use smallvec::SmallVec;

use super::entry::{Entry, tag};
use super::everyone::{Everyone, Total, Totals};
use super::key::{Key, Level};
use super::table::{Locked, Table};
use super::window::{Judged, judge};
use super::windows::Windows;
use super::{Charge, CounterKey, CounterState, Hit, Outcome};
use crate::{Client, Moment};

/// Each wider group of clients shares this many times the limit of the one before.
const WIDER_FACTOR: u32 = 8;

/// The counters in which a request was counted, each with the window that was open then.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) keys: SmallVec<[CounterKey; 2]>,
    pub(crate) starts: SmallVec<[Moment; 2]>,
}

/// Where a charge is counted, and what its counter says.
struct Place<K> {
    at: At<K>,
    judged: Judged,
}

impl<K> Place<K> {
    const fn is_new(&self) -> bool {
        matches!(self.at, At::Reserved { .. })
    }
}

enum At<K> {
    /// A counter that exists.
    Found { key: K, tag: u32, hash: u64 },
    /// A counter to be made; its place is reserved.
    Reserved { key: K, tag: u32, hash: u64 },
    /// The counter of everyone.
    Everyone,
    /// No place, and no wider counter of this kind.
    Nowhere,
}

/// What came of it, beside the outcome.
pub(crate) struct Decided {
    pub(crate) outcome: Outcome,
    /// Some charge was counted in a wider group.
    pub(crate) crowded: bool,
}

impl<K: Key> Table<K> {
    /// The common cases in the fewest steps: one charge, and its counter exists, is open, and either has room or refuses.
    /// `None`, and nothing changed, in every other.
    ///
    /// What is done here waits for memory; the fewer steps there are, the more of the next decisions' waiting overlaps.
    #[inline(always)]
    pub(crate) fn decide_one(
        &self,
        now: Moment,
        key: K,
        charge: &Charge,
        exempt: bool,
    ) -> Option<Outcome> {
        let tag = tag(charge.slot, Level::OWN);
        let hash = self.hash(key, tag);
        let mut locked = self.lock(key);
        let entry = locked.segment(hash).find_mut(hash, key, tag)?;
        let start_ms = entry.start_ms();
        if now.as_millis().saturating_sub(start_ms) >= charge.policy.window_ms() {
            return None;
        }
        if entry.count < charge.policy.max_requests() {
            entry.count += 1;
            if !entry.is_dirty() && self.tracked {
                entry.set_dirty(true);
                locked.note_dirty(hash);
            }
            return Some(Outcome::Admitted { would_refuse: None });
        }
        if exempt || charge.observe {
            return None;
        }
        Some(Outcome::Refused(Hit {
            charge: 0,
            reset: Moment::from_millis(start_ms).plus(charge.policy.window_ms()),
        }))
    }

    /// The general case. `None` where a charge finds no place, and nothing refuses.
    #[expect(
        clippy::too_many_arguments,
        reason = "inside of the decision; bundling them would cost a copy"
    )]
    pub(crate) fn decide_all(
        &self,
        now: Moment,
        own: K,
        charges: &[Charge],
        exempt: bool,
        windows: &Windows,
        everyone: &Everyone,
        taken: Option<&mut Taken>,
    ) -> Option<Decided> {
        let mut locked = self.lock(own);
        self.look_for_room(&mut locked, own, charges, now, windows);
        let mut totals: Option<Totals<'_>> = None;
        let mut crowded = false;
        let mut places: SmallVec<[Place<K>; 4]> = SmallVec::new();
        for charge in charges {
            let place = self.place(&mut locked, now, own, charge, everyone, &mut totals);
            crowded |= match place.at {
                At::Found { tag, .. } | At::Reserved { tag, .. } => {
                    Level::from_tag(tag) != Level::OWN
                }
                At::Everyone | At::Nowhere => true,
            };
            places.push(place);
        }
        let (refused, would_refuse) = verdict(charges, &places, exempt);
        if let Some(hit) = refused {
            self.open_empty_windows(
                &mut locked,
                charges,
                &places,
                exempt,
                now,
                windows,
                totals.as_mut(),
            );
            return Some(Decided {
                outcome: Outcome::Refused(hit),
                crowded,
            });
        }
        if places.iter().any(|place| matches!(place.at, At::Nowhere)) {
            self.room
                .release(places.iter().filter(|place| place.is_new()).count());
            return None;
        }
        if let Some(taken) = taken {
            for (charge, place) in charges.iter().zip(&places) {
                taken.keys.push(self.counter_key(charge, place));
                taken.starts.push(place.judged.counted.window_start);
            }
        }
        // Counters that exist come first: reclaiming, which goes with making new ones, must find their windows open.
        for new in [false, true] {
            for (place, charge) in places
                .iter()
                .zip(charges)
                .filter(|(place, _)| place.is_new() == new)
            {
                windows.raise(charge.slot, charge.policy.window_ms());
                self.write(&mut locked, place, place.judged.counted, true, now, windows);
            }
        }
        if let Some(totals) = totals.as_mut() {
            count_everyone(totals, charges, &places, self.tracked);
        }
        Some(Decided {
            outcome: Outcome::Admitted { would_refuse },
            crowded,
        })
    }

    fn look_for_room(
        &self,
        locked: &mut Locked<'_, K>,
        own: K,
        charges: &[Charge],
        now: Moment,
        windows: &Windows,
    ) {
        if !self.room.is_full() {
            return;
        }
        for charge in charges {
            let tag = tag(charge.slot, Level::OWN);
            let hash = self.hash(own, tag);
            if locked.segment(hash).find(hash, own, tag).is_none() {
                self.make_room(locked, hash, now, windows);
                return;
            }
        }
    }

    /// Finds the narrowest counter that exists or can be made.
    fn place<'a>(
        &self,
        locked: &mut Locked<'_, K>,
        now: Moment,
        own: K,
        charge: &Charge,
        everyone: &'a Everyone,
        totals: &mut Option<Totals<'a>>,
    ) -> Place<K> {
        let mut factor = 1_u32;
        for level in [Level::OWN, Level::NEAR, Level::FAR] {
            let key = if level == Level::OWN {
                own
            } else {
                if !K::WIDENS {
                    break;
                }
                let Some(key) = own.widened(level, self.prefix) else {
                    continue;
                };
                factor = factor.saturating_mul(WIDER_FACTOR);
                key
            };
            let tag = tag(charge.slot, level);
            let hash = self.hash(key, tag);
            if let Some(entry) = locked.segment(hash).find(hash, key, tag) {
                let judged = judge(Some(entry.state()), now, charge.policy, factor);
                return Place {
                    at: At::Found { key, tag, hash },
                    judged,
                };
            }
            if self.room.reserve(level, own.is_v6()) {
                let judged = judge(None, now, charge.policy, factor);
                return Place {
                    at: At::Reserved { key, tag, hash },
                    judged,
                };
            }
        }
        if !K::WIDENS {
            let judged = judge(None, now, charge.policy, u32::MAX);
            return Place {
                at: At::Nowhere,
                judged,
            };
        }
        let state = totals
            .get_or_insert_with(|| everyone.lock())
            .get(&charge.slot)
            .map(|total| total.state);
        let judged = judge(
            state,
            now,
            charge.policy,
            factor.saturating_mul(WIDER_FACTOR),
        );
        Place {
            at: At::Everyone,
            judged,
        }
    }

    /// Refused: nothing is counted. Where a limit of 0 found no window, one is opened, so that there is a reset.
    #[expect(
        clippy::too_many_arguments,
        reason = "inside of the decision; bundling them would cost a copy"
    )]
    fn open_empty_windows(
        &self,
        locked: &mut Locked<'_, K>,
        charges: &[Charge],
        places: &[Place<K>],
        exempt: bool,
        now: Moment,
        windows: &Windows,
        totals: Option<&mut Totals<'_>>,
    ) {
        let empty = CounterState {
            window_start: now,
            count: 0,
        };
        let opens = |charge: &Charge, place: &Place<K>| {
            place.judged.opens && place.judged.full && !exempt && !charge.observe
        };
        if let Some(totals) = totals {
            for (charge, place) in charges.iter().zip(places) {
                if matches!(place.at, At::Everyone) && opens(charge, place) {
                    totals.insert(
                        charge.slot,
                        Total {
                            state: empty,
                            dirty: false,
                        },
                    );
                }
            }
        }
        for (charge, place) in charges.iter().zip(places) {
            match place.at {
                At::Found { .. } | At::Reserved { .. } if opens(charge, place) => {
                    windows.raise(charge.slot, charge.policy.window_ms());
                    self.write(locked, place, empty, false, now, windows);
                }
                At::Reserved { .. } => self.room.release(1),
                _ => {}
            }
        }
    }

    fn write(
        &self,
        locked: &mut Locked<'_, K>,
        place: &Place<K>,
        state: CounterState,
        dirty: bool,
        now: Moment,
        windows: &Windows,
    ) {
        let (key, tag, hash, reserved) = match place.at {
            At::Found { key, tag, hash } => (key, tag, hash, false),
            At::Reserved { key, tag, hash } => (key, tag, hash, true),
            At::Everyone | At::Nowhere => return,
        };
        let dirty = dirty && self.tracked;
        if let Some(entry) = locked.segment(hash).find_mut(hash, key, tag) {
            entry.open(state.window_start, state.count);
            if dirty && !entry.is_dirty() {
                entry.set_dirty(true);
                locked.note_dirty(hash);
            }
            if reserved {
                self.room.release(1);
            }
            return;
        }
        if reserved {
            let mut entry = Entry::new(key, tag, state.window_start, state.count);
            entry.set_dirty(dirty);
            self.insert(locked, hash, entry, now, windows);
            if dirty {
                locked.note_dirty(hash);
            }
        }
    }

    fn counter_key(&self, charge: &Charge, place: &Place<K>) -> CounterKey {
        let (client, account) = match place.at {
            At::Found { key, tag, .. } | At::Reserved { key, tag, .. } => {
                (key.client(Level::from_tag(tag), self.prefix), key.account())
            }
            At::Everyone | At::Nowhere => (Client::Everyone, 0),
        };
        CounterKey {
            client,
            slot: charge.slot,
            account,
        }
    }
}

/// The refusal that resets last (the first of those that reset together), and what would have been refused.
fn verdict<K>(charges: &[Charge], places: &[Place<K>], exempt: bool) -> (Option<Hit>, Option<Hit>) {
    let (mut refused, mut would_refuse): (Option<Hit>, Option<Hit>) = (None, None);
    for (index, (charge, place)) in charges.iter().zip(places).enumerate() {
        if !place.judged.full || matches!(place.at, At::Nowhere) {
            continue;
        }
        let hit = Hit {
            charge: index,
            reset: place.judged.reset,
        };
        if exempt || charge.observe {
            would_refuse.get_or_insert(hit);
        } else if refused.is_none_or(|latest| hit.reset > latest.reset) {
            refused = Some(hit);
        }
    }
    (refused, would_refuse)
}

fn count_everyone<K>(
    totals: &mut Totals<'_>,
    charges: &[Charge],
    places: &[Place<K>],
    tracked: bool,
) {
    for (charge, place) in charges.iter().zip(places) {
        if matches!(place.at, At::Everyone) {
            totals.insert(
                charge.slot,
                Total {
                    state: place.judged.counted,
                    dirty: tracked,
                },
            );
        }
    }
}
