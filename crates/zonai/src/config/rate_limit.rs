//! `rateLimit:`: the limiter's own settings. Limits of tables stand in the policy folder.
//!
//! Must never read a limit itself: its grammar is that of the policy files.

use zonai_http::CidrList;
use zonai_limit::Ipv6Prefix;
use zonai_policy::Faults;
use zonai_policy::limit::read_shared;
use zonai_policy::yaml::Map;
use zonai_project::settings::RateLimitSettings;

use super::{app, keys, texts};

/// What applies where nothing is set.
pub(super) fn defaults() -> RateLimitSettings {
    RateLimitSettings {
        max_counters: 1_000_000,
        ipv6_prefix: Ipv6Prefix::DEFAULT,
        exempt: CidrList::default(),
        draft_headers: false,
        shared: Vec::new(),
    }
}

/// Reads the section over `settings`.
pub(super) fn fill(settings: &mut RateLimitSettings, map: &Map, faults: &mut Faults<'_>) {
    keys::RATE_LIMIT.check(map, faults);
    if let Some(entry) = map.get("maxCounters") {
        let most = entry
            .value
            .expect_int("`maxCounters`", 16..=1_000_000_000, faults);
        settings.max_counters = most.unwrap_or(settings.max_counters);
    }
    if let Some(entry) = map.get("ipv6Prefix") {
        let bits = entry.value.expect_int("`ipv6Prefix`", 32..=128, faults);
        settings.ipv6_prefix = bits
            .and_then(Ipv6Prefix::new)
            .unwrap_or(settings.ipv6_prefix);
    }
    if let Some(entry) = map.get("exempt") {
        let entries = texts(&entry.value, "`exempt`", faults);
        match CidrList::parse(entries.iter().map(|(entry, _)| *entry)) {
            Ok(list) => settings.exempt = list,
            Err(_) => app::each_network(&entries, CidrList::parse, faults),
        }
    }
    if let Some(entry) = map.get("headers") {
        match entry.value.as_scalar() {
            Some("draft") => settings.draft_headers = true,
            Some("none") => settings.draft_headers = false,
            _ => faults.at(
                entry.value.span,
                format!(
                    "`headers` must be none or draft, not {}",
                    entry.value.describe()
                ),
            ),
        }
    }
    if let Some(entry) = map.get("shared") {
        settings.shared = read_shared(&entry.value, faults);
    }
}
