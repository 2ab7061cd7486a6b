//! Failed sign-ins: a place is taken before the password is hashed and given back when it was right.
//!
//! Must never be switched off by `exempt` or `mode: observe`: this is what stops guessing.

use std::sync::Arc;

use super::Limiter;
use crate::counters::{CounterKey, Counters, Hit, Outcome, Taken};
use crate::registry::{Misregistered, TableId};
use crate::verdict::{Admitted, Ask, Bucket, Refusal};
use crate::{Client, Moment, Operation};

/// Why no place was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Too many failures: a 429 with the operation `failedSignIn`.
    Refused(Refusal),
    /// Two registrations for one table: a 500.
    Misregistered(Misregistered),
}

/// A place among the failed sign-ins of a client and an account. Dropped, it stays taken.
#[derive(Debug)]
#[must_use = "a place that is not given back is a failed sign-in"]
pub struct Place {
    counters: Arc<Counters>,
    taken: Taken,
}

impl Place {
    /// The counters to commit to disk before the hash is computed.
    #[must_use]
    pub fn durable(&self) -> &[CounterKey] {
        &self.taken.keys
    }

    /// The sign-in succeeded: it does not count.
    pub fn give_back(self) {
        self.counters.give_back(&self.taken);
    }
}

impl Limiter {
    /// Takes a place for a password sign-in of `client` on an account of `table`. `account` is a keyed hash of the
    /// normalised address, whether the account exists or not.
    ///
    /// # Errors
    /// When the places are used up, or the configuration names a table twice.
    pub async fn take_failed_sign_in(
        &self,
        now: Moment,
        client: Client,
        table: TableId,
        account: u64,
    ) -> Result<Place, NotTaken> {
        let config = self.config.load_full();
        if let Some(misregistered) = config.misregistered.first() {
            return Err(NotTaken::Misregistered(misregistered.clone()));
        }
        let ask = Ask::new(Bucket::Table(table), &[Operation::FailedSignIn]);
        let charges = self.resolve(&config, &ask).await.charges;
        let mut taken = Taken::default();
        match self
            .counters
            .decide_account(now, client, account, &charges, &mut taken)
        {
            Outcome::Refused(hit) => {
                Err(NotTaken::Refused(self.failed_refusal(&ask, &charges, hit)))
            }
            Outcome::Admitted { .. } => Ok(Place {
                counters: Arc::clone(&self.counters),
                taken,
            }),
        }
    }

    /// Takes a request on an account back from the counters that admitted it: no place was left for it, so that it was
    /// refused after all, and what is refused is counted in none. To be called once for a request.
    pub fn give_back(&self, admitted: &Admitted) {
        self.counters.give_back(admitted.taken());
    }

    fn failed_refusal(&self, ask: &Ask<'_>, charges: &[crate::Charge], hit: Hit) -> Refusal {
        self.refusal(ask, charges, Operation::FailedSignIn, hit)
    }
}
