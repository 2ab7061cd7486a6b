//! The limiter: which counters a request spends from, and whether they admit it.
//!
//! Must never hold a lock while a policy is asked, allocate for a policy that does not change, or let an unknown
//! operation through uncounted.

mod again;
mod explain;
mod resolve;
mod sign_in;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

pub use explain::{EffectiveLimit, Explained, Standing};
use resolve::Resolved;
pub use sign_in::{NotTaken, Place};

use crate::counters::{Charge, Counters, Hit, Outcome, Slot, Taken};
use crate::registry::{
    Book, Config, CustomId, CustomNames, Input, Known, Misregistered, Owner, PlanSource,
    Registration, RegistryFault, SlotName, TableId, compile,
};
use crate::verdict::{Admitted, Ask, Bucket, Internal, Refusal, Verdict};
use crate::{Client, Limit, Moment, Operation, Shared};

/// Decides for every request of one server.
pub struct Limiter {
    counters: Arc<Counters>,
    known: Known,
    names: Names,
    config: ArcSwap<Config>,
    book: Mutex<Book>,
}

/// Names that never change, shared with every refusal.
struct Names {
    tables: Vec<Arc<str>>,
    customs: Vec<Vec<Arc<str>>>,
    shared: Vec<(Shared, Arc<str>)>,
    table_ids: HashMap<Arc<str>, TableId, ahash::RandomState>,
}

/// Whether a custom operation has a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomBucket {
    /// It is registered: [`Ask::custom`] is this.
    Registered(CustomId),
    /// Names are not validated: [`Ask::custom`] is `None`, and all names share one counter.
    Unvalidated,
    /// There is no such operation: the request counts in [`Shared::Unknown`] and is a 404.
    Unknown,
}

/// What a change did to the slots; whoever stores counters follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Slots that go on with a window of another length: from what they were called to what they are called.
    pub renamed: Vec<(Slot, SlotName, SlotName)>,
    /// Slots that count no more; their counters are gone.
    pub retired: Vec<(Slot, SlotName)>,
}

impl Limiter {
    /// A limiter over `counters`, and the token of jobs and hooks.
    ///
    /// # Errors
    /// All faults of the configuration at once. Two registrations for one table are none: see [`Limiter::misregistered`].
    pub fn new(
        counters: Arc<Counters>,
        known: Known,
        registrations: Vec<Registration>,
        shared: Vec<(Operation, Limit)>,
    ) -> Result<(Self, Internal), Vec<RegistryFault>> {
        let before = Book::default();
        let input = Input {
            known: &known,
            registrations: &registrations,
            shared: &shared,
            before: &before,
            version: 1,
        };
        let (config, book) = compile(&input)?;
        let limiter = Self {
            names: Names::new(&known),
            counters,
            known,
            config: ArcSwap::from_pointee(config),
            book: Mutex::new(before),
        };
        let mut place = limiter.book.lock();
        limiter.follow(&place, &book);
        *place = book;
        drop(place);
        Ok((limiter, Internal::new()))
    }

    /// Puts another configuration in force. Counts are kept: the reset of an open window is its start plus the window
    /// now in force. A window that has closed by `now` stays closed, however long the new one is. From "no limit" to a
    /// limit counting starts anew.
    ///
    /// # Errors
    /// All faults at once; then nothing has changed.
    pub fn replace(
        &self,
        now: Moment,
        registrations: Vec<Registration>,
        shared: Vec<(Operation, Limit)>,
    ) -> Result<Changes, Vec<RegistryFault>> {
        let mut book = self.book.lock();
        let input = Input {
            known: &self.known,
            registrations: &registrations,
            shared: &shared,
            before: &book,
            version: self.version() + 1,
        };
        let (config, next) = compile(&input)?;
        self.counters.drop_closed(now);
        self.config.store(Arc::new(config));
        let changes = self.follow(&book, &next);
        *book = next;
        drop(book);
        if !changes.retired.is_empty() {
            self.counters
                .free(&mut |key| changes.retired.iter().any(|(slot, _)| *slot == key.slot));
        }
        Ok(changes)
    }

