//! A state without a listener, for tests of what runs inside the server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zonai_clock::{Clock, Hand};
use zonai_project::settings::Settings;
use zonai_test::Project;

use crate::server::{Additions, start};
use crate::state::State;

/// The state of a project's server, under a hand-set clock. Nothing runs beside it.
pub(crate) async fn state(project: &Project) -> (Arc<State>, Hand) {
    state_of(project.settings()).await
}

/// The same with settings of the test's own.
#[expect(clippy::expect_used, reason = "a failure here is a failed test")]
pub(crate) async fn state_of(settings: Settings) -> (Arc<State>, Hand) {
    let (clock, hand) = Clock::manual();
    let state = start::state(
        settings,
        Additions::default(),
        clock,
        CancellationToken::new(),
    );
    (
        Arc::new(state.await.expect("the state of the project")),
        hand,
    )
}
