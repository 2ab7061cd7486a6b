//! The charges of a request, with the operation of each, where there is more than the simple case.
//!
//! Must never ask a policy while anything is locked.

use smallvec::SmallVec;

use super::Limiter;
use crate::counters::Charge;
use crate::registry::{Config, Plan, PlanSource};
use crate::verdict::{Ask, Bucket};
use crate::{Operation, Shared};

/// All charges of a request, narrow operations first.
#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) charges: SmallVec<[Charge; 4]>,
    operations: SmallVec<[Operation; 4]>,
}

impl Resolved {
    /// `None` where a policy has to be asked.
    pub(crate) fn without_asking(config: &Config, ask: &Ask<'_>) -> Option<Self> {
        let mut resolved = Self::default();
        for (operation, plan) in plans(config, ask) {
            match &plan?.source {
                PlanSource::Fixed(charges) => resolved.add(operation, charges),
                PlanSource::Code(..) => return None,
            }
        }
        Some(resolved)
    }

    /// The operation of a charge.
    pub(crate) fn operation(&self, charge: usize) -> Operation {
        self.operations
            .get(charge)
            .copied()
            .unwrap_or(Operation::Unknown)
    }

    fn add(&mut self, operation: Operation, charges: &[Charge]) {
        self.charges.extend_from_slice(charges);
        self.operations.extend(charges.iter().map(|_| operation));
    }
}

impl Limiter {
    /// Asks the policies that have to be asked.
    pub(super) async fn resolve(&self, config: &Config, ask: &Ask<'_>) -> Resolved {
        let mut resolved = Resolved::default();
        for (operation, plan) in plans(config, ask) {
            let Some(plan) = plan else { continue };
            resolved.add(operation, &self.charges(plan, operation, ask).await);
        }
        resolved
    }

    /// The charges of one operation now.
    pub(super) async fn charges(
        &self,
        plan: &Plan,
        operation: Operation,
        ask: &Ask<'_>,
    ) -> SmallVec<[Charge; 2]> {
        match &plan.source {
            PlanSource::Fixed(charges) => charges.clone(),
            PlanSource::Code(code, slot) => {
                let custom = self.names.custom(ask.bucket, ask.custom);
                let Some(policy) = code.policy(operation, custom.as_deref()).await else {
                    return SmallVec::new();
                };
                self.counters.raise_window(*slot, policy);
                SmallVec::from_iter([Charge {
                    slot: *slot,
                    policy,
                    observe: false,
                }])
            }
        }
    }
}

/// The operations of a request, each once, narrow ones first so that they are named at a tie; with their plans. One
/// that the bucket does not have is counted with the unknown: never let through.
pub(super) fn plans<'c>(
    config: &'c Config,
    ask: &Ask<'_>,
) -> SmallVec<[(Operation, Option<&'c Plan>); 4]> {
    let mut operations: SmallVec<[Operation; 4]> = ask.operations.into();
    if operations.is_empty() {
        operations.push(Operation::Unknown);
    }
    let mut plans: SmallVec<[(Operation, Option<&Plan>); 4]> = operations
        .iter()
        .map(
            |&operation| match config.plan(ask.bucket, operation, ask.custom) {
                Some(plan) => (operation, Some(plan)),
                None => {
                    let unknown = Bucket::Shared(Shared::Unknown);
                    (
                        Operation::Unknown,
                        config.plan(unknown, Operation::Unknown, None),
                    )
                }
            },
        )
        .collect();
    plans.sort_by_key(|(operation, _)| *operation);
    plans.dedup_by_key(|(operation, _)| *operation);
    plans
}
