//! Asks SQLite what tables there are.
//!
//! Must never pass over what cannot be served: that is an error, at start.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::Connection;

use super::table::Select;
use super::{
    Column, ColumnKind, ForeignKey, Identity, Schema, SchemaError, Table, TableName, TableOptions,
};
use super::{check_table_name, nearest};
use crate::ids;

pub(super) fn read(
    conn: &Connection,
    options: &BTreeMap<String, TableOptions>,
) -> Result<Schema, SchemaError> {
    let mut tables = BTreeMap::new();
    for found in list(conn)? {
        match check_table_name(&found.name) {
            Ok(TableName::Served) => {}
            Ok(TableName::Internal) => continue,
            Err(reason) => {
                return Err(SchemaError::Name {
                    table: found.name,
                    reason,
                });
            }
        }
        let chosen = options.get(&found.name).cloned().unwrap_or_default();
        let table = table(conn, found, chosen)?;
        tables.insert(table.name.clone(), Arc::new(table));
    }
    one_case(tables.keys())?;
    for name in options.keys() {
        if !tables.contains_key(name) {
            return Err(SchemaError::Unknown {
                table: name.clone(),
                nearest: nearest(name, tables.keys().map(String::as_str)).map(str::to_owned),
            });
        }
    }
    Ok(Schema { tables })
}

struct Found {
    name: String,
    view: bool,
    without_rowid: bool,
    strict: bool,
}

fn list(conn: &Connection) -> rusqlite::Result<Vec<Found>> {
    let mut statement = conn.prepare(
        "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Found {
            name: row.get(0)?,
            view: row.get::<_, String>(1)? == "view",
            without_rowid: row.get(2)?,
            strict: row.get(3)?,
        })
    })?;
    rows.collect()
}

fn table(conn: &Connection, found: Found, options: TableOptions) -> Result<Table, SchemaError> {
    let (columns, primary_key) = columns(conn, &found, &options)?;
    let identity = if found.view {
        Identity::None
    } else if found.without_rowid {
        Identity::PrimaryKey
    } else {
        ["rowid", "_rowid_", "oid"]
            .into_iter()
            .find(|name| {
                !columns
                    .iter()
                    .any(|column| column.name.eq_ignore_ascii_case(name))
            })
            .map_or(Identity::PrimaryKey, Identity::RowId)
    };
    if identity == Identity::PrimaryKey && primary_key.is_empty() {
        return Err(SchemaError::Name {
            table: found.name,
            reason: "columns named `rowid`, `_rowid_` and `oid` hide the row number, and there is no primary key",
        });
    }
    let foreign_keys = foreign_keys(conn, &found.name, &columns)?;
    let id_suffix = options
        .id_suffix
        .clone()
        .unwrap_or_else(|| ids::default_suffix(&found.name));
    let table = Table {
        name: found.name,
        is_view: found.view,
        columns,
        primary_key,
        identity,
        made_id: None,
        created: None,
        updated: None,
        verified: None,
        foreign_keys,
        options,
        id_suffix,
        places: HashMap::new(),
        select: Select::default(),
    };
    Ok(table.finish())
}

fn columns(
    conn: &Connection,
    found: &Found,
    options: &TableOptions,
) -> rusqlite::Result<(Vec<Column>, Vec<usize>)> {
    let mut statement =
        conn.prepare("SELECT name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?1, 'main') ORDER BY cid")?;
    let mut rows = statement.query([&found.name])?;
    let accounts = options.auth || options.admin;
    let mut columns = Vec::new();
    let mut key: Vec<(i64, usize)> = Vec::new();
    while let Some(row) = rows.next()? {
        let hidden: i64 = row.get(4)?;
        // 1: a hidden column of a virtual table; 2 and 3: generated columns.
        if hidden == 1 {
            continue;
        }
        let name: String = row.get(0)?;
        let nth: i64 = row.get(3)?;
        if nth > 0 {
            key.push((nth, columns.len()));
        }
        // A view over accounts must not show what the table hides.
        let secret = (accounts || found.view) && name.eq_ignore_ascii_case("password")
            || options
                .secret_columns
                .iter()
                .any(|secret| secret.eq_ignore_ascii_case(&name));
        let declared: String = row.get(1)?;
        // In a STRICT table ANY is whatever comes.
        let any = found.strict && declared.eq_ignore_ascii_case("any");
        columns.push(Column {
            kind: ColumnKind::of_declared(&declared),
            affinity: ColumnKind::affinity_of_declared(&declared).filter(|_| !any),
            default: row.get(5)?,
            not_null: row.get(2)?,
            generated: hidden != 0,
            address: accounts && name.eq_ignore_ascii_case("email"),
            secret,
            name,
        });
    }
    key.sort_unstable();
    Ok((columns, key.into_iter().map(|(_, at)| at).collect()))
}

fn foreign_keys(
    conn: &Connection,
    table: &str,
    columns: &[Column],
) -> rusqlite::Result<Vec<ForeignKey>> {
    let mut statement = conn.prepare(
        "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq",
    )?;
    let rows = statement.query_map([table], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, Option<String>>(3)?,
        ))
    })?;
    let all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut keys = Vec::new();
    for (id, other, from, to) in &all {
        let of_several_columns = all.iter().filter(|(other_id, ..)| other_id == id).count() > 1;
        let Some(column) = columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(from))
        else {
            continue;
        };
        // Without a column the key points to the other table's primary key.
        let references = match to {
            Some(to) => Some(to.clone()),
            None => key_of(conn, other)?,
        };
        if let (false, Some(references)) = (of_several_columns, references) {
            keys.push(ForeignKey {
                column,
                table: other.clone(),
                references,
            });
        }
    }
    Ok(keys)
}

fn key_of(conn: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    let mut statement =
        conn.prepare("SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE pk > 0")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    let names = names.collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(if names.len() == 1 {
        names.into_iter().next()
    } else {
        None
    })
}

fn one_case<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), SchemaError> {
    let mut seen: HashMap<String, &String> = HashMap::new();
    for name in names {
        if let Some(one) = seen.insert(name.to_lowercase(), name) {
            return Err(SchemaError::Case {
                one: one.clone(),
                other: name.clone(),
            });
        }
    }
    Ok(())
}
