//! The counter file itself: opened, loaded, watched for what others do to it, synced, moved aside.
//!
//! Must never delete a file that somebody might want to look at.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::boot::{BootRow, Epoch, Rebase};
use crate::fault::Fault;
use crate::load::{Loaded, load};
use crate::options::Options;
use crate::row::Filter;
use crate::schema::{beside, connect, connect_immutable, connect_read_only, create};
use crate::shared::Shared;

/// At most this many damaged files are kept; the last name is used again when all are taken.
const MAX_ASIDE: u32 = 9;

pub(crate) struct OpenFile {
    pub(crate) conn: Connection,
    /// Whether rows are stored under names that their counters no longer have.
    pub(crate) renamed: bool,
    path: PathBuf,
    options: Options,
    stamp: Stamp,
    folder_synced: bool,
}

impl OpenFile {
    /// Opens the file, brings it under this boot and, once in a run, loads it: one transaction.
    pub(crate) fn open(
        shared: &Shared,
        epoch: &mut Option<Epoch>,
        loaded: &mut bool,
        freed: &[Filter],
    ) -> Result<Self, Fault> {
        let conn = match connect(&shared.path, &shared.options) {
            Ok(conn) => conn,
            Err(fault) => {
                if !*loaded && !fault.loses_rows() {
                    read_what_can_be_read(shared, epoch, loaded, freed);
                }
                return Err(fault);
            }
        };
        let transaction = match Transaction::new_unchecked(&conn, TransactionBehavior::Immediate) {
            Ok(transaction) => transaction,
            Err(error) => {
                let fault = Fault::from(error);
                if !*loaded && !fault.loses_rows() {
                    read_what_can_be_read(shared, epoch, loaded, freed);
                }
                return Err(fault);
            }
        };
        create(&transaction)?;
        let row = BootRow::read(&transaction)?;
        let rebase = Rebase::plan(row.as_ref(), *epoch, &shared.clock);
        *epoch = Some(rebase.epoch);
        let found = if *loaded {
            Loaded::default()
        } else {
            load_once(&transaction, shared, &rebase, loaded, freed)?
        };
        rebase.apply(&transaction)?;
        BootRow::now(&shared.clock, rebase.epoch).write(&transaction)?;
        transaction.commit()?;
        let stamp = Stamp::read(&shared.path)?;
        Ok(Self {
            conn,
            renamed: found.renamed,
            path: shared.path.clone(),
            options: shared.options.clone(),
            stamp,
            folder_synced: false,
        })
    }

    /// Looks whether the file is still the one that was opened, and still ours alone.
    pub(crate) fn check(&mut self) -> Result<(), Fault> {
        let now = Stamp::read(&self.path)?;
        if now == self.stamp {
            return Ok(());
        }
        if now.main_inode != self.stamp.main_inode
            || (self.stamp.wal.is_some() && now.wal != self.stamp.wal)
        {
            return Err(Fault::Lost);
        }
        // Somebody else wrote to it: another SQLite (which is no fault), or something that is none.
        let other = connect_read_only(&self.path, &self.options)?;
        let verdict: String = other.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        drop(other);
        if verdict != "ok" {
            return Err(Fault::Corrupt);
        }
        self.written();
        Ok(())
    }

    /// Remembers the file as our last commit left it.
    pub(crate) fn written(&mut self) {
        if let Ok(stamp) = Stamp::read(&self.path)
            && stamp.main_inode == self.stamp.main_inode
        {
            self.stamp = stamp;
        }
    }

    /// Brings every commit to the disk. SQLite's locks are on the other two files, so closing this one drops none.
    pub(crate) fn sync(&mut self) -> Result<(), Fault> {
        let wal = beside(&self.path, "-wal");
        match File::open(if wal.exists() { &wal } else { &self.path }) {
            Ok(file) => file.sync_data()?,
            Err(error) => return Err(error.into()),
        }
        if !self.folder_synced {
            if let Some(folder) = self
                .path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
            {
                File::open(folder)?.sync_all()?;
            }
            self.folder_synced = true;
        }
        Ok(())
    }

    /// Writes the log into the file, synced, and closes it.
    pub(crate) fn close(self) -> Result<(), Fault> {
        // A reader may hold the log; then it stays beside the file, which loses nothing.
        self.conn
            .pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
            .or_else(|error| match Fault::from(error) {
                Fault::Locked => Ok(()),
                fault => Err(fault),
            })?;
        self.conn.close().map_err(|(_, error)| Fault::from(error))
    }
}

/// Moves a damaged file and its companions to `<file>.corrupt-<n>`.
pub(crate) fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let name = |number: u32| beside(path, &format!(".corrupt-{number}"));
    let aside = (1..MAX_ASIDE)
        .map(name)
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| name(MAX_ASIDE));
    for suffix in ["-wal", "-shm", ""] {
        match fs::rename(beside(path, suffix), beside(&aside, suffix)) {
            Err(error) if suffix.is_empty() || error.kind() != io::ErrorKind::NotFound => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(aside)
}

fn load_once(
    conn: &Connection,
    shared: &Shared,
    rebase: &Rebase,
    loaded: &mut bool,
    freed: &[Filter],
) -> Result<Loaded, Fault> {
    let found = load(conn, &shared.counters, &*shared.names, rebase, freed)?;
    *loaded = true;
    shared
        .gauges
        .restored
        .fetch_add(u64::try_from(found.restored).unwrap_or(u64::MAX), Relaxed);
    Ok(found)
}

/// A file that cannot be written may still be read: a client that was blocked stays blocked.
fn read_what_can_be_read(
    shared: &Shared,
    epoch: &mut Option<Epoch>,
    loaded: &mut bool,
    freed: &[Filter],
) {
    let mut read = |conn: Result<Connection, Fault>| -> Result<(), Fault> {
        let conn = conn?;
        let transaction = Transaction::new_unchecked(&conn, TransactionBehavior::Deferred)?;
        let row = BootRow::read(&transaction)?;
        let rebase = Rebase::plan(row.as_ref(), *epoch, &shared.clock);
        *epoch = Some(rebase.epoch);
        load_once(&transaction, shared, &rebase, loaded, freed).map(drop)
    };
    let outcome = match read(connect_read_only(&shared.path, &shared.options)) {
        Err(Fault::Unopenable(_) | Fault::ReadOnly) => read(connect_immutable(&shared.path)),
        outcome => outcome,
    };
    if let Err(fault) = outcome {
        tracing::debug!(%fault, "the counter file cannot be read either");
    }
}

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    main_inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    wal: Option<(u64, u64)>,
}

impl Stamp {
    fn read(path: &Path) -> Result<Self, Fault> {
        let main = fs::metadata(path)?;
        let wal = match fs::metadata(beside(path, "-wal")) {
            Ok(wal) => Some(inode(&wal)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            main_inode: inode(&main),
            size: main.len(),
            modified: (main.mtime(), main.mtime_nsec()),
            wal,
        })
    }
}

fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
