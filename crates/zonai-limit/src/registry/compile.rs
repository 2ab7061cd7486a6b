//! From what was configured to plans, finding every fault on the way.
//!
//! Must never stop at the first fault, and never leave a limit that was written without effect.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use smallvec::SmallVec;

use super::plan::{Config, Plan, PlanSource, TablePlans, index_of};
use super::slots::{Book, Owner};
use super::{
    Accounts, CustomId, CustomNames, Known, KnownTable, Misregistered, Registration, RegistryFault,
    Source, TableId,
};
use crate::counters::Charge;
use crate::limits::MAX_WINDOWS;
use crate::{
    DynRateLimits, Kind, Limit, Mode, Operation, Origin, RateLimitPolicy, Shared, TableLimits,
};

/// What a configuration is made from.
pub(crate) struct Input<'a> {
    pub(crate) known: &'a Known,
    pub(crate) registrations: &'a [Registration],
    pub(crate) shared: &'a [(Operation, Limit)],
    pub(crate) before: &'a Book,
    pub(crate) version: u64,
}

/// Resolves `input`, or says all that is wrong with it.
pub(crate) fn compile(input: &Input<'_>) -> Result<(Config, Book), Vec<RegistryFault>> {
    let mut faults = Vec::new();
    for registration in input.registrations {
        check_registration(input.known, registration, &mut faults);
    }
    check_shared(input.shared, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut maker = Maker {
        book: input.before.successor(),
        before: input.before,
    };
    let tables = input.known.tables.iter().enumerate();
    let tables = tables
        .map(|(id, table)| maker.table(TableId(id as u32), table, input.registrations))
        .collect();
    let shared = Shared::ALL
        .into_iter()
        .flat_map(|shared| shared.operations().iter().map(move |op| (shared, *op)));
    let shared = shared
        .map(|(bucket, operation)| {
            let written = input
                .shared
                .iter()
                .find(|(of, _)| *of == operation)
                .map(|(_, limit)| limit);
            let owner = Owner {
                table: Err(bucket),
                operation,
                custom: None,
            };
            (operation, maker.stated(owner, written, Mode::Enforce))
        })
        .collect();
    let misregistered = misregistered(input.registrations);
    Ok((
        Config {
            version: input.version,
            tables,
            shared,
            misregistered,
        },
        maker.book,
    ))
}

fn check_registration(known: &Known, registration: &Registration, faults: &mut Vec<RegistryFault>) {
    let name = registration.table_name();
    let origin = registration.origin();
    let Some(table) = known.tables.iter().find(|table| table.name == name) else {
        let known = known
            .tables
            .iter()
            .map(|table| table.name.clone())
            .collect();
        return faults.push(RegistryFault::UnknownTable {
            table: name.to_owned(),
            origin,
            known,
        });
    };
    if registration.kind == Kind::Auth && table.accounts == Accounts::None {
        let known = known
            .tables
            .iter()
            .filter(|table| table.accounts != Accounts::None)
            .map(|table| table.name.clone())
            .collect();
        faults.push(RegistryFault::NotAuth {
            table: name.to_owned(),
            origin,
            known,
        });
    }
    if registration.kind == Kind::Auth && table.accounts == Accounts::Admins {
        check_admins(name, registration, faults);
    }
    let Source::Stated(limits) = &registration.source else {
        return;
    };
    let possible = operations(registration.kind);
    for (&operation, limit) in &limits.operations {
        if !possible.contains(&operation) {
            let known = possible.iter().map(|operation| operation.name()).collect();
            faults.push(RegistryFault::Misplaced {
                operation,
                origin: limit.origin.clone(),
                known,
            });
        }
        check_windows(operation, limit, faults);
    }
    for (operation, limit) in &limits.custom {
        check_windows(Operation::Custom, limit, faults);
        let registered: &[String] = match &table.custom {
            CustomNames::Registered(names) => names,
            CustomNames::Unvalidated => &[],
        };
        if registration.kind == Kind::Auth || !registered.contains(operation) {
            faults.push(RegistryFault::UnknownCustom {
                table: name.to_owned(),
                operation: operation.clone(),
                origin: limit.origin.clone(),
                known: registered.to_vec(),
            });
        }
    }
}

/// No limit that can be written may be without effect: the account routes of admins count elsewhere. Of code that has to be
/// asked anew each time it cannot be told which of its methods are its own.
fn check_admins(table: &str, registration: &Registration, faults: &mut Vec<RegistryFault>) {
    let elsewhere = Operation::AUTH
        .into_iter()
        .filter(|operation| !Accounts::Admins.operations().contains(operation));
    for operation in elsewhere {
        let origin = match &registration.source {
            Source::Stated(limits) => limits
                .operations
                .get(&operation)
                .map(|limit| limit.origin.clone()),
            Source::Code(code) => code
                .is_constant()
                .then(|| ask_once(code.as_ref(), operation, None))
                .flatten()
                .filter(|policy| *policy != Some(operation.default_policy()))
                .map(|_| registration.origin()),
        };
        if let Some(origin) = origin {
            faults.push(RegistryFault::CountedForAdmins {
                table: table.to_owned(),
                operation,
                origin,
            });
        }
    }
}

fn check_shared(shared: &[(Operation, Limit)], faults: &mut Vec<RegistryFault>) {
    for (index, (operation, limit)) in shared.iter().enumerate() {
        let (operation, origin) = (*operation, limit.origin.clone());
        check_windows(operation, limit, faults);
        if Shared::of(operation).is_none() {
            let all = Shared::ALL.iter().flat_map(|shared| shared.operations());
            let known = all.map(|operation| operation.name()).collect();
            faults.push(RegistryFault::Misplaced {
                operation,
                origin,
                known,
            });
        } else if shared[..index]
            .iter()
            .any(|(before, _)| *before == operation)
        {
            faults.push(RegistryFault::SharedTwice { operation, origin });
        }
    }
}

fn check_windows(operation: Operation, limit: &Limit, faults: &mut Vec<RegistryFault>) {
    let windows = limit.windows.len();
    if windows > MAX_WINDOWS {
        faults.push(RegistryFault::TooManyWindows {
            operation,
            windows,
            origin: limit.origin.clone(),
        });
    }
}

const fn operations(kind: Kind) -> &'static [Operation] {
    match kind {
        Kind::Table => &Operation::TABLE,
        Kind::Auth => &Operation::AUTH,
    }
}

