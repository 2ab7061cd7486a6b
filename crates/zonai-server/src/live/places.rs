//! How many streams a client has open. Dropping a [`Place`] frees it at once.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use zonai_limit::Client;

/// The open streams, by client. Only clients with an open stream are in here.
pub(crate) struct Places {
    per_client: usize,
    taken: Mutex<HashMap<Client, usize>>,
}

/// One open stream's place.
pub(crate) struct Place {
    places: Arc<Places>,
    client: Client,
}

impl Place {
    /// Whose it is.
    pub(crate) fn client(&self) -> Client {
        self.client
    }
}

impl Places {
    pub(crate) fn new(per_client: usize) -> Arc<Self> {
        Arc::new(Self {
            per_client,
            taken: Mutex::default(),
        })
    }

    /// How many a client may have.
    pub(crate) fn per_client(&self) -> usize {
        self.per_client
    }

    /// A place for one more stream of a client, or `None` where it has as many as it may.
    pub(crate) fn take(self: &Arc<Self>, client: Client) -> Option<Place> {
        let mut taken = self.taken.lock();
        let mine = taken.get(&client).copied().unwrap_or(0);
        if mine >= self.per_client {
            return None;
        }
        taken.insert(client, mine + 1);
        Some(Place {
            places: Arc::clone(self),
            client,
        })
    }

    /// How many streams a client has open.
    pub(crate) fn open_of(&self, client: Client) -> usize {
        self.taken.lock().get(&client).copied().unwrap_or(0)
    }

    /// How many streams are open.
    pub(crate) fn open(&self) -> usize {
        self.taken.lock().values().sum()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        if let Some(mine) = taken.get_mut(&self.client) {
            *mine -= 1;
            if *mine == 0 {
                taken.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_place_is_free_at_once() {
        let places = Places::new(1);
        let place = places.take(Client::Local);
        assert!(place.is_some());
        assert!(places.take(Client::Local).is_none());
        assert!(
            places.take(Client::Everyone).is_some(),
            "another client has places of its own"
        );
        drop(place);
        assert!(places.take(Client::Local).is_some());
        assert_eq!(places.open(), 0);
    }
}
