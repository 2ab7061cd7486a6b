//! Where the admin socket of a data folder is: the same for the server and for the command line.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The longest path of a Unix socket that every system takes, in bytes.
const LONGEST: usize = 100;

/// The socket of a data folder: `admin/sock` inside it, or in the folder for temporary files where that path is too long
/// for a socket.
#[must_use]
pub fn socket_path(data: &Path) -> PathBuf {
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let inside = data.join("admin").join("sock");
    if inside.as_os_str().len() <= LONGEST {
        return inside;
    }
    let digest = Sha256::digest(data.as_os_str().as_bytes());
    let name: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let user = rustix::process::getuid().as_raw();
    Path::new("/tmp")
        .join(format!("zonai-{user}-{name}"))
        .join("sock")
}

/// Whether a folder that was there already is ours alone. In `/tmp` anybody could have made it.
pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
    let found = std::fs::symlink_metadata(folder)?;
    let ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !ours {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("`{}` belongs to somebody else", folder.display()),
        ));
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    Ok(())
}
