//! One server for one data folder: `<dataPath>/.serve.lock`, held for as long as the process lives.
//!
//! The lock is the kernel's (`flock`), so it ends with the process however that ends; the process id in the
//! file is only for the message. The file itself must never be removed: two processes could then hold
//! "the" lock, each on a file of its own.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The name of the lock file in the data folder.
pub const FILE_NAME: &str = ".serve.lock";

/// The right to serve one data folder, given back when dropped.
#[derive(Debug)]
pub struct DataLock {
    file: File,
}

/// Why a data folder could not be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process serves this folder.
    #[error(
        "the data folder `{}` is already in use{}: stop that server first, or give this one a `dataPath` of its own",
        .data.display(), by(*.pid)
    )]
    Held {
        /// The data folder.
        data: PathBuf,
        /// The process that holds the lock, as far as it has said so.
        pid: Option<u32>,
    },
    /// The folder or the file could not be made or opened.
    #[error("cannot lock the data folder: `{}`", .path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DataLock {
    /// Makes the data folder where it is missing (only its owner may enter) and locks it.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it, [`LockError::Io`] when the folder cannot be used.
    pub fn acquire(data: &Path) -> Result<Self, LockError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| LockError::Io { path, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .map_err(failed(data))?;
        let path = data.join(FILE_NAME);
        let mut file = open(&path).map_err(failed(&path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LockError::Held {
                    data: data.to_path_buf(),
                    pid: read_pid(&mut file),
                });
            }
            Err(errno) => return Err(failed(&path)(errno.into())),
        }
        write_pid(&mut file).map_err(failed(&path))?;
        Ok(Self { file })
    }

    /// The process that serves this data folder now, if one does. Changes nothing.
    ///
    /// # Errors
    /// [`LockError::Io`] when the lock file is there but cannot be read.
    pub fn holder(data: &Path) -> Result<Option<Holder>, LockError> {
        let path = data.join(FILE_NAME);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LockError::Io { path, source }),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(Some(Holder {
                pid: read_pid(&mut file),
            })),
            Err(errno) => Err(LockError::Io {
                path,
                source: errno.into(),
            }),
        }
    }
}

impl Drop for DataLock {
    fn drop(&mut self) {
        // Closing the file gives the lock back too; the empty file says that nobody is meant any more.
        let _ = self.file.set_len(0);
    }
}

/// Who serves a data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, as far as it has written it.
    pub pid: Option<u32>,
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}
