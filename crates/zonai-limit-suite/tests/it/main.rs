//! The suite on counters that nothing follows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

zonai_limit_suite::conformance!(zonai_limit_suite::InMemory);

#[test]
fn all_cases_in_one_call() {
    zonai_limit_suite::run(|| zonai_limit_suite::InMemory);
}