    /// Tells the counters how long the windows now are.
    fn follow(&self, before: &Book, next: &Book) -> Changes {
        let mut changes = Changes::default();
        for (&slot, owner) in &before.owners {
            if !next.owners.contains_key(&slot) {
                changes.retired.push((
                    slot,
                    self.slot_name_of(*owner, self.counters.window_ms(slot)),
                ));
                self.counters.set_window(slot, None);
            }
        }
        for (owner, owned) in &next.owned {
            // A window of 0 comes with the first request that asks the code for its policy.
            for &(slot, window_ms) in owned.iter().filter(|(_, window_ms)| *window_ms != 0) {
                let old = self.counters.window_ms(slot);
                if old != window_ms && before.owners.contains_key(&slot) && old != 0 {
                    let names = (
                        self.slot_name_of(*owner, old),
                        self.slot_name_of(*owner, window_ms),
                    );
                    changes.renamed.push((slot, names.0, names.1));
                }
                self.counters
                    .set_window(slot, Some(std::time::Duration::from_millis(window_ms)));
            }
        }
        changes.renamed.sort_by_key(|(slot, ..)| *slot);
        changes.retired.sort_by_key(|(slot, _)| *slot);
        changes
    }

    /// Decides, and counts if it admits. Waits only where a policy is written in Rust and does work.
    pub async fn check(&self, now: Moment, client: Client, ask: &Ask<'_>) -> Verdict {
        match self.check_now(now, client, ask) {
            Some(verdict) => verdict,
            None => self.check_asking(now, client, ask).await,
        }
    }

    /// The same without waiting; `None`, and nothing counted, where a policy has to be asked.
    #[inline]
    pub fn check_now(&self, now: Moment, client: Client, ask: &Ask<'_>) -> Option<Verdict> {
        let config = self.config.load();
        if let Some(misregistered) = config.misregistered.first() {
            return Some(Verdict::Misregistered(misregistered.clone()));
        }
        if let [operation] = ask.operations
            && let Some(plan) = config.plan(ask.bucket, *operation, ask.custom)
            && let PlanSource::Fixed(charges) = &plan.source
        {
            return Some(self.decide(now, client, ask, charges, |_| *operation));
        }
        let resolved = Resolved::without_asking(&config, ask)?;
        Some(self.decide(now, client, ask, &resolved.charges, |charge| {
            resolved.operation(charge)
        }))
    }

    async fn check_asking(&self, now: Moment, client: Client, ask: &Ask<'_>) -> Verdict {
        let config = self.config.load_full();
        if let Some(misregistered) = config.misregistered.first() {
            return Verdict::Misregistered(misregistered.clone());
        }
        let resolved = self.resolve(&config, ask).await;
        self.decide(now, client, ask, &resolved.charges, |charge| {
            resolved.operation(charge)
        })
    }

    #[inline]
    fn decide(
        &self,
        now: Moment,
        client: Client,
        ask: &Ask<'_>,
        charges: &[Charge],
        operation_of: impl Fn(usize) -> Operation,
    ) -> Verdict {
        let exempt = ask.exempt
            && !matches!(
                ask.bucket,
                Bucket::Shared(Shared::AdminAuth | Shared::Admin)
            );
        let mut durable = Taken::default();
        let outcome = if ask
            .operations
            .iter()
            .any(|operation| operation.is_durable())
        {
            self.counters
                .decide_taking(now, client, charges, exempt, &mut durable)
        } else {
            self.counters.decide(now, client, charges, exempt)
        };
        match outcome {
            Outcome::Admitted { would_refuse: None } => {
                Verdict::Admitted(Admitted::new(durable, None))
            }
            Outcome::Admitted {
                would_refuse: Some(hit),
            } => {
                let refusal = self.refusal(ask, charges, operation_of(hit.charge), hit);
                Verdict::Admitted(Admitted::new(durable, Some(Box::new(refusal))))
            }
            Outcome::Refused(hit) => {
                Verdict::Refused(self.refusal(ask, charges, operation_of(hit.charge), hit))
            }
        }
    }

    fn refusal(
        &self,
        ask: &Ask<'_>,
        charges: &[Charge],
        operation: Operation,
        hit: Hit,
    ) -> Refusal {
        // The plan of an operation that its bucket does not have is that of the unknown.
        let bucket = if operation == Operation::Unknown {
            Bucket::Shared(Shared::Unknown)
        } else {
            ask.bucket
        };
        let custom = ask.custom.filter(|_| operation == Operation::Custom);
        Refusal {
            collection: self.names.collection(bucket),
            operation,
            custom: self.names.custom(bucket, custom),
            policy: charges
                .get(hit.charge)
                .map_or(operation.default_policy(), |charge| charge.policy),
            reset: hit.reset,
        }
    }

