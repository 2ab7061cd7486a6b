//! The operations on tables, as the server and the commands call them.
//!
//! Each takes the limiter's [`Pass`], the [`Caller`] and the [`Payload`], in this order of checks: the table exists, the
//! rules on the table, the payload, the rows. What a caller may not do is never told apart by SQL.

mod code;
mod create;
mod custom;
mod delete;
mod foreign;
mod plan;
mod proposed;
pub(crate) mod run;
mod scope;
mod stamp;
pub(crate) mod target;
mod transaction;
mod update;
mod writes;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use rusqlite::types::Value as Bound;
use zonai_clock::Clock;

use crate::engine;
use crate::migrations::Migrations;
use crate::query::Place;
use crate::rights::{Action, TrueFalse, Verdict};
use crate::schema::{Column, Schema, Table, TableOptions};
pub use code::OperationRows;
pub use plan::{ReadKind, ReadPlan, Unseen};
pub use transaction::Transaction;

use crate::{
    Caller, DataError, Engine, EngineOptions, Json, Operations, Pass, Payload, Rights, StartError,
};

/// What a database is opened with.
#[derive(Clone)]
pub struct DatabaseOptions {
    /// `zonai.sqlite`; made when missing. Its folder must exist.
    pub path: PathBuf,
    /// The folder of `*.sql` files; may be missing.
    pub schemas: PathBuf,
    /// `app.tables`.
    pub tables: BTreeMap<String, TableOptions>,
    /// Bounds and sizes.
    pub engine: EngineOptions,
    /// Where timestamps come from.
    pub clock: Clock,
    /// Hashes what goes into a column `password`; without it such columns cannot be written through here.
    pub hash_password: Option<Arc<dyn HashPassword>>,
}

/// Makes a stored hash of a plain password, off the async threads.
pub trait HashPassword: Send + Sync {
    /// The hash.
    fn hash<'a>(
        &'a self,
        plain: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<String, DataError>> + Send + 'a>>;
}

/// The tables of a project. Clones share everything.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    schema: Schema,
    rights: ArcSwap<Box<dyn Rights>>,
    operations: ArcSwap<Operations>,
    /// How often the rules were asked.
    asked: AtomicU64,
    clock: Clock,
    hash_password: Option<Arc<dyn HashPassword>>,
}

impl Inner {
    /// Notes that the rules are asked.
    fn asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }
}

impl Database {
    /// Applies the schema files that are new, reads the tables and starts the engine. Until [`Database::set_rights`] every
    /// table is for admins only.
    ///
    /// # Errors
    /// When a file or the schema is at fault; nothing is left half applied.
    pub fn open(mut options: DatabaseOptions) -> Result<Self, StartError> {
        options.engine.clock = options.clock.clone();
        let migrations = Migrations::read(&options.schemas)?;
        migrations.apply_to(&options.path, &options.engine, &options.clock)?;
        let schema = Schema::read(
            &engine::open_for_setup(&options.path, &options.engine)?,
            &options.tables,
        )?;
        let engine = Engine::open(&options.path, &options.engine)?;
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                schema,
                rights: ArcSwap::from_pointee(Box::new(TrueFalse::default())),
                operations: ArcSwap::default(),
                asked: AtomicU64::new(0),
                clock: options.clock,
                hash_password: options.hash_password,
            }),
        })
    }

    /// Puts other rules in force, for requests from now on.
    pub fn set_rights(&self, rights: Box<dyn Rights>) {
        self.inner.rights.store(Arc::new(rights));
    }

    /// Registers custom operations in place of those there were.
    pub fn set_operations(&self, operations: Operations) {
        self.inner.operations.store(Arc::new(operations));
    }

    /// The engine, for SQL of one's own.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The tables.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    /// What the rules in force say; see [`Rights::verdict`].
    #[must_use]
    pub fn verdict(&self, table: &Table, action: Action, caller: &Caller) -> Verdict {
        self.inner.asked();
        self.inner.rights.load().verdict(table, action, caller)
    }

    /// How often the rules were asked since the start, for metrics.
    #[must_use]
    pub fn rules_asked(&self) -> u64 {
        self.inner.asked.load(Ordering::Relaxed)
    }

    /// Checks a read without running it, for what runs it again and again.
    ///
    /// # Errors
    /// 400, 403, 404 for the table.
    pub fn plan(
        &self,
        caller: &Caller,
        payload: &Payload,
        kind: ReadKind,
        unseen: Unseen,
    ) -> Result<ReadPlan, DataError> {
        plan::read(&self.inner, caller, payload, kind, unseen)
    }

    /// Runs a read that was planned.
    ///
    /// # Errors
    /// 403, 404, 503.
    pub async fn run(&self, pass: &impl Pass, plan: ReadPlan) -> Result<Json, DataError> {
        if plan.short {
            return self
                .inner
                .engine
                .read_here(pass, |conn| run::read(&plan, conn));
        }
        self.inner
            .engine
            .read(pass, move |conn| run::read(&plan, conn))
            .await
    }

    /// `GET /db`, `{table, where, expand?}`: the newest row that meets `where`.
    ///
    /// # Errors
    /// 400, 403, 404, 503.
    pub async fn get(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        self.read(pass, caller, payload, ReadKind::Get).await
    }

    /// `GET /db/list`, `{table, where?, limit?, offset?, order_by?, group_by?, expand?, filter?}`: `{items, total}`.
    ///
    /// # Errors
    /// 400, 403, 404 for the table, 503.
    pub async fn list(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        self.read(pass, caller, payload, ReadKind::List).await
    }

    /// `GET /db/count`, `{table, where?, filter?}`: an integer.
    ///
    /// # Errors
    /// 400, 403, 404 for the table, 503.
    pub async fn count(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        self.read(pass, caller, payload, ReadKind::Count).await
    }

    async fn read(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
        kind: ReadKind,
    ) -> Result<Json, DataError> {
        let plan = self.plan(caller, payload, kind, Unseen::Fail)?;
        self.run(pass, plan).await
    }
}

/// Replaces a plain password by its hash.
async fn hash(
    inner: &Inner,
    column: &Column,
    value: &mut Bound,
    place: &Place<'_>,
) -> Result<(), DataError> {
    match (value, &inner.hash_password) {
        (Bound::Text(plain), Some(hasher)) => {
            let hash = hasher.hash(plain).await?;
            *plain = hash;
            Ok(())
        }
        (Bound::Null, _) => Ok(()),
        _ => Err(DataError::at(
            place,
            format_args!("`{}` cannot be written here", column.name),
        )),
    }
}
