//! Which limits are in force, and the policy files that say so.
//!
//! Must never write a file that the model does not follow: each change is written and told to the model alike.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::counter::Policy;
use super::dice::Dice;
use crate::run::Folder;

/// A counter of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) collection: &'static str,
    pub(super) operation: &'static str,
    /// Of failed sign-ins: whose.
    pub(super) account: Option<usize>,
}

impl Key {
    pub(super) const fn of(collection: &'static str, operation: &'static str) -> Self {
        Self {
            collection,
            operation,
            account: None,
        }
    }

    pub(super) const fn failed(account: usize) -> Self {
        Self {
            collection: "users",
            operation: "failedSignIn",
            account: Some(account),
        }
    }

    /// Every auth operation is committed before the request goes on.
    pub(super) fn durable(&self) -> bool {
        matches!(self.collection, "users" | "__auth_header__")
    }
}

pub(super) const UNKNOWN: Key = Key::of("__unknown__", "unknown");
const HOUR: u64 = 3_600_000;
/// No limit of the files that change is larger than these.
const MOST_READS: u64 = 499;
const MOST_WRITES: u64 = 64;
const MOST_FAILED: u64 = 4;

type InForce = BTreeMap<(&'static str, &'static str), Option<Policy>>;

/// The limits in force.
#[derive(Clone, Debug)]
pub(super) struct Limits(InForce);

/// What may change while the server runs: the file and its operations.
const CHANGING: [(&str, &[&str]); 4] = [
    ("tasks", &["list", "count", "get"]),
    ("notes", &["list", "count", "get"]),
    ("ledger", &["create", "update", "delete", "get"]),
    (
        "users",
        &["signUp", "signIn", "authenticate", "failedSignIn"],
    ),
];

/// In `zonai.yaml`, and so the same for the whole run. Short, so that many windows open and close.
const SHARED: [(&str, &str, Policy); 4] = [
    ("__unknown__", "unknown", policy(400, 2_000)),
    ("__auth_header__", "refreshToken", policy(400, HOUR)),
    ("__auth_header__", "logout", policy(12, HOUR)),
    ("__auth_header__", "logoutAll", policy(6, 5_000)),
];

const fn policy(limit: u32, window: u64) -> Policy {
    Policy { limit, window }
}

impl Limits {
    /// The limits of the start, and their files.
    pub(super) fn write_first(folder: &Folder, dice: &mut Dice) -> Self {
        let mut limits = Self(InForce::new());
        for (collection, operation, policy) in SHARED {
            limits.0.insert((collection, operation), Some(policy));
        }
        // What looks after the run must not be limited by it.
        for (table, operation) in [("ledger", "list"), ("ledger", "count"), ("private", "list")] {
            limits.0.insert((table, operation), None);
        }
        folder.write(
            "lib/src/rate_limit/private.yaml",
            "table: private\nlimits:\n  list: none\n",
        );
        for table in 0..CHANGING.len() {
            limits.throw(table, dice);
            limits.write(table, folder);
        }
        limits
    }

    /// `shared:` of `zonai.yaml`.
    pub(super) fn shared() -> String {
        let each = SHARED.map(|(_, operation, Policy { limit, window })| {
            format!("{operation}: {limit}/{window}ms")
        });
        format!("{{{}}}", each.join(", "))
    }

    /// Other limits for one table, written as an editor writes. Answers with the table.
    pub(super) fn change(&mut self, folder: &Folder, dice: &mut Dice) -> &'static str {
        let (table, before) = (dice.index(CHANGING.len()), self.0.clone());
        while self.0 == before {
            self.throw(table, dice);
        }
        self.write(table, folder);
        CHANGING[table].0
    }

    pub(super) fn get(&self, key: Key) -> Option<Policy> {
        let found = self.0.get(&(key.collection, key.operation));
        *found.unwrap_or_else(|| panic!("{key:?} is in no file"))
    }

    fn throw(&mut self, table: usize, dice: &mut Dice) {
        let (name, operations) = CHANGING[table];
        for operation in operations {
            let thrown = match name {
                "users" => accounts(operation, dice),
                "ledger" => writes(dice),
                _ => reads(dice),
            };
            self.0.insert((name, operation), thrown);
        }
    }

    fn write(&self, table: usize, folder: &Folder) {
        let (name, operations) = CHANGING[table];
        let under = if name == "users" { "auth" } else { "limits" };
        let mut text = format!("table: {name}\n{under}:\n");
        if name == "ledger" {
            text.push_str("  list: none\n  count: none\n");
        }
        for operation in operations {
            match self.0[&(name, *operation)] {
                None => writeln!(text, "  {operation}: none"),
                Some(Policy { limit, window }) => {
                    writeln!(text, "  {operation}: {limit}/{window}ms")
                }
            }
            .unwrap();
        }
        // In one step: half a file would be a fault that is put right a moment later.
        let new = folder.write(&format!("lib/src/rate_limit/.{name}.new"), &text);
        std::fs::rename(
            new,
            folder
                .path()
                .join(format!("lib/src/rate_limit/{name}.yaml")),
        )
        .unwrap();
    }
}

/// More requests than the limit of any operation that is tried out for a table: reads, reads of the ledger, wrong passwords.
pub(super) fn past_any(table: &str) -> usize {
    let most = match table {
        "users" => MOST_FAILED,
        "ledger" => MOST_WRITES,
        _ => MOST_READS,
    };
    usize::try_from(most).unwrap() + 1
}

fn accounts(operation: &str, dice: &mut Dice) -> Option<Policy> {
    if operation == "failedSignIn" {
        return Some(policy(1 + below(dice, MOST_FAILED), HOUR));
    }
    (!dice.percent(10)).then(|| policy(5 + below(dice, 30), window(dice)))
}

fn writes(dice: &mut Dice) -> Option<Policy> {
    (!dice.percent(40)).then(|| policy(5 + below(dice, MOST_WRITES - 4), window(dice)))
}

fn reads(dice: &mut Dice) -> Option<Policy> {
    match dice.below(10) {
        0 => None,
        1 => Some(policy(0, window(dice))),
        2 => Some(policy(100, 60_000)),
        3..6 => Some(policy(1 + below(dice, 30), window(dice))),
        _ => Some(policy(100 + below(dice, MOST_READS - 99), window(dice))),
    }
}

fn below(dice: &mut Dice, sides: u64) -> u32 {
    u32::try_from(dice.below(sides)).unwrap()
}

/// Most windows outlive the run, so that their counts are exact; some close within it.
fn window(dice: &mut Dice) -> u64 {
    match dice.below(4) {
        0 => 500 + dice.below(4_000),
        1 => 24 * HOUR + dice.below(300 * 24 * HOUR),
        _ => HOUR + dice.below(HOUR),
    }
}
