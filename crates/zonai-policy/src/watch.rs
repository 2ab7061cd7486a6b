//! Notices that the policy folder changed, by looking at it: one thread, several looks a second.
//!
//! Looking needs no help of the file system, so that symlinks that are swapped, folders that appear later and
//! mounted folders are nothing special. Must never miss a change for good, nor be starved by
//! changes that never end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::fingerprint::{Fingerprint, inside, outside};

/// How often to look, and how long to wait for a writer to finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two looks at a folder that rests (200 ms).
    pub look: Duration,
    /// Between two looks at a folder that changes: two alike mean that the writer is done (50 ms).
    pub settle: Duration,
    /// At most so many looks at a folder that changes, then it is read as it is (4).
    pub settle_looks: u32,
    /// So many looks after a change also read the contents: two writes within the resolution of the file
    /// system's clock look alike from outside (12).
    pub close_looks: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(200),
            settle: Duration::from_millis(50),
            settle_looks: 4,
            close_looks: 12,
        }
    }
}

/// A thread that watches one folder. Dropping it ends the thread and waits for it.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    wanted: Mutex<Wanted>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Wanted {
    stop: bool,
    nudge: bool,
}

/// What a pause ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Time,
    Nudge,
    Stop,
}

impl Watch {
    /// Watches `dir`, which need not exist. `seen` is how it looked when it was read last
    /// ([`crate::Reading::fingerprint`]); `on_change` is called on the thread for every look that differs from the
    /// look before, and for every [`Watch::nudge`], one call at a time.
    ///
    /// # Errors
    /// When the system starts no thread.
    pub fn start(
        dir: impl Into<PathBuf>,
        seen: Fingerprint,
        pace: Pace,
        on_change: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let watcher = Watcher {
            eyes: Folder(dir.into()),
            pace,
            seen,
            close: pace.close_looks,
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new()
            .name("policies".to_owned())
            .spawn(move || watcher.run(on_change))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Calls `on_change` soon, whether or not anything changed (for SIGHUP).
    pub fn nudge(&self) {
        self.shared.wanted.lock().nudge = true;
        self.shared.wake.notify_all();
    }

    /// Ends the thread at once, or after the call of `on_change` that runs.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.wanted.lock().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that watches the policies has panicked");
        }
    }
}

/// Looks at what is watched.
trait Eyes {
    /// Cheap: what it looks like from outside.
    fn outside(&mut self) -> u64;
    /// What stands in it.
    fn inside(&mut self) -> u64;
}

struct Folder(PathBuf);

impl Eyes for Folder {
    fn outside(&mut self) -> u64 {
        outside(&self.0)
    }

    fn inside(&mut self) -> u64 {
        inside(&self.0)
    }
}

struct Watcher<E> {
    eyes: E,
    pace: Pace,
    seen: Fingerprint,
    /// Looks left that also read the contents.
    close: u32,
    shared: Arc<Shared>,
}

impl<E: Eyes> Watcher<E> {
    fn run(mut self, mut on_change: impl FnMut()) {
        loop {
            let nudged = match self.pause(self.pace.look) {
                Woken::Stop => return,
                Woken::Nudge => true,
                Woken::Time => false,
            };
            let look = self.look();
            if look == self.seen && !nudged {
                continue;
            }
            let Some(settled) = self.settle(look) else {
                return;
            };
            // Taken before the folder is read: what changes from here on differs from it.
            self.seen = settled;
            self.close = self.pace.close_looks;
            if catch_unwind(AssertUnwindSafe(&mut on_change)).is_err() {
                tracing::error!("reading the changed policies has panicked; those in force stay");
            }
        }
    }

    fn look(&mut self) -> Fingerprint {
        let outside = self.eyes.outside();
        if outside == self.seen.outside {
            if self.close == 0 {
                return self.seen;
            }
            self.close -= 1;
        }
        Fingerprint {
            outside,
            inside: self.eyes.inside(),
        }
    }

    /// Waits until two looks are alike, but not for ever. `None` when stopped.
    fn settle(&mut self, mut last: Fingerprint) -> Option<Fingerprint> {
        for _ in 0..self.pace.settle_looks {
            if self.pause(self.pace.settle) == Woken::Stop {
                return None;
            }
            let next = Fingerprint {
                outside: self.eyes.outside(),
                inside: self.eyes.inside(),
            };
            if next == last {
                break;
            }
            last = next;
        }
        Some(last)
    }

    fn pause(&self, length: Duration) -> Woken {
        let mut wanted = self.shared.wanted.lock();
        if !wanted.stop && !wanted.nudge {
            self.shared.wake.wait_for(&mut wanted, length);
        }
        if wanted.stop {
            Woken::Stop
        } else if std::mem::take(&mut wanted.nudge) {
            Woken::Nudge
        } else {
            Woken::Time
        }
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
    use super::*;

    /// Something that always looks the same from outside, or never.
    struct Odd {
        rests_outside: bool,
        looks: u64,
    }

    impl Eyes for Odd {
        fn outside(&mut self) -> u64 {
            self.looks += 1;
            if self.rests_outside { 0 } else { self.looks }
        }

        fn inside(&mut self) -> u64 {
            self.looks
        }
    }

    fn watcher(rests_outside: bool) -> Watcher<Odd> {
        let pace = Pace {
            settle: Duration::from_millis(1),
            ..Pace::default()
        };
        Watcher {
            eyes: Odd {
                rests_outside,
                looks: 0,
            },
            pace,
            seen: Fingerprint::default(),
            close: pace.close_looks,
            shared: Arc::new(Shared::default()),
        }
    }

    #[test]
    fn contents_are_read_for_a_while_though_nothing_moved_outside() {
        let mut watcher = watcher(true);
        for _ in 0..watcher.pace.close_looks {
            assert_ne!(watcher.look(), watcher.seen);
        }
        assert_eq!(watcher.look(), watcher.seen);
    }

    #[test]
    fn what_never_rests_is_read_as_it_is() {
        let mut watcher = watcher(false);
        let first = watcher.look();
        assert!(watcher.settle(first).is_some());
        assert_eq!(watcher.eyes.looks, 1 + u64::from(watcher.pace.settle_looks));
    }
}
