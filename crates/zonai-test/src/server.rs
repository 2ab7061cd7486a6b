//! A server in the test's own process.

use std::net::SocketAddr;

use zonai_clock::{Clock, Hand};
use zonai_server::{Additions, Running, StartError};

use crate::{Client, Project};

/// A running server. Stop it, or its tasks end with the test's runtime.
pub struct TestServer {
    /// Moves the server's clock.
    pub hand: Hand,
    /// What runs.
    pub running: Running,
    clock: Clock,
}

impl TestServer {
    /// Serves `project` under a hand-set clock.
    pub async fn start(project: &Project) -> Self {
        Self::try_start(project, Additions::default())
            .await
            .unwrap()
    }

    /// The same with limits in code.
    pub async fn start_with(project: &Project, additions: Additions) -> Self {
        Self::try_start(project, additions).await.unwrap()
    }

    /// The same where the start may fail.
    ///
    /// # Errors
    /// As [`Running::start`].
    pub async fn try_start(project: &Project, additions: Additions) -> Result<Self, StartError> {
        let (clock, hand) = Clock::manual();
        Self::start_at(project, additions, clock, hand).await
    }

    /// Stops, and starts again on the same files and the same clock.
    pub async fn restart(self, project: &Project) -> Self {
        let (clock, hand) = (self.clock.clone(), self.hand.clone());
        assert!(self.running.stop().await, "the server did not stop well");
        Self::start_at(project, Additions::default(), clock, hand)
            .await
            .unwrap()
    }

    async fn start_at(
        project: &Project,
        additions: Additions,
        clock: Clock,
        hand: Hand,
    ) -> Result<Self, StartError> {
        let running = Running::start(project.settings(), additions, clock.clone()).await?;
        Ok(Self {
            hand,
            running,
            clock,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    /// A client at 127.0.0.1.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.address())
    }

    /// A client at another address of the loopback network.
    #[must_use]
    pub fn client_at(&self, ip: &str) -> Client {
        Client::from(self.address(), ip.parse().unwrap())
    }
}
