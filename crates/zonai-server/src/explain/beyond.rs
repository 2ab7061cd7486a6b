//! What limits a request beyond its own counters in a running server: failed sign-ins, and places of streams.
//!
//! Must never hash a password, and never take a place.

use serde_json::Value;
use zonai_auth::Auth;
use zonai_http::Found;
use zonai_limit::{Ask, Bucket, CounterKey, Explained, Moment, Operation};

use crate::gate::Gate;
use crate::live::Places;
use crate::route::Auth as Route;
use crate::way::STREAM_RETRY_MS;
use crate::way::target::{Target, To};

/// What only a running server has.
pub(crate) struct Beyond<'a> {
    pub(crate) auth: &'a Auth,
    pub(crate) places: &'a Places,
}

/// A refusal because all places of streams are taken.
pub(super) struct NoPlace {
    pub(super) setting: &'static str,
    pub(super) retry_after: u64,
    pub(super) why: String,
}

impl Beyond<'_> {
    /// The counters of failed sign-ins that a request with a password is held against when it was admitted.
    pub(super) async fn counters(
        &self,
        gate: &Gate,
        now: Moment,
        found: &Found,
        target: &Target,
        body: &str,
    ) -> Vec<Explained> {
        let To::Auth(route, table) = target.to else {
            return Vec::new();
        };
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            return Vec::new();
        };
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let with_password = match route {
            Route::SignIn | Route::SignUp => true,
            Route::Authenticate => {
                matches!(text("type"), Some("signIn" | "signUp" | "adminSignIn"))
            }
            Route::Admin => text("type") == Some("adminSignIn"),
            _ => false,
        };
        let table = table.or_else(|| gate.limiter.table(self.auth.admin_table().ok()?));
        let (Some(table), Some(email), true) = (table, text("email"), with_password) else {
            return Vec::new();
        };
        let account = self
            .auth
            .account_key(&gate.limiter.table_name(table), email);
        let ask = Ask::new(Bucket::Table(table), &[Operation::FailedSignIn]);
        let mut counters = gate.limiter.peek(now, found.client, &ask).await;
        for counter in &mut counters {
            let state = gate.counters.get(CounterKey {
                client: found.client,
                slot: counter.slot,
                account,
            });
            let open =
                state.filter(|state| now.since(state.window_start) < counter.policy.window_ms());
            counter.count = open.map_or(0, |state| state.count);
            counter.window_start = open.map(|state| state.window_start);
            counter.reset = open
                .map_or(now, |state| state.window_start)
                .plus(counter.policy.window_ms());
            counter.full = counter.count >= counter.policy.max_requests();
        }
        counters
    }

    /// Why a stream would not be opened.
    pub(super) fn full_of_streams(&self, found: &Found, target: &Target) -> Option<NoPlace> {
        let (To::Stream(..), open) = (target.to, self.places.open_of(found.client)) else {
            return None;
        };
        (open >= self.places.per_client()).then(|| NoPlace {
            setting: "server.streamsPerClient",
            retry_after: STREAM_RETRY_MS / 1_000,
            why: format!("the client has {open} open streams, as many as it may"),
        })
    }
}
