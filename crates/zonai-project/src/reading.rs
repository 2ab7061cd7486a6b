//! Everything that the files of a project say, held against its tables. The start, `zonai check` and the commands
//! that work without a server read it here, so that they cannot differ.
//!
//! Must never write, and never stop at the first fault.

use std::path::Path;
use std::sync::Arc;

use zonai_clock::Clock;
use zonai_data::{Operations, Rules, Schema};
use zonai_limit::{Counters, Internal, Limiter, Origin, Registration};
use zonai_policy::{Diagnostic, Source, Span};

use crate::in_code::InCode;
use crate::known::{known, policy_tables};
use crate::policies::{self, Policies};
use crate::settings::{Paths, Settings};
use crate::{crons, operations, rules};

/// What the files say, as far as they pass.
pub struct Reading {
    /// Custom operations, of files and in code.
    pub operations: Operations,
    /// `None` where a rules file does not pass.
    pub rules: Option<Rules>,
    /// Scheduled SQL.
    pub crons: Vec<crons::CronFile>,
    /// `None` where a policy does not pass.
    pub limits: Option<Limits>,
    /// Everything that is wrong.
    pub faults: Vec<Diagnostic>,
}

/// The limiter with what the policy files say in force.
pub struct Limits {
    /// What is in force, and how it is read again.
    pub policies: Policies,
    /// The counters, empty.
    pub counters: Arc<Counters>,
    /// Decides by them.
    pub limiter: Arc<Limiter>,
    /// The token of work that has no request.
    pub internal: Internal,
}

/// Reads operations, rules, jobs and policies, and looks at what code adds.
pub fn read(settings: &Settings, code: &InCode, schema: &Schema, clock: &Clock) -> Reading {
    let paths = &settings.paths;
    let tables: Vec<&str> = schema.tables().map(|table| table.name.as_str()).collect();
    let (operations, mut faults) =
        operations::read(&paths.operations, &paths.project, schema, &code.operations);
    let mut keep = |found: Vec<Diagnostic>| faults.extend(found);
    let rules = rules::read(&paths.rules, &paths.project, schema, &operations)
        .map_err(&mut keep)
        .ok();
    let crons = crons::read(&paths.crons, &paths.project, |_| None)
        .map_err(&mut keep)
        .unwrap_or_default();
    let limits = limits(settings, &code.rate_limits, &tables, &operations, clock)
        .map_err(&mut keep)
        .ok();
    for name in code
        .hooked
        .iter()
        .filter(|name| !tables.contains(&name.as_str()))
    {
        let fault = Diagnostic::whole_file("hooks", format!("there is no table `{name}`"));
        faults.push(fault.with_nearest(name, tables.iter().copied()));
    }
    Reading {
        operations,
        rules,
        crons,
        limits,
        faults,
    }
}

/// Reads the policies alone.
///
/// # Errors
/// With every fault of them.
pub fn limits(
    settings: &Settings,
    code: &[Registration],
    tables: &[&str],
    operations: &Operations,
    clock: &Clock,
) -> Result<Limits, Vec<Diagnostic>> {
    let paths = &settings.paths;
    let known = known(
        tables.iter().copied(),
        &settings.app.tables,
        &operations.names(),
    );
    let policies = Policies::new(
        paths.rate_limit.clone(),
        &paths.project,
        policy_tables(&known),
        code.to_vec(),
        settings.rate_limit.shared.clone(),
        clock.clone(),
    );
    let read = policies.read()?;
    policies.started(read.fingerprint());
    let counters = Arc::new(Counters::with_prefix(
        settings.rate_limit.max_counters,
        settings.rate_limit.ipv6_prefix,
    ));
    let made = Limiter::new(
        Arc::clone(&counters),
        known,
        read.registrations,
        policies.shared(),
    );
    match made {
        Ok((limiter, internal)) => Ok(Limits {
            policies,
            counters,
            limiter: Arc::new(limiter),
            internal,
        }),
        Err(faults) => Err(faults
            .iter()
            .map(|fault| policies::diagnose(fault, &paths.project))
            .collect()),
    }
}

/// Tables that are limited twice, as faults that name both places. A server starts with them and fails every check.
pub fn limited_twice(limiter: &Limiter, paths: &Paths) -> Vec<Diagnostic> {
    let twice = limiter.misregistered();
    let fault = |one: &zonai_limit::Misregistered| {
        at(
            &one.second,
            format!("{one}; first in {}", one.first),
            &paths.project,
        )
    };
    twice.iter().map(fault).collect()
}

/// A fault at the place where something is registered.
pub fn at(origin: &Origin, message: String, project: &Path) -> Diagnostic {
    match origin {
        Origin::File { path, line, column } => match Source::read(&project.join(&**path), path) {
            Ok(source) => source.fault(Span::point(*line, *column), message),
            Err(_) => Diagnostic::whole_file(path, message),
        },
        other => Diagnostic::whole_file(&other.to_string(), message),
    }
}
