//! Whether a request that was refused is refused again: a look that counts nothing.
//!
//! Must never change a counter, wait, or say yes where a decision would say no.

use super::Limiter;
use crate::counters::{Charge, CounterKey, judge};
use crate::registry::PlanSource;
use crate::verdict::{Ask, Refusal};
use crate::{Client, Moment};

impl Limiter {
    /// Whether a decision at `now` would refuse with the same policy and the same reset as `refusal`, which the same
    /// question was answered with before. For whoever can then answer as before at less cost than anew.
    ///
    /// `false` also where that is not known at once: a policy that has to be asked, several operations, a client that
    /// is counted in a wider group. A decision tells then.
    #[must_use]
    pub fn refuses_again(
        &self,
        now: Moment,
        client: Client,
        ask: &Ask<'_>,
        refusal: &Refusal,
    ) -> bool {
        let config = self.config.load();
        let [operation] = ask.operations else {
            return false;
        };
        if ask.exempt || *operation != refusal.operation || !config.misregistered.is_empty() {
            return false;
        }
        let Some(plan) = config.plan(ask.bucket, *operation, ask.custom) else {
            return false;
        };
        let PlanSource::Fixed(charges) = &plan.source else {
            return false;
        };
        // As in a decision, the one that resets last is named, and of those that reset together the first.
        let mut last: Option<(&Charge, Moment)> = None;
        for charge in charges.iter().filter(|charge| !charge.observe) {
            let key = CounterKey {
                client,
                slot: charge.slot,
                account: 0,
            };
            let Some(state) = self.counters.get(key) else {
                return false;
            };
            let judged = judge(Some(state), now, charge.policy, 1);
            if judged.full && judged.opens {
                // A window of which nothing is admitted: a decision opens it.
                return false;
            }
            if judged.full && last.is_none_or(|(_, latest)| latest < judged.reset) {
                last = Some((charge, judged.reset));
            }
        }
        last.is_some_and(|(charge, reset)| {
            charge.policy == refusal.policy && reset == refusal.reset
        })
    }
}
