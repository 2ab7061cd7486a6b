//! What decides about a request before it is admitted: who it is from, and what it is counted as.
//!
//! Also made without a server, so that the command line explains by the same code. Must never count by itself.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use zonai_http::{CidrList, Found, TrustedProxy, find_client};
use zonai_limit::{Counters, Ipv6Prefix, Limiter, TableId};

use zonai_project::settings::{Settings, TableSettings};

/// Everything that stands before the work.
pub(crate) struct Gate {
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) auth_tables: HashSet<TableId>,
    pub(crate) admin_tables: HashSet<TableId>,
    pub(crate) trusted_proxy: Option<TrustedProxy>,
    pub(crate) ipv6_prefix: Ipv6Prefix,
    pub(crate) exempt: CidrList,
}

impl Gate {
    /// The gate of a server with these settings.
    pub(crate) fn new(settings: &Settings, limiter: Arc<Limiter>, counters: Arc<Counters>) -> Self {
        let ids = |meant: fn(&TableSettings) -> bool| {
            let tables = settings.app.tables.iter().filter(|(_, table)| meant(table));
            tables.filter_map(|(name, _)| limiter.table(name)).collect()
        };
        Self {
            auth_tables: ids(TableSettings::has_accounts),
            admin_tables: ids(|table| table.admin),
            trusted_proxy: settings.app.trusted_proxy.clone(),
            ipv6_prefix: settings.rate_limit.ipv6_prefix,
            exempt: settings.rate_limit.exempt.clone(),
            limiter,
            counters,
        }
    }

    /// Whose request it is.
    pub(crate) fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Found {
        find_client(peer, headers, self.trusted_proxy.as_ref(), self.ipv6_prefix)
    }

    /// Whether connections of this peer begin with a PROXY header.
    pub(crate) fn expects_proxy_header(&self, peer: Option<IpAddr>) -> bool {
        self.trusted_proxy
            .as_ref()
            .is_some_and(|trusted| trusted.proxy_protocol() && trusted.believes(peer))
    }

    /// Whether a client is never refused. Not while it may be anybody behind a proxy that nobody told us of.
    pub(crate) fn is_exempt(&self, found: &Found) -> bool {
        !self.exempt.is_empty()
            && (self.trusted_proxy.is_some() || !found.forwarded_present)
            && found.ip.is_some_and(|ip| self.exempt.contains(ip))
    }

    pub(crate) fn is_auth_table(&self, table: TableId) -> bool {
        self.auth_tables.contains(&table)
    }

    pub(crate) fn is_admin_table(&self, table: TableId) -> bool {
        self.admin_tables.contains(&table)
    }
}
