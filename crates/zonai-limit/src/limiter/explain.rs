//! What is in force and what a request would meet, for people who ask. Counts nothing.

use std::sync::Arc;

use super::Limiter;
use super::resolve::plans;
use crate::counters::{CounterKey, Slot};
use crate::registry::{Config, CustomId, CustomNames, Plan, TableId};
use crate::verdict::{Ask, Bucket};
use crate::{Client, Mode, Moment, Operation, Origin, RateLimitPolicy, Shared};

/// One counter that a request would spend from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Which.
    pub slot: Slot,
    /// Who is counted: the client, or the wider group it shares a counter with past the cap.
    pub counted_as: Client,
    /// The table or the shared bucket.
    pub collection: Arc<str>,
    /// The operation.
    pub operation: Operation,
    /// The custom operation, where its name was validated.
    pub custom: Option<Arc<str>>,
    /// The policy in force.
    pub policy: RateLimitPolicy,
    /// Whether it refuses.
    pub mode: Mode,
    /// Where it is written.
    pub origin: Origin,
    /// Requests counted in the open window; 0 where none is open.
    pub count: u32,
    /// When the window opened; `None` where none is open.
    pub window_start: Option<Moment>,
    /// When the window closes, or would close if the request opened it.
    pub reset: Moment,
    /// Whether the counter is full. In mode `observe` the request is admitted all the same.
    pub full: bool,
}

/// The limit of one operation as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveLimit {
    /// The table or the shared bucket.
    pub collection: Arc<str>,
    /// The operation.
    pub operation: Operation,
    /// The custom operation; `None` for all others.
    pub custom: Option<Arc<str>>,
    /// The windows that must all admit; none where the operation is not limited.
    pub windows: Vec<RateLimitPolicy>,
    /// Whether it refuses.
    pub mode: Mode,
    /// Where it is written.
    pub origin: Origin,
}

/// How a client stands in its tightest counter, for the headers of `rateLimit.headers: draft`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The policy.
    pub policy: RateLimitPolicy,
    /// Requests left in the window.
    pub remaining: u32,
    /// When the window closes.
    pub reset: Moment,
}

impl Limiter {
    /// Every counter that a request would spend from, narrow operations first. Counts nothing.
    pub async fn peek(&self, now: Moment, client: Client, ask: &Ask<'_>) -> Vec<Explained> {
        let config = self.config.load_full();
        let mut explained = Vec::new();
        for (operation, plan) in plans(&config, ask) {
            let Some(plan) = plan else { continue };
            let unknown = operation == Operation::Unknown;
            let bucket = if unknown {
                Bucket::Shared(Shared::Unknown)
            } else {
                ask.bucket
            };
            for charge in self.charges(plan, operation, ask).await {
                let (group, factor) = self.counters.counted_as(client, charge.slot);
                let state = self.counters.get(CounterKey {
                    client: group,
                    slot: charge.slot,
                    account: 0,
                });
                let open =
                    state.filter(|state| now.since(state.window_start) < charge.policy.window_ms());
                let max = charge.policy.max_requests().saturating_mul(factor);
                explained.push(Explained {
                    slot: charge.slot,
                    counted_as: group,
                    collection: self.names.collection(bucket),
                    operation,
                    custom: self.names.custom(
                        bucket,
                        ask.custom.filter(|_| operation == Operation::Custom),
                    ),
                    policy: charge.policy,
                    mode: plan.mode,
                    origin: plan.origin.clone(),
                    count: open.map_or(0, |state| state.count),
                    window_start: open.map(|state| state.window_start),
                    reset: open
                        .map_or(now, |state| state.window_start)
                        .plus(charge.policy.window_ms()),
                    full: open.map_or(0, |state| state.count) >= max,
                });
            }
        }
        explained
    }

    /// How a client stands now in the counter that has least left; `None` where the request is not limited.
    pub async fn standing(&self, now: Moment, client: Client, ask: &Ask<'_>) -> Option<Standing> {
        let standings = self
            .peek(now, client, ask)
            .await
            .into_iter()
            .map(|one| Standing {
                policy: one.policy,
                remaining: one.policy.max_requests().saturating_sub(one.count),
                reset: one.reset,
            });
        standings.min_by_key(|standing| (standing.remaining, u64::MAX - standing.reset.as_millis()))
    }

    /// The limit of every operation of every table and shared bucket. Policies in Rust are asked.
    pub async fn effective(&self) -> Vec<EffectiveLimit> {
        let config = self.config.load_full();
        let mut limits = Vec::new();
        for (id, table) in self.known.tables.iter().enumerate() {
            let id = TableId(id as u32);
            for &operation in Operation::TABLE.iter().chain(table.accounts.operations()) {
                self.add(&mut limits, &config, Bucket::Table(id), operation, None)
                    .await;
            }
            if let CustomNames::Registered(names) = &table.custom {
                for custom in 0..names.len() {
                    let custom = Some(CustomId(custom as u32));
                    self.add(
                        &mut limits,
                        &config,
                        Bucket::Table(id),
                        Operation::Custom,
                        custom,
                    )
                    .await;
                }
            }
        }
        for shared in Shared::ALL {
            for &operation in shared.operations() {
                self.add(
                    &mut limits,
                    &config,
                    Bucket::Shared(shared),
                    operation,
                    None,
                )
                .await;
            }
        }
        limits
    }

    async fn add(
        &self,
        limits: &mut Vec<EffectiveLimit>,
        config: &Config,
        bucket: Bucket,
        operation: Operation,
        custom: Option<CustomId>,
    ) {
        let Some(plan) = config.plan(bucket, operation, custom) else {
            return;
        };
        let Plan { mode, origin, .. } = plan;
        let ask = Ask {
            custom,
            ..Ask::new(bucket, &[])
        };
        let charges = self.charges(plan, operation, &ask).await;
        limits.push(EffectiveLimit {
            collection: self.names.collection(bucket),
            operation,
            custom: self.names.custom(bucket, custom),
            windows: charges.iter().map(|charge| charge.policy).collect(),
            mode: *mode,
            origin: origin.clone(),
        });
    }
}
