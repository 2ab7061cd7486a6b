//! What a stream asks: a read that was checked once and is run again after each change.

use std::sync::Arc;

use serde_json::Value;
use zonai_data::{Caller, Change, DataError, Json, Payload, ReadKind, ReadPlan, Unseen};

use crate::route::Data;
use crate::state::State;

/// A read of one caller, with the caller's rights in it. Rows that may not be seen are left out.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    plan: ReadPlan,
    key: String,
    /// The tables whose changes may change the answer; `None` for any.
    tables: Option<Vec<Box<str>>>,
}

impl Question {
    /// Checks what a stream asks for.
    ///
    /// # Errors
    /// As the one-shot read.
    pub(crate) fn new(
        state: &State,
        data: Data,
        payload: &Payload,
        caller: &Caller,
    ) -> Result<Self, DataError> {
        let kind = match data {
            Data::Get => ReadKind::Get,
            Data::Count => ReadKind::Count,
            _ => ReadKind::List,
        };
        let plan = state.data.plan(caller, payload, kind, Unseen::LeaveOut)?;
        Ok(Self {
            key: plan.key(),
            tables: plan
                .tables()
                .map(|tables| tables.into_iter().map(Into::into).collect()),
            plan,
        })
    }

    /// Equal for questions that always have the same answer.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Whether a change may change the answer.
    pub(crate) fn is_touched(&self, change: &Change) -> bool {
        match &self.tables {
            Some(tables) => tables.iter().any(|table| change.touches(table)),
            None => true,
        }
    }

    /// The answer now; a row that is not there, or not to be seen, is `null`.
    ///
    /// # Errors
    /// 503 and 500.
    pub(crate) async fn ask(&self, state: &State) -> Result<Arc<str>, DataError> {
        let answer = match state.data.run(&*state.internal, self.plan.clone()).await {
            Err(DataError::RecordNotFound { .. } | DataError::Forbidden) => {
                Ok(Json::from(&Value::Null))
            }
            other => other,
        };
        answer.map(|json| format!("{{\"data\":{}}}", json.as_str()).into())
    }
}
