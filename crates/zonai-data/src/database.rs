//! The operations on tables, as the server and the commands call them.
//!
//! Each takes the limiter's [`Pass`], the [`Caller`] and the [`Payload`], in this order of checks: the table exists, the
//! rules on the table, the payload, the rows. What a caller may not do is never told apart by SQL.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use arc_swap::ArcSwap;
use zonai_clock::Clock;

use crate::engine;
use crate::migrations::{MigrationError, Migrations};
use crate::rights::TrueFalse;
use crate::schema::{Schema, SchemaError, TableOptions};
use crate::{Caller, DataError, Engine, EngineOptions, Json, OpenError, Pass, Payload, Rights};

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

/// Why a database cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data file.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The schema files.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// What the schema files made.
    #[error(transparent)]
    Schema(#[from] SchemaError),
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
    clock: Clock,
    hash_password: Option<Arc<dyn HashPassword>>,
}

impl Database {
    /// Applies the schema files that are new, reads the tables and starts the engine. Until [`Database::set_rights`] every
    /// table is for admins only.
    ///
    /// # Errors
    /// When a file or the schema is at fault; nothing is left half applied.
    pub fn open(options: DatabaseOptions) -> Result<Self, StartError> {
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
                clock: options.clock,
                hash_password: options.hash_password,
            }),
        })
    }

    /// Puts other rules in force, for requests from now on.
    pub fn set_rights(&self, rights: Box<dyn Rights>) {
        self.inner.rights.store(Arc::new(rights));
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
        todo!()
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
        todo!()
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
        todo!()
    }

    /// `POST /db`, `{table, object}`: the new row.
    ///
    /// # Errors
    /// 400, 403, 404 for the table, 409, 422, 503.
    pub async fn create(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        todo!()
    }

    /// `POST /db/many`, `{table, objects}`: the new rows, all or none.
    ///
    /// # Errors
    /// As [`Database::create`].
    pub async fn create_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        todo!()
    }

    /// `PATCH /db`, `{table, where, updates, expect?}`: the newest row that meets `where`, changed.
    ///
    /// # Errors
    /// 400, 403, 404, 409, 412, 422, 503.
    pub async fn update(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        todo!()
    }

    /// `PATCH /db/many`, `{table, where, updates, expect?, limit?}`: the changed rows, all or none.
    ///
    /// # Errors
    /// As [`Database::update`], but no rows are no error.
    pub async fn update_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        todo!()
    }

    /// `DELETE /db`, `{table, where}`: deletes the newest row that meets `where`.
    ///
    /// # Errors
    /// 400, 403, 404, 422, 503.
    pub async fn delete(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<(), DataError> {
        todo!()
    }

    /// `DELETE /db/many`, `{table, where, limit?}`: deletes all rows that meet `where`; how many.
    ///
    /// # Errors
    /// As [`Database::delete`], but no rows are no error.
    pub async fn delete_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<u64, DataError> {
        todo!()
    }
}
