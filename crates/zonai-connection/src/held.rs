//! What clients hold of the server's memory: bounded for all of them together and for each.
//!
//! Must never count what is small: what is held here is bodies and answers of many kilobytes.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use zonai_limit::Client;

/// How much of something is held at this moment, in bytes.
#[derive(Debug)]
pub struct Held {
    all: usize,
    each: usize,
    now: Mutex<HeldNow>,
}

#[derive(Debug, Default)]
struct HeldNow {
    all: usize,
    /// Only clients that hold something, so never more than there are holds.
    clients: HashMap<Client, usize>,
}

impl Held {
    /// Room for so many bytes of all clients, and of each.
    pub fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Self {
            all,
            each,
            now: Mutex::default(),
        })
    }

    /// Nothing yet, on behalf of a client.
    pub fn hold(self: &Arc<Self>, client: Client) -> Hold {
        Hold {
            held: Arc::clone(self),
            client,
            bytes: 0,
        }
    }

    fn take(&self, client: Client, bytes: usize) -> bool {
        let mut now = self.now.lock();
        let mine = now.clients.get(&client).copied().unwrap_or(0);
        if now.all + bytes > self.all || mine + bytes > self.each {
            return false;
        }
        now.all += bytes;
        now.clients.insert(client, mine + bytes);
        true
    }

    fn give_back(&self, client: Client, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut now = self.now.lock();
        now.all -= bytes;
        if let Some(mine) = now.clients.get_mut(&client) {
            *mine -= bytes;
            if *mine == 0 {
                now.clients.remove(&client);
            }
        }
    }
}

/// What one body or answer holds; given back when dropped.
#[derive(Debug)]
pub struct Hold {
    held: Arc<Held>,
    client: Client,
    bytes: usize,
}

impl Hold {
    /// Results of so many bytes are not counted.
    pub const SMALL: usize = 64 * 1024;

    /// Holds so many bytes from now on, and no others; nothing for what is small. `false`, and nothing held, where there is no room.
    pub fn set(&mut self, bytes: usize) -> bool {
        self.held
            .give_back(self.client, std::mem::take(&mut self.bytes));
        bytes <= Self::SMALL || self.grow(bytes)
    }

    /// Takes some more, if there is room.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let room = self.held.take(self.client, bytes);
        if room {
            self.bytes += bytes;
        }
        room
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.held.give_back(self.client, self.bytes);
    }
}
