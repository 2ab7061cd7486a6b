//! The configuration in force, resolved so that a decision only has to look up its charges.
//!
//! Never changes once made: a change makes another one.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{CustomId, Misregistered, TableId};
use crate::counters::{Charge, Slot};
use crate::verdict::Bucket;
use crate::{DynRateLimits, Mode, Operation, Origin, Shared};

/// All plans of one version of the configuration.
pub(crate) struct Config {
    pub(crate) version: u64,
    pub(crate) tables: Vec<TablePlans>,
    pub(crate) shared: Vec<(Operation, Plan)>,
    pub(crate) misregistered: Vec<Misregistered>,
}

/// The plans of one table.
pub(crate) struct TablePlans {
    /// By [`index_of`].
    pub(crate) plans: Vec<Plan>,
    /// By [`CustomId`]; empty where names are not validated.
    pub(crate) customs: Vec<Plan>,
}

/// What one operation costs.
pub(crate) struct Plan {
    pub(crate) source: PlanSource,
    pub(crate) origin: Origin,
    pub(crate) mode: Mode,
}

pub(crate) enum PlanSource {
    /// These counters; none where the operation is not limited.
    Fixed(SmallVec<[Charge; 2]>),
    /// Asked each time.
    Code(Arc<dyn DynRateLimits>, Slot),
}

impl Config {
    /// The plan of one operation; `None` where the bucket does not have it.
    #[inline]
    pub(crate) fn plan(
        &self,
        bucket: Bucket,
        operation: Operation,
        custom: Option<CustomId>,
    ) -> Option<&Plan> {
        match bucket {
            Bucket::Table(TableId(table)) => {
                let table = self.tables.get(table as usize)?;
                match custom {
                    Some(CustomId(custom)) if operation == Operation::Custom => {
                        table.customs.get(custom as usize)
                    }
                    _ => table.plans.get(index_of(operation)?),
                }
            }
            Bucket::Shared(shared) => self.shared_plan(shared, operation),
        }
    }

    fn shared_plan(&self, shared: Shared, operation: Operation) -> Option<&Plan> {
        if !shared.operations().contains(&operation) {
            return None;
        }
        self.shared
            .iter()
            .find(|(of, _)| *of == operation)
            .map(|(_, plan)| plan)
    }
}

/// The place of an operation among the plans of a table: those of [`Operation::TABLE`], then those of [`Operation::AUTH`].
#[inline]
pub(crate) const fn index_of(operation: Operation) -> Option<usize> {
    Some(match operation {
        Operation::Get => 0,
        Operation::List => 1,
        Operation::Count => 2,
        Operation::Create => 3,
        Operation::Update => 4,
        Operation::Delete => 5,
        Operation::Custom => 6,
        Operation::SignIn => 7,
        Operation::SignUp => 8,
        Operation::FailedSignIn => 9,
        Operation::Authenticate => 10,
        Operation::SendOtp => 11,
        Operation::SendMagicLink => 12,
        Operation::SendResetPassword => 13,
        Operation::SendVerifyEmail => 14,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_stand_in_the_order_of_the_operations() {
        let order = Operation::TABLE.into_iter().chain(Operation::AUTH);
        for (place, operation) in order.enumerate() {
            assert_eq!(index_of(operation), Some(place), "{}", operation.name());
        }
    }
}
