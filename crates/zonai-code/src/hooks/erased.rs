//! Hooks of any type behind one: what happened as a value, and futures in a box.
//!
//! A hook is called inside its future, so that a panic of it is one of the future's, whichever way it is written.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};
use zonai_data::{Json, Payload};

use super::{AccountHooks, Done, HookContext, TableHooks};

pub(super) type Doing<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

/// What happens to a table.
pub(super) enum TableEvent<'a> {
    BeforeGet(&'a mut Payload),
    AfterGet(&'a Json),
    BeforeList(&'a mut Payload),
    AfterList(&'a Json),
    BeforeCount(&'a mut Payload),
    AfterCount(&'a Json),
    BeforeCreate(&'a mut Map<String, Value>),
    AfterCreate(&'a Value),
    BeforeUpdate(&'a mut Payload),
    AfterUpdate(&'a Value),
    BeforeDelete(&'a mut Payload),
    AfterDelete(u64),
    BeforeCustom(&'a str, &'a mut Payload),
    AfterCustom(&'a str, &'a Value),
}

pub(super) trait DynTableHooks: Send + Sync {
    fn table(&self) -> &'static str;
    fn on<'a>(&'a self, event: TableEvent<'a>, context: &'a HookContext) -> Doing<'a>;
}

pub(super) struct ErasedTable<T>(pub(super) T);

impl<T: TableHooks> DynTableHooks for ErasedTable<T> {
    fn table(&self) -> &'static str {
        T::TABLE
    }

    fn on<'a>(&'a self, event: TableEvent<'a>, context: &'a HookContext) -> Doing<'a> {
        Box::pin(async move {
            let hooks = &self.0;
            match event {
                TableEvent::BeforeGet(payload) => hooks.before_get(context, payload).await,
                TableEvent::AfterGet(row) => hooks.after_get(context, row).await,
                TableEvent::BeforeList(payload) => hooks.before_list(context, payload).await,
                TableEvent::AfterList(page) => hooks.after_list(context, page).await,
                TableEvent::BeforeCount(payload) => hooks.before_count(context, payload).await,
                TableEvent::AfterCount(count) => hooks.after_count(context, count).await,
                TableEvent::BeforeCreate(object) => hooks.before_create(context, object).await,
                TableEvent::AfterCreate(row) => hooks.after_create(context, row).await,
                TableEvent::BeforeUpdate(payload) => hooks.before_update(context, payload).await,
                TableEvent::AfterUpdate(row) => hooks.after_update(context, row).await,
                TableEvent::BeforeDelete(payload) => hooks.before_delete(context, payload).await,
                TableEvent::AfterDelete(rows) => hooks.after_delete(context, rows).await,
                TableEvent::BeforeCustom(name, payload) => {
                    hooks.before_custom(context, name, payload).await
                }
                TableEvent::AfterCustom(name, row) => hooks.after_custom(context, name, row).await,
            }
        })
    }
}

/// What happened to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountEvent {
    /// It was made or, for an address that had one, signed in.
    SignUp,
    /// It signed in.
    SignIn,
    /// Its session was renewed.
    Refresh,
    /// It logged out.
    LogOut,
}

pub(super) trait DynAccountHooks: Send + Sync {
    fn table(&self) -> &'static str;
    fn on<'a>(
        &'a self,
        event: AccountEvent,
        context: &'a HookContext,
        user: &'a Value,
    ) -> Doing<'a>;
    fn claims(&self, user: &Map<String, Value>) -> Map<String, Value>;
}

pub(super) struct ErasedAccount<T>(pub(super) T);

impl<T: AccountHooks> DynAccountHooks for ErasedAccount<T> {
    fn table(&self) -> &'static str {
        T::TABLE
    }

    fn on<'a>(
        &'a self,
        event: AccountEvent,
        context: &'a HookContext,
        user: &'a Value,
    ) -> Doing<'a> {
        Box::pin(async move {
            match event {
                AccountEvent::SignUp => self.0.on_sign_up(context, user).await,
                AccountEvent::SignIn => self.0.on_sign_in(context, user).await,
                AccountEvent::Refresh => self.0.on_refresh(context, user).await,
                AccountEvent::LogOut => self.0.on_log_out(context, user).await,
            }
        })
    }

    fn claims(&self, user: &Map<String, Value>) -> Map<String, Value> {
        self.0.claims(user)
    }
}
