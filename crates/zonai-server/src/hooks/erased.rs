//! Hooks of any type behind one: futures in a box.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};
use zonai_data::Payload;

use super::{AccountHooks, Done, HookContext, TableHooks};

pub(crate) type Doing<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

pub(crate) trait DynTableHooks: Send + Sync {
    fn table(&self) -> &'static str;
    fn before_create<'a>(
        &'a self,
        context: &'a HookContext,
        object: &'a mut Map<String, Value>,
    ) -> Doing<'a>;
    fn after_create<'a>(&'a self, context: &'a HookContext, row: &'a Value) -> Doing<'a>;
    fn before_update<'a>(&'a self, context: &'a HookContext, payload: &'a mut Payload)
    -> Doing<'a>;
    fn after_update<'a>(&'a self, context: &'a HookContext, row: &'a Value) -> Doing<'a>;
    fn before_delete<'a>(&'a self, context: &'a HookContext, payload: &'a mut Payload)
    -> Doing<'a>;
    fn after_delete<'a>(&'a self, context: &'a HookContext, rows: u64) -> Doing<'a>;
}

pub(crate) struct ErasedTable<T>(pub(crate) T);

impl<T: TableHooks> DynTableHooks for ErasedTable<T> {
    fn table(&self) -> &'static str {
        T::TABLE
    }
    fn before_create<'a>(
        &'a self,
        context: &'a HookContext,
        object: &'a mut Map<String, Value>,
    ) -> Doing<'a> {
        Box::pin(self.0.before_create(context, object))
    }
    fn after_create<'a>(&'a self, context: &'a HookContext, row: &'a Value) -> Doing<'a> {
        Box::pin(self.0.after_create(context, row))
    }
    fn before_update<'a>(
        &'a self,
        context: &'a HookContext,
        payload: &'a mut Payload,
    ) -> Doing<'a> {
        Box::pin(self.0.before_update(context, payload))
    }
    fn after_update<'a>(&'a self, context: &'a HookContext, row: &'a Value) -> Doing<'a> {
        Box::pin(self.0.after_update(context, row))
    }
    fn before_delete<'a>(
        &'a self,
        context: &'a HookContext,
        payload: &'a mut Payload,
    ) -> Doing<'a> {
        Box::pin(self.0.before_delete(context, payload))
    }
    fn after_delete<'a>(&'a self, context: &'a HookContext, rows: u64) -> Doing<'a> {
        Box::pin(self.0.after_delete(context, rows))
    }
}

/// What happened to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountEvent {
    SignUp,
    SignIn,
    Refresh,
    LogOut,
}

pub(crate) trait DynAccountHooks: Send + Sync {
    fn table(&self) -> &'static str;
    fn on<'a>(
        &'a self,
        event: AccountEvent,
        context: &'a HookContext,
        user: &'a Value,
    ) -> Doing<'a>;
}

pub(crate) struct ErasedAccount<T>(pub(crate) T);

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
        match event {
            AccountEvent::SignUp => Box::pin(self.0.on_sign_up(context, user)),
            AccountEvent::SignIn => Box::pin(self.0.on_sign_in(context, user)),
            AccountEvent::Refresh => Box::pin(self.0.on_refresh(context, user)),
            AccountEvent::LogOut => Box::pin(self.0.on_log_out(context, user)),
        }
    }
}
