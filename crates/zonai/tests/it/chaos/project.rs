//! The project that is served: tables to read, a ledger to write, accounts, and a table that only they see.
//!
//! Must never hold a limit: those are the model's.

use super::limits::Limits;
use crate::run::Folder;

const SCHEMA: &str = "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT);\n\
    CREATE TABLE notes (id TEXT PRIMARY KEY, title TEXT);\n\
    CREATE TABLE private (id TEXT PRIMARY KEY, title TEXT);\n\
    CREATE TABLE ledger (id TEXT PRIMARY KEY, owner TEXT NOT NULL, text TEXT NOT NULL, hits INTEGER NOT NULL);\n\
    CREATE INDEX ledger_owner ON ledger (owner);\n\
    CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT);\n";

/// The project without its policy files.
pub(super) fn project() -> Folder {
    let folder = Folder::with(&format!(
        "rateLimit: {{shared: {}}}\napp:\n  tables: {{users: {{auth: [password]}}}}\n  \
         trustedProxy: {{headers: [X-Forwarded-For], proxies: [127.0.0.1]}}\n",
        Limits::shared()
    ));
    folder.write(
        ".env",
        "JWT_SECRET=0123456789abcdefghijklmnopqrstuvwxyz-jwt\nPASSWORD_SECRET=zyxwvutsrqponmlkjihgfedcba9876543210-password\n",
    );
    folder.write("lib/src/schemas/001_all.sql", SCHEMA);
    for table in ["tasks", "notes", "ledger"] {
        let all = ["view", "list", "count", "create", "update", "delete"]
            .map(|rule| format!("{rule}: true\n"));
        folder.write(&format!("lib/src/rules/{table}.yaml"), &all.concat());
    }
    folder.write(
        "lib/src/rules/private.yaml",
        "list: \"@user.id IS NOT NULL\"\n",
    );
    folder.write("lib/src/rules/users.yaml", "signUp: true\nsignIn: true\n");
    folder
}
