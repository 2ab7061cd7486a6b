//! One counter as administrators see it, in the shape of the table `_rate_limit`; and which of them are meant.
//!
//! Must never give one counter two ids: what was listed is deleted by its id, also after a restart.

use sha2::{Digest, Sha256};
use zonai_limit::{Client, CounterKey, Operation};

use crate::naming::{SlotNames, parse_client, parse_operation};

/// One row of `_rate_limit`: the same shape from memory and from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// 15 hex digits and `_rl`, the same for a counter wherever and whenever it is shown.
    pub id: String,
    /// The client, as a prefix where one is counted.
    pub client_ip: String,
    /// The table or shared bucket; `<table>:<operation>` for a custom operation.
    pub table: String,
    /// The operation; `failedSignIn:<16 hex>` for the failed sign-ins of one account.
    pub operation: String,
    /// When the window opened, in ms since the epoch.
    pub window_start: i64,
    /// How many requests it admitted.
    pub count: u32,
    /// How long the window is, in ms.
    pub window_ms: u64,
}

/// Which counters are meant. What is `None` means any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The client. A network means every client inside it, too; [`Client::Everyone`] and [`Client::Local`] only themselves.
    pub client: Option<Client>,
    /// The table or shared bucket, with all its custom operations; or one `<table>:<operation>`.
    pub table: Option<String>,
    /// The operation. Failed sign-ins of every account are one operation.
    pub operation: Option<Operation>,
}

impl Filter {
    /// Every counter of one client, its failed sign-ins included.
    #[must_use]
    pub fn client(client: Client) -> Self {
        Self {
            client: Some(client),
            ..Self::default()
        }
    }

    pub(crate) fn matches_client(&self, client: &Client) -> bool {
        self.client.is_none_or(|wanted| covers(wanted, *client))
    }

    pub(crate) fn matches_name(&self, table: &str, operation: Operation) -> bool {
        self.operation.is_none_or(|wanted| wanted == operation)
            && self.table.as_deref().is_none_or(|wanted| {
                table
                    .strip_prefix(wanted)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            })
    }

    pub(crate) fn matches_key(&self, names: &dyn SlotNames, key: &CounterKey) -> bool {
        self.matches_client(&key.client)
            && names
                .name_of(key.slot)
                .is_some_and(|name| self.matches_name(&name.table, name.operation))
    }

    pub(crate) fn matches_row(&self, client_ip: &str, table: &str, operation: &str) -> bool {
        let (Some(client), Some((operation, _))) =
            (parse_client(client_ip), parse_operation(operation))
        else {
            return false;
        };
        self.matches_client(&client) && self.matches_name(table, operation)
    }
}

/// The id of the counter with these columns: the same on every start, so that what was listed can be deleted.
pub(crate) fn id_of(client_ip: &str, table: &str, operation: &str, window_ms: u64) -> String {
    let mut hash = Sha256::new();
    for part in [client_ip, table, operation] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.update(window_ms.to_be_bytes());
    let digest = hash.finalize();
    let mut id = String::with_capacity(18);
    for byte in digest.iter().take(8) {
        for half in [byte >> 4, byte & 15] {
            id.extend(char::from_digit(u32::from(half), 16));
        }
    }
    id.truncate(15);
    id.push_str("_rl");
    id
}

/// Whether the clients of `inner` are among those of `outer`.
fn covers(outer: Client, inner: Client) -> bool {
    match (outer, inner) {
        (
            Client::V4 {
                network: a,
                bits: outer_bits,
            },
            Client::V4 { network: b, bits },
        ) => {
            bits >= outer_bits
                && shared_bits(
                    u128::from(a.to_bits()) << 96,
                    u128::from(b.to_bits()) << 96,
                    outer_bits,
                )
        }
        (
            Client::V6 {
                network: a,
                bits: outer_bits,
            },
            Client::V6 { network: b, bits },
        ) => bits >= outer_bits && shared_bits(a.to_bits(), b.to_bits(), outer_bits),
        _ => outer == inner,
    }
}

fn shared_bits(a: u128, b: u128, bits: u8) -> bool {
    (a ^ b).leading_zeros() >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn client(text: &str) -> Client {
        parse_client(text).unwrap()
    }

    #[test]
    fn an_id_is_fifteen_hex_and_the_suffix_and_does_not_change() {
        let id = id_of("203.0.113.7", "items", "create", 60_000);
        assert_eq!(id.len(), 18);
        assert!(id.ends_with("_rl"));
        assert!(
            id.bytes()
                .take(15)
                .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
        );
        assert_eq!(id, id_of("203.0.113.7", "items", "create", 60_000));
        assert_ne!(id, id_of("203.0.113.7", "items", "create", 60_001));
        assert_ne!(id_of("a", "bc", "d", 1), id_of("ab", "c", "d", 1));
    }

    #[test]
    fn a_network_means_its_clients_and_a_client_only_itself() {
        assert!(covers(client("203.0.113.0/24"), client("203.0.113.7")));
        assert!(!covers(client("203.0.113.0/24"), client("203.0.114.7")));
        assert!(!covers(client("203.0.113.7"), client("203.0.113.0/24")));
        assert!(covers(client("2001:db8::/32"), client("2001:db8:1::/64")));
        assert!(covers(client("0.0.0.0/0"), client("203.0.113.7")));
        assert!(!covers(client("everyone"), client("203.0.113.7")));
        assert!(covers(client("everyone"), client("everyone")));
    }

    #[test]
    fn a_table_means_its_custom_operations_too() {
        let filter = Filter {
            table: Some("items".into()),
            ..Filter::default()
        };
        assert!(filter.matches_row("local", "items", "create"));
        assert!(filter.matches_row("local", "items:archive", "custom"));
        assert!(!filter.matches_row("local", "items2", "create"));
        let filter = Filter {
            operation: Some(Operation::FailedSignIn),
            ..Filter::default()
        };
        assert!(filter.matches_row("local", "users", "failedSignIn:00000000000000ff"));
        assert!(!filter.matches_row("local", "users", "signIn"));
    }
}
