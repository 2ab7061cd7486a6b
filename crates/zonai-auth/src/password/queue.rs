//! Who waits for a hash: bounded, and fair between clients.
//!
//! Clients are served in turn, one of each before a second of any. When all places are taken, a client
//! with fewer waiting takes the last place of the one with the most, so that nobody can hold them all.
//! Must never hold more than its places, whoever comes.

use std::collections::{HashMap, VecDeque};

use zonai_limit::Client;

/// A queue of at most `places` items.
pub(crate) struct FairQueue<T> {
    places: usize,
    len: usize,
    turns: VecDeque<Client>,
    waiting: HashMap<Client, VecDeque<T>>,
}

impl<T> FairQueue<T> {
    pub(crate) fn new(places: usize) -> Self {
        Self {
            places,
            len: 0,
            turns: VecDeque::new(),
            waiting: HashMap::new(),
        }
    }

    /// Takes a place. The item that has to leave comes back: none, another's, or the new one itself.
    pub(crate) fn push(&mut self, client: Client, item: T) -> Option<T> {
        let mut leaves = None;
        if self.len >= self.places {
            let mine = self.waiting.get(&client).map_or(0, VecDeque::len);
            match self.greediest() {
                Some((greedy, most)) if most > mine + 1 => leaves = self.take_last(greedy),
                _ => return Some(item),
            }
        }
        let items = self.waiting.entry(client).or_default();
        if items.is_empty() {
            self.turns.push_back(client);
        }
        items.push_back(item);
        self.len += 1;
        leaves
    }

    /// The next to be served.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let client = self.turns.pop_front()?;
        let items = self.waiting.get_mut(&client)?;
        let item = items.pop_front();
        if items.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        self.len -= usize::from(item.is_some());
        item
    }

    /// Whether no place is left.
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.places
    }

    /// Drops the items nobody waits for any more.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        for items in self.waiting.values_mut() {
            items.retain(&keep);
        }
        self.waiting.retain(|_, items| !items.is_empty());
        self.turns
            .retain(|client| self.waiting.contains_key(client));
        self.len = self.waiting.values().map(VecDeque::len).sum();
    }

    fn greediest(&self) -> Option<(Client, usize)> {
        let counts = self
            .waiting
            .iter()
            .map(|(client, items)| (*client, items.len()));
        counts.max_by_key(|(_, count)| *count)
    }

    fn take_last(&mut self, client: Client) -> Option<T> {
        let item = self.waiting.get_mut(&client)?.pop_back();
        self.len -= usize::from(item.is_some());
        item
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use std::net::Ipv4Addr;

    use super::*;

    fn client(last: u8) -> Client {
        Client::V4 {
            network: Ipv4Addr::new(192, 0, 2, last),
            bits: 32,
        }
    }

    fn drain<T>(queue: &mut FairQueue<T>) -> Vec<T> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn one_of_each_client_is_served_before_a_second_of_any() {
        let mut queue = FairQueue::new(64);
        for (who, item) in [
            (1, "a1"),
            (1, "a2"),
            (1, "a3"),
            (2, "b1"),
            (3, "c1"),
            (2, "b2"),
        ] {
            assert_eq!(queue.push(client(who), item), None);
        }
        assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_newcomer_takes_the_last_place_of_the_greediest() {
        let mut queue = FairQueue::new(4);
        for item in 0..4 {
            assert_eq!(queue.push(client(1), item), None);
        }
        assert_eq!(
            queue.push(client(1), 4),
            Some(4),
            "the greedy one itself is refused"
        );
        assert_eq!(queue.push(client(2), 10), Some(3));
        assert_eq!(queue.push(client(2), 11), Some(2));
        assert_eq!(
            queue.push(client(2), 12),
            Some(12),
            "no more than an equal share"
        );
        assert_eq!(drain(&mut queue), [0, 10, 1, 11]);
    }

    #[test]
    fn with_one_each_nobody_is_driven_out() {
        let mut queue = FairQueue::new(3);
        for who in 1..=3 {
            assert_eq!(queue.push(client(who), who), None);
        }
        assert_eq!(queue.push(client(4), 4), Some(4));
        assert!(queue.is_full());
    }

    #[test]
    fn places_of_those_who_left_are_free_again() {
        let mut queue = FairQueue::new(3);
        for item in 0..3 {
            queue.push(client(1), item);
        }
        queue.retain(|item| *item == 1);
        assert!(!queue.is_full());
        assert_eq!(queue.push(client(2), 7), None);
        assert_eq!(drain(&mut queue), [1, 7]);
    }
}
