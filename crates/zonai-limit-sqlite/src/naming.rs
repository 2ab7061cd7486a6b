//! Between a counter's key in memory and its name on the file.
//!
//! Must never invent a slot: what a slot is called is the limiter's knowledge, asked for through [`SlotNames`].

use std::borrow::Cow;
use std::sync::Arc;

use zonai_limit::{Client, CounterKey, Ipv6Prefix, Limiter, Operation, Slot, SlotName};

/// What a slot is called in `_rate_limit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredName {
    /// The column `table`: the table or shared bucket; `<table>:<operation>` for a custom operation.
    pub table: Arc<str>,
    /// The operation.
    pub operation: Operation,
    /// The window now in force, in ms.
    pub window_ms: u64,
}

/// Names of slots; the limiter's registry knows them.
pub trait SlotNames: Send + Sync + 'static {
    /// What `slot` is called now; `None` for a slot that is no longer in use.
    fn name_of(&self, slot: Slot) -> Option<StoredName>;

    /// The slot in which counters stored under this name are counted now. The window may be one that is no longer in
    /// force: counts are kept over a change of policy, so the slot that took its place is answered. `None` where the
    /// operation is not limited, or the table is gone.
    fn slot_of(&self, table: &str, operation: Operation, window_ms: u64) -> Option<Slot>;
}

impl From<SlotName> for StoredName {
    fn from(name: SlotName) -> Self {
        Self {
            table: name.stored_table(),
            operation: name.operation,
            window_ms: name.window_ms,
        }
    }
}

impl SlotNames for Limiter {
    fn name_of(&self, slot: Slot) -> Option<StoredName> {
        self.slot_name(slot).map(StoredName::from)
    }

    fn slot_of(&self, table: &str, operation: Operation, window_ms: u64) -> Option<Slot> {
        let (collection, custom) = match table.split_once(':') {
            Some((collection, custom)) => (collection, Some(custom)),
            None => (table, None),
        };
        self.slot_for(collection, operation, custom, window_ms)
    }
}

/// The four columns that identify a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) client_ip: String,
    pub(crate) table: Arc<str>,
    pub(crate) operation: Cow<'static, str>,
    pub(crate) window_ms: u64,
}

/// The columns of a counter; `None` where its slot has no name any more.
pub(crate) fn columns_of(names: &dyn SlotNames, key: &CounterKey) -> Option<Columns> {
    let name = names.name_of(key.slot)?;
    Some(Columns {
        client_ip: key.client.to_string(),
        table: name.table,
        operation: operation_text(name.operation, key.account),
        window_ms: name.window_ms,
    })
}

/// The counter that these columns name; `None` where they name none that is counted now.
pub(crate) fn key_of(
    names: &dyn SlotNames,
    client_ip: &str,
    table: &str,
    operation: &str,
    window_ms: u64,
) -> Option<CounterKey> {
    let (operation, account) = parse_operation(operation)?;
    let client = parse_client(client_ip)?;
    let slot = names.slot_of(table, operation, window_ms)?;
    Some(CounterKey {
        client,
        slot,
        account,
    })
}

/// The client of the column `client_ip`. A bare IPv6 address is what a /128 is shown as.
pub(crate) fn parse_client(text: &str) -> Option<Client> {
    Client::parse(text, Ipv6Prefix::new(128)?)
}

/// The column `operation`: the name, with the account's 16 hex digits for failed sign-ins.
pub(crate) fn operation_text(operation: Operation, account: u64) -> Cow<'static, str> {
    if account == 0 {
        Cow::Borrowed(operation.name())
    } else {
        Cow::Owned(format!("{}:{account:016x}", operation.name()))
    }
}

/// The column `operation` read back: the operation and the account, 0 where there is none.
pub(crate) fn parse_operation(text: &str) -> Option<(Operation, u64)> {
    let Some((name, account)) = text.split_once(':') else {
        return Operation::from_name(text).map(|operation| (operation, 0));
    };
    if account.len() != 16
        || !account
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    let account = u64::from_str_radix(account, 16)
        .ok()
        .filter(|account| *account != 0)?;
    Operation::from_name(name).map(|operation| (operation, account))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn an_operation_with_an_account_is_read_back() {
        let text = operation_text(Operation::FailedSignIn, 0xbeef);
        assert_eq!(text, "failedSignIn:000000000000beef");
        assert_eq!(
            parse_operation(&text),
            Some((Operation::FailedSignIn, 0xbeef))
        );
        assert_eq!(parse_operation("create"), Some((Operation::Create, 0)));
        for junk in [
            "",
            "nothing",
            "failedSignIn:",
            "failedSignIn:0000000000000000",
            "failedSignIn:+00000000000beef",
        ] {
            assert_eq!(parse_operation(junk), None, "{junk}");
        }
    }

    #[test]
    fn every_client_is_read_back() {
        for text in [
            "203.0.113.7",
            "203.0.113.0/24",
            "2001:db8::/64",
            "2001:db8::1",
            "local",
            "everyone",
        ] {
            assert_eq!(parse_client(text).unwrap().to_string(), text);
        }
        assert_eq!(parse_client("nobody"), None);
    }
}
