//! A bounded queue between async callers and a plain thread: full means no, at once.
//!
//! Must never make a caller wait for room: callers are async threads.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Why something was not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    Closed,
}

/// What waiting for work brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Some,
    Nothing,
    /// Closed, and all that was taken in has been given out.
    Closed,
}

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    capacity: usize,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State {
            items: VecDeque::with_capacity(capacity.min(1_024)),
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            filled: Condvar::new(),
            capacity,
        }
    }

    pub(super) fn push(&self, item: T) -> Result<(), Refused> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.items.len() >= self.capacity {
            return Err(Refused::Full);
        }
        state.items.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits for something, but no longer than `patience`, then takes all that is there.
    pub(super) fn take_all(&self, into: &mut Vec<T>, patience: Duration) -> Taken {
        let mut state = self.state.lock();
        if state.items.is_empty() && !state.closed {
            self.filled.wait_for(&mut state, patience);
        }
        if !state.items.is_empty() {
            into.extend(state.items.drain(..));
            return Taken::Some;
        }
        if state.closed {
            Taken::Closed
        } else {
            Taken::Nothing
        }
    }

    /// Waits for one item. `None` once closed and empty.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            if state.closed {
                return None;
            }
            self.filled.wait(&mut state);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().items.len()
    }

    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
    }
}
