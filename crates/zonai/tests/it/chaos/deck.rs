//! What happens to the program, in the order of the seed.
//!
//! Must never leave one of them to chance for long: a short run is to meet all of them.

use super::dice::Dice;

/// What happens in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Nothing,
    Policies,
    FaultyPolicies,
    Kill,
    KillAmongCommits,
    KillAtRest,
    Stop,
    Sweep,
    ProxyKilled,
    DiskFull,
    DiskFullKill,
}

/// A deck: shuffled and played to its end, so that also a short run meets each of them.
pub(super) const DECK: [(usize, Event); 11] = [
    (2, Event::Nothing),
    (6, Event::Policies),
    (1, Event::FaultyPolicies),
    (3, Event::Kill),
    (2, Event::KillAmongCommits),
    (1, Event::KillAtRest),
    (2, Event::Stop),
    (1, Event::Sweep),
    (1, Event::ProxyKilled),
    (1, Event::DiskFull),
    (1, Event::DiskFullKill),
];

/// What is left of the deck.
#[derive(Default)]
pub(super) struct Deck(Vec<Event>);

impl Deck {
    pub(super) fn draw(&mut self, dice: &mut Dice) -> Event {
        if self.0.is_empty() {
            let whole = DECK
                .into_iter()
                .flat_map(|(often, event)| vec![event; often]);
            self.0 = whole.collect();
        }
        self.0.swap_remove(dice.index(self.0.len()))
    }
}
