//! `server:`: what is held before and while a request runs.
//!
//! Must never leave a bound open: there is no "unlimited".

use std::time::Duration;

use zonai_policy::Faults;
use zonai_policy::yaml::Map;
use zonai_project::settings::Bounds;

use super::{keys, units};

const MIB: usize = 1 << 20;

/// Reads the section over `bounds`.
pub(super) fn fill(bounds: &mut Bounds, map: &Map, faults: &mut Faults<'_>) {
    keys::SERVER.check(map, faults);
    for (key, target, least, most) in [
        ("connections", &mut bounds.connections, 1, 1_000_000),
        (
            "streamsPerClient",
            &mut bounds.streams_per_client,
            1,
            1_000_000,
        ),
    ] {
        if let Some(entry) = map.get(key) {
            *target = entry
                .value
                .expect_int(&format!("`{key}`"), least..=most, faults)
                .unwrap_or(*target);
        }
    }
    for (key, target, least, most) in [
        ("bodyBytes", &mut bounds.body_bytes, 64 << 10, 1 << 40),
        (
            "bodyBytesPerClient",
            &mut bounds.body_bytes_per_client,
            4 << 10,
            1 << 40,
        ),
        ("answerBytes", &mut bounds.answer_bytes, 32 * MIB, 1 << 40),
        (
            "answerBytesPerClient",
            &mut bounds.answer_bytes_per_client,
            32 * MIB,
            1 << 40,
        ),
        ("maxPayload", &mut bounds.payload, 1 << 10, 256 * MIB),
    ] {
        size(map, key, target, least, most, faults);
    }
    for (key, target, least, most) in [
        ("bodyTimeout", &mut bounds.body_timeout, 1, 3_600),
        ("headTimeout", &mut bounds.head_timeout, 1, 3_600),
        ("idleTimeout", &mut bounds.idle_timeout, 1, 86_400),
        ("stopGrace", &mut bounds.stop_grace, 0, 3_600),
    ] {
        let range = Duration::from_secs(least)..=Duration::from_secs(most);
        if let Some(value) = duration(map, key, range, faults) {
            *target = value;
        }
    }
    nested(bounds, map, faults);
}

/// A payload must fit into what one client may hold, and what one may hold into what all may.
fn nested(bounds: &Bounds, map: &Map, faults: &mut Faults<'_>) {
    for (inner, inner_size, outer, outer_size) in [
        (
            "maxPayload",
            bounds.payload,
            "bodyBytesPerClient",
            bounds.body_bytes_per_client,
        ),
        (
            "bodyBytesPerClient",
            bounds.body_bytes_per_client,
            "bodyBytes",
            bounds.body_bytes,
        ),
        (
            "answerBytesPerClient",
            bounds.answer_bytes_per_client,
            "answerBytes",
            bounds.answer_bytes,
        ),
    ] {
        if inner_size > outer_size
            && let Some(entry) = map.get(inner).or_else(|| map.get(outer))
        {
            let (inner_size, outer_size) =
                (units::show_bytes(inner_size), units::show_bytes(outer_size));
            let message = format!(
                "`{inner}` ({inner_size}) must not be larger than `{outer}` ({outer_size})"
            );
            faults.at(entry.value.span, message);
        }
    }
}

fn size(
    map: &Map,
    key: &str,
    target: &mut usize,
    least: usize,
    most: usize,
    faults: &mut Faults<'_>,
) {
    let Some(entry) = map.get(key) else { return };
    let Some(text) = entry.value.as_scalar() else {
        faults.at(
            entry.value.span,
            format!(
                "`{key}` must be a size such as 4MiB, not {}",
                entry.value.describe()
            ),
        );
        return;
    };
    match units::bytes(text) {
        Ok(value) if (least..=most).contains(&value) => *target = value,
        Ok(_) => {
            let (least, most) = (units::show_bytes(least), units::show_bytes(most));
            faults.at(
                entry.value.span,
                format!("`{key}` must be from {least} to {most}"),
            );
        }
        Err(message) => faults.at(entry.value.span, format!("`{key}`: {message}")),
    }
}

/// A duration of a key within a range.
pub(super) fn duration(
    map: &Map,
    key: &str,
    range: std::ops::RangeInclusive<Duration>,
    faults: &mut Faults<'_>,
) -> Option<Duration> {
    let node = &map.get(key)?.value;
    let Some(text) = node.as_scalar() else {
        faults.at(
            node.span,
            format!(
                "`{key}` must be a duration such as 30s, 15m or 24h, not {}",
                node.describe()
            ),
        );
        return None;
    };
    match units::duration(text) {
        Ok(value) if range.contains(&value) => return Some(value),
        Ok(_) => {
            let (least, most) = (
                units::show_duration(*range.start()),
                units::show_duration(*range.end()),
            );
            faults.at(node.span, format!("`{key}` must be from {least} to {most}"));
        }
        Err(message) => faults.at(node.span, format!("`{key}`: {message}")),
    }
    None
}
