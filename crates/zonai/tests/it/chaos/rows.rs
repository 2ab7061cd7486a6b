//! The rows of one client: what was answered is there, and what was not answered is there whole or not at all.
//!
//! Must never take the server's word for a row whose request was answered.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What a client wrote into a row, and how often it was counted up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) hits: u64,
}

/// A write without an answer.
#[derive(Clone, Debug)]
pub(super) enum Doubt {
    Created(Vec<String>),
    Updated(String, Row),
    Deleted(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) sure: BTreeMap<String, Row>,
    doubts: Vec<Doubt>,
}

impl Rows {
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        self.doubts.push(doubt);
    }

    /// The row that is the `number`th, around and around.
    pub(super) fn any(&self, number: usize) -> Option<(&String, &Row)> {
        let length = self.sure.len().max(1);
        self.sure.iter().nth(number % length)
    }

    /// All rows of the client as the server has them, against what they must be. Doubts end with it.
    pub(super) fn compare(&mut self, answer: &Value) -> Result<(), String> {
        let items = answer["data"]["items"]
            .as_array()
            .ok_or_else(|| answer.to_string())?;
        let mut found = BTreeMap::new();
        for item in items {
            let (Some(id), Some(row)) = (item["id"].as_str(), read(item)) else {
                return Err(format!("a row that is none: {item}"));
            };
            found.insert(id.to_owned(), row);
        }
        if answer["data"]["total"] != items.len() {
            return Err(format!(
                "total {} of {} rows",
                answer["data"]["total"],
                items.len()
            ));
        }
        for doubt in std::mem::take(&mut self.doubts) {
            self.settle(doubt, &found)?;
        }
        if self.sure != found {
            let missing: Vec<_> = self
                .sure
                .iter()
                .filter(|(id, row)| found.get(*id) != Some(row))
                .collect();
            let strange: Vec<_> = found
                .iter()
                .filter(|(id, row)| self.sure.get(*id) != Some(row))
                .collect();
            return Err(format!(
                "rows differ: should be {missing:?}, are {strange:?}"
            ));
        }
        Ok(())
    }

    fn settle(&mut self, doubt: Doubt, found: &BTreeMap<String, Row>) -> Result<(), String> {
        match doubt {
            Doubt::Created(texts) => {
                let there: Vec<_> = found
                    .iter()
                    .filter(|(_, row)| row.hits == 0 && texts.contains(&row.text))
                    .map(|(id, row)| (id.clone(), row.clone()))
                    .collect();
                if there.len() != texts.len() && !there.is_empty() {
                    return Err(format!("{texts:?} are written in part: {there:?}"));
                }
                self.sure.extend(there);
            }
            Doubt::Updated(id, row) => {
                if found.get(&id) == Some(&row) {
                    self.sure.insert(id, row);
                }
            }
            Doubt::Deleted(id) => {
                if !found.contains_key(&id) {
                    self.sure.remove(&id);
                }
            }
        }
        Ok(())
    }
}

/// What a row of the ledger says.
pub(super) fn read(item: &Value) -> Option<Row> {
    Some(Row {
        text: item["text"].as_str()?.to_owned(),
        hits: item["hits"].as_u64()?,
    })
}

pub(super) fn object(owner: &str, text: &str) -> Value {
    json!({"owner": owner, "text": text, "hits": 0})
}

pub(super) fn by_id(id: &str) -> Value {
    json!({"type": "eq", "column": "id", "value": id})
}

/// All rows of a client: they are fewer than a page.
pub(super) fn all_of(owner: &str) -> Value {
    json!({"table": "ledger", "where": {"type": "eq", "column": "owner", "value": owner}})
}
