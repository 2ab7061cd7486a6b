//! A state without a listener, for tests of what runs inside the server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zonai_clock::{Clock, Hand};
use zonai_test::Project;

use crate::server::{Additions, start};
use crate::state::State;

/// The state of a project's server, under a hand-set clock. Nothing runs beside it.
pub(crate) async fn state(project: &Project) -> (Arc<State>, Hand) {
    let (clock, hand) = Clock::manual();
    let settings = project.settings();
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