    /// The table of that name, spelled exactly. The same while the server runs.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.names.table_ids.get(name).copied()
    }

    /// What a table is called; nothing for one of another limiter.
    #[must_use]
    pub fn table_name(&self, table: TableId) -> Arc<str> {
        self.names.collection(Bucket::Table(table))
    }

    /// The registered custom operation of that name.
    #[must_use]
    pub fn custom(&self, table: TableId, name: &str) -> Option<CustomId> {
        let names = self.names.customs.get(table.0 as usize)?;
        names
            .iter()
            .position(|custom| **custom == *name)
            .map(|place| CustomId(place as u32))
    }

    /// In which counter a custom operation of that name is counted.
    #[must_use]
    pub fn custom_bucket(&self, table: TableId, name: &str) -> CustomBucket {
        match self
            .known
            .tables
            .get(table.0 as usize)
            .map(|table| &table.custom)
        {
            Some(CustomNames::Unvalidated) => CustomBucket::Unvalidated,
            _ => self
                .custom(table, name)
                .map_or(CustomBucket::Unknown, CustomBucket::Registered),
        }
    }

    /// What exists.
    #[must_use]
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The number of the configuration in force; it grows with each [`Limiter::replace`].
    #[must_use]
    pub fn version(&self) -> u64 {
        self.config.load().version
    }

    /// Every table that is registered twice, with both places. Not empty means that every check fails.
    #[must_use]
    pub fn misregistered(&self) -> Vec<Misregistered> {
        self.config.load().misregistered.clone()
    }

    /// What a slot is called where counters are stored; `None` for one that counts no more.
    #[must_use]
    pub fn slot_name(&self, slot: Slot) -> Option<SlotName> {
        let owner = *self.book.lock().owners.get(&slot)?;
        Some(self.slot_name_of(owner, self.counters.window_ms(slot)))
    }

    /// The slot in which what was stored under this name is counted now. The window may be one that is no longer in
    /// force where the operation has one window only. `None` where nothing is counted under that name any more.
    #[must_use]
    pub fn slot_for(
        &self,
        collection: &str,
        operation: Operation,
        custom: Option<&str>,
        window_ms: u64,
    ) -> Option<Slot> {
        let table = match self.table(collection) {
            Some(table) => Ok(table),
            None => Err(Shared::ALL
                .into_iter()
                .find(|shared| shared.name() == collection)?),
        };
        let custom = match (custom, table) {
            (Some(name), Ok(table)) => Some(self.custom(table, name)?),
            (Some(_), Err(_)) => return None,
            (None, _) => None,
        };
        let book = self.book.lock();
        let owned = book.owned.get(&Owner {
            table,
            operation,
            custom,
        })?;
        let same = owned
            .iter()
            .find(|(slot, _)| self.counters.window_ms(*slot) == window_ms);
        let slot = match (same, owned.as_slice()) {
            (Some((slot, _)), _) | (None, [(slot, _)]) => *slot,
            _ => return None,
        };
        if self.counters.window_ms(slot) == 0 {
            // Written in code that was not asked yet: what was stored tells how long the window was.
            self.counters
                .set_window(slot, Some(std::time::Duration::from_millis(window_ms)));
        }
        Some(slot)
    }

    fn slot_name_of(&self, owner: Owner, window_ms: u64) -> SlotName {
        let bucket = owner.table.map_or_else(Bucket::Shared, Bucket::Table);
        SlotName {
            collection: self.names.collection(bucket),
            operation: owner.operation,
            custom: self.names.custom(bucket, owner.custom),
            window_ms,
        }
    }
}

impl Names {
    fn new(known: &Known) -> Self {
        let tables: Vec<Arc<str>> = known
            .tables
            .iter()
            .map(|table| table.name.as_str().into())
            .collect();
        let customs = known.tables.iter().map(|table| match &table.custom {
            CustomNames::Registered(names) => {
                names.iter().map(|name| name.as_str().into()).collect()
            }
            CustomNames::Unvalidated => Vec::new(),
        });
        let ids = tables
            .iter()
            .enumerate()
            .map(|(id, name)| (Arc::clone(name), TableId(id as u32)));
        Self {
            customs: customs.collect(),
            shared: Shared::ALL
                .into_iter()
                .map(|shared| (shared, shared.name().into()))
                .collect(),
            table_ids: ids.collect(),
            tables,
        }
    }

    fn collection(&self, bucket: Bucket) -> Arc<str> {
        match bucket {
            Bucket::Table(TableId(table)) => {
                self.tables.get(table as usize).cloned().unwrap_or_default()
            }
            Bucket::Shared(shared) => {
                let name = self.shared.iter().find(|(of, _)| *of == shared);
                name.map(|(_, name)| Arc::clone(name)).unwrap_or_default()
            }
        }
    }

    fn custom(&self, bucket: Bucket, custom: Option<CustomId>) -> Option<Arc<str>> {
        let Bucket::Table(TableId(table)) = bucket else {
            return None;
        };
        self.customs
            .get(table as usize)?
            .get(custom?.0 as usize)
            .cloned()
    }
}

impl std::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
