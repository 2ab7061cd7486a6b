//! The threads that compute hashes: one per core, each one hash at a time, joined on close.
//!
//! Must never be waited for by blocking an async thread, and never hold more than [`PLACES`] waiting.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;
use zonai_limit::Client;

use super::Password;
use super::hash::{Peppers, Verified};
use super::queue::FairQueue;
use crate::error::HASHER_BUSY;
use crate::{AuthError, Secrets};

/// How many may wait for a hash; beyond, a request is told to retry.
pub(crate) const PLACES: usize = 64;

/// The pool. Dropping it joins its threads.
pub struct Hasher {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    peppers: Peppers,
}

struct State {
    queue: FairQueue<Job>,
    closed: bool,
}

struct Job {
    password: Password,
    task: Task,
}

enum Task {
    Hash(oneshot::Sender<Result<String, AuthError>>),
    Verify {
        address: String,
        stored: Option<String>,
        reply: oneshot::Sender<Result<Verified, AuthError>>,
    },
}

impl Hasher {
    /// Starts `threads` threads; the default is one per core.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(secrets: &Secrets, threads: Option<NonZeroUsize>) -> std::io::Result<Self> {
        let threads = match threads {
            Some(threads) => threads,
            None => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        let hasher = Self::idle(secrets);
        for number in 0..threads.get() {
            let shared = Arc::clone(&hasher.shared);
            let name = format!("zonai-hash-{number}");
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || shared.run())?;
            hasher.threads.lock().push(thread);
        }
        Ok(hasher)
    }

    fn idle(secrets: &Secrets) -> Self {
        let state = State {
            queue: FairQueue::new(PLACES),
            closed: false,
        };
        let shared = Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            peppers: Peppers::new(secrets),
        };
        Self {
            shared: Arc::new(shared),
            threads: Mutex::new(Vec::new()),
        }
    }

    /// Hashes a password that is to be stored, in `client`'s turn.
    ///
    /// # Errors
    /// 503 when as many wait as may wait.
    pub async fn hash(&self, client: Client, password: Password) -> Result<String, AuthError> {
        let (reply, answer) = oneshot::channel();
        self.shared.push(
            client,
            Job {
                password,
                task: Task::Hash(reply),
            },
        );
        answer.await.unwrap_or(Err(HASHER_BUSY))
    }

    /// Compares a password with what is stored for an address; nothing stored takes the same time and is a no.
    pub(crate) async fn verify(
        &self,
        client: Client,
        password: Password,
        address: String,
        stored: Option<String>,
    ) -> Result<Verified, AuthError> {
        let (reply, answer) = oneshot::channel();
        self.shared.push(
            client,
            Job {
                password,
                task: Task::Verify {
                    address,
                    stored,
                    reply,
                },
            },
        );
        answer.await.unwrap_or(Err(HASHER_BUSY))
    }

    /// Answers those who wait that the server is busy, lets running hashes end, joins the threads.
    pub fn close(&self) {
        {
            let mut state = self.shared.state.lock();
            state.closed = true;
            // Dropping a job answers the one who waits for it.
            state.queue.retain(|_| false);
        }
        self.shared.work.notify_all();
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a hashing thread had panicked");
            }
        }
    }
}

impl Drop for Hasher {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn push(&self, client: Client, job: Job) {
        let refused = {
            let mut state = self.state.lock();
            if state.closed {
                Some(job)
            } else {
                if state.queue.is_full() {
                    state.queue.retain(|job| !job.is_abandoned());
                }
                state.queue.push(client, job)
            }
        };
        // Whoever has to leave is answered by the drop, outside the lock.
        drop(refused);
        self.work.notify_one();
    }

    fn run(&self) {
        while let Some(job) = self.next() {
            if !job.is_abandoned() {
                job.run(&self.peppers);
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.queue.pop() {
                return Some(job);
            }
            self.work.wait(&mut state);
        }
    }
}

impl Job {
    fn is_abandoned(&self) -> bool {
        match &self.task {
            Task::Hash(reply) => reply.is_closed(),
            Task::Verify { reply, .. } => reply.is_closed(),
        }
    }

    fn run(self, peppers: &Peppers) {
        let fault = |error| AuthError::internal("a password could not be hashed", error);
        // A caller that has gone meanwhile misses nothing.
        match self.task {
            Task::Hash(reply) => {
                let _gone = reply.send(peppers.hash(&self.password).map_err(fault));
            }
            Task::Verify {
                address,
                stored,
                reply,
            } => {
                let verified = peppers.verify(&self.password, &address, stored.as_deref());
                let _gone = reply.send(verified.map_err(fault));
            }
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
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn hasher(threads: usize) -> Hasher {
        let secrets = Secrets::generate().unwrap();
        match NonZeroUsize::new(threads) {
            None => Hasher::idle(&secrets),
            threads => Hasher::start(&secrets, threads).unwrap(),
        }
    }

    fn address() -> String {
        "ada@x.org".to_owned()
    }

    fn given(text: &str) -> Password {
        Password::given(text).unwrap()
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn hashes_and_compares_off_the_async_thread() {
        let hasher = hasher(2);
        let stored = hasher
            .hash(Client::Local, given("correct horse"))
            .await
            .unwrap();
        let right = hasher.verify(
            Client::Local,
            given("correct horse"),
            address(),
            Some(stored.clone()),
        );
        assert_eq!(right.await.unwrap(), Verified::Yes { rehash: None });
        let wrong = hasher
            .verify(Client::Local, given("x"), address(), Some(stored))
            .await
            .unwrap();
        assert_eq!(wrong, Verified::No);
        assert_eq!(
            hasher
                .verify(Client::Local, given("x"), address(), None)
                .await
                .unwrap(),
            Verified::No
        );
        hasher.close();
        let closed = hasher.hash(Client::Local, given("correct horse")).await;
        assert_eq!(closed, Err(HASHER_BUSY));
    }

    #[test]
    fn the_65th_who_waits_is_told_to_retry_and_those_who_left_make_room() {
        let hasher = hasher(0);
        let mut waiting = Vec::new();
        for _ in 0..PLACES {
            let mut one = Box::pin(hasher.verify(Client::Local, given("x"), address(), None));
            assert!(poll(one.as_mut()).is_pending());
            waiting.push(one);
        }
        let mut extra = pin!(hasher.verify(Client::Local, given("x"), address(), None));
        assert_eq!(poll(extra.as_mut()), Poll::Ready(Err(HASHER_BUSY)));
        waiting.pop();
        let mut next = pin!(hasher.verify(Client::Local, given("x"), address(), None));
        assert!(poll(next.as_mut()).is_pending());
        hasher.close();
        assert_eq!(poll(next.as_mut()), Poll::Ready(Err(HASHER_BUSY)));
    }

    #[test]
    fn a_second_client_finds_a_place_though_one_holds_all() {
        let hasher = hasher(0);
        let mut first = Vec::new();
        for _ in 0..PLACES {
            let mut one = Box::pin(hasher.verify(Client::Local, given("x"), address(), None));
            assert!(poll(one.as_mut()).is_pending());
            first.push(one);
        }
        let mut other = pin!(hasher.verify(Client::Everyone, given("x"), address(), None));
        assert!(poll(other.as_mut()).is_pending());
        let mut refused = 0;
        for one in &mut first {
            refused += usize::from(poll(one.as_mut()).is_ready());
        }
        assert_eq!(refused, 1);
    }
}
