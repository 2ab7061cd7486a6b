//! What can be set about the store. Every default is what a server should run with.

use std::time::Duration;

/// Settings of the store.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a durable operation waits for its commit before it goes on from memory. Default 250 ms.
    pub commit_timeout: Duration,
    /// How long the writer waits for a lock that somebody else holds on the file. Default 200 ms: shorter than
    /// `commit_timeout`, so that those who wait are told why.
    pub busy_timeout: Duration,
    /// How often an idle writer looks whether a counter changed. Default 20 ms; this much of ordinary counts is the
    /// least that a `kill -9` may lose.
    pub idle_poll: Duration,
    /// The first and the longest pause between two attempts while the file cannot be written. Default 10 ms and 1 s.
    pub retry: (Duration, Duration),
    /// The longest time that a commit may stay in the page cache only, in ms of the clock. Default 900 ms, so that with
    /// the sync itself a power cut loses about a second.
    pub sync_ms: u64,
    /// At most this many changed counters in one transaction. Default 1,000, about 10 ms of the writer.
    pub slice: usize,
    /// At most this many durable operations wait at once; those beyond go on from memory. Default 8,192, twice the
    /// number of connections.
    pub max_waiting: usize,
    /// At most this many pages of 4 KiB in the file, `None` for as many as the disk holds. A full file is a fault
    /// like a full disk.
    pub max_pages: Option<u32>,
    /// How many times a closing store tries to write to a file with a fault before it gives up. Default 5.
    pub close_attempts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            commit_timeout: Duration::from_millis(250),
            busy_timeout: Duration::from_millis(200),
            idle_poll: Duration::from_millis(20),
            retry: (Duration::from_millis(10), Duration::from_secs(1)),
            sync_ms: 900,
            slice: 1_000,
            max_waiting: 8_192,
            max_pages: None,
            close_attempts: 5,
        }
    }
}