/// Every second registration of a kind for a table, in the order of the tables' first ones.
fn misregistered(registrations: &[Registration]) -> Vec<Misregistered> {
    let mut found = Vec::new();
    for (index, second) in registrations.iter().enumerate() {
        let same = |first: &&Registration| {
            first.kind == second.kind && first.table_name() == second.table_name()
        };
        if let Some(first) = registrations[..index].iter().find(same) {
            found.push(Misregistered {
                kind: second.kind,
                table: second.table_name().into(),
                first: first.origin(),
                second: second.origin(),
            });
        }
    }
    found
}

struct Maker<'a> {
    book: Book,
    before: &'a Book,
}

impl Maker<'_> {
    fn table(
        &mut self,
        id: TableId,
        table: &KnownTable,
        registrations: &[Registration],
    ) -> TablePlans {
        let of = |kind| {
            registrations
                .iter()
                .find(|one| one.kind == kind && one.table_name() == table.name)
                .map(|one| &one.source)
        };
        let mut plans = Vec::with_capacity(Operation::TABLE.len() + Operation::AUTH.len());
        for kind in [Kind::Table, Kind::Auth] {
            for &operation in operations(kind) {
                debug_assert_eq!(index_of(operation), Some(plans.len()));
                let owner = Owner {
                    table: Ok(id),
                    operation,
                    custom: None,
                };
                plans.push(self.plan(owner, of(kind), None));
            }
        }
        let names: &[String] = match &table.custom {
            CustomNames::Registered(names) => names,
            CustomNames::Unvalidated => &[],
        };
        let customs = names.iter().enumerate().map(|(custom, name)| {
            let custom = Some(CustomId(custom as u32));
            let owner = Owner {
                table: Ok(id),
                operation: Operation::Custom,
                custom,
            };
            self.plan(owner, of(Kind::Table), Some(name))
        });
        TablePlans {
            customs: customs.collect(),
            plans,
        }
    }

    fn plan(&mut self, owner: Owner, source: Option<&Source>, custom: Option<&str>) -> Plan {
        match source {
            None => self.stated(owner, None, Mode::Enforce),
            Some(Source::Stated(limits)) => self.stated(
                owner,
                stated_limit(limits, owner.operation, custom),
                limits.mode,
            ),
            Some(Source::Code(code)) => self.code(owner, code, custom),
        }
    }

    fn stated(&mut self, owner: Owner, limit: Option<&Limit>, mode: Mode) -> Plan {
        match limit {
            Some(limit) => self.fixed(owner, &limit.windows, limit.mode, limit.origin.clone()),
            None => self.fixed(
                owner,
                &[owner.operation.default_policy()],
                mode,
                Origin::Default,
            ),
        }
    }

    fn code(&mut self, owner: Owner, code: &Arc<dyn DynRateLimits>, custom: Option<&str>) -> Plan {
        let origin = Origin::Code {
            type_name: code.type_name(),
        };
        if code.is_constant()
            && let Some(policy) = ask_once(code.as_ref(), owner.operation, custom)
        {
            return self.fixed(owner, policy.as_slice(), Mode::Enforce, origin);
        }
        // The window is known only when the policy is asked; what the slot had before stays until then.
        let window = self
            .before
            .owned
            .get(&owner)
            .and_then(|owned| owned.first())
            .map_or(0, |(_, window)| *window);
        let slot = self.book.assign(self.before, owner, &[window])[0];
        Plan {
            source: PlanSource::Code(Arc::clone(code), slot),
            origin,
            mode: Mode::Enforce,
        }
    }

    fn fixed(
        &mut self,
        owner: Owner,
        windows: &[RateLimitPolicy],
        mode: Mode,
        origin: Origin,
    ) -> Plan {
        let policies = distinct(windows);
        let lengths: Vec<u64> = policies.iter().map(|policy| policy.window_ms()).collect();
        let slots = self.book.assign(self.before, owner, &lengths);
        // Nobody may guess passwords because a table is only observed.
        let observe = mode == Mode::Observe && owner.operation != Operation::FailedSignIn;
        let charges = slots.into_iter().zip(policies);
        let charges = charges
            .map(|(slot, policy)| Charge {
                slot,
                policy,
                observe,
            })
            .collect();
        Plan {
            source: PlanSource::Fixed(charges),
            origin,
            mode,
        }
    }
}

fn stated_limit<'a>(
    limits: &'a TableLimits,
    operation: Operation,
    custom: Option<&str>,
) -> Option<&'a Limit> {
    let named = custom.and_then(|name| limits.custom.get(name));
    named.or_else(|| limits.operations.get(&operation))
}

/// One window per length: of two limits in windows of one length only the lower can ever bind.
fn distinct(windows: &[RateLimitPolicy]) -> SmallVec<[RateLimitPolicy; 2]> {
    let mut distinct: SmallVec<[RateLimitPolicy; 2]> = SmallVec::new();
    for &policy in windows {
        match distinct
            .iter_mut()
            .find(|other| other.window_ms() == policy.window_ms())
        {
            Some(other) if other.max_requests() > policy.max_requests() => *other = policy,
            Some(_) => {}
            None => distinct.push(policy),
        }
    }
    distinct
}

/// The answer of a method that is ready at once.
fn ask_once(
    code: &dyn DynRateLimits,
    operation: Operation,
    custom: Option<&str>,
) -> Option<Option<RateLimitPolicy>> {
    let mut future = pin!(code.policy(operation, custom));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(policy) => Some(policy),
        Poll::Pending => None,
    }
}
