//! `zonai init`: a project that runs, and nothing of anybody's overwritten.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::run::Folder;

#[test]
fn a_new_project_passes_check() {
    let folder = Folder::empty();
    let outcome = folder.zonai(&["init", "shop"]);
    assert_eq!(
        (outcome.code, outcome.err.as_str()),
        (0, ""),
        "{}",
        outcome.out
    );
    assert!(
        outcome.out.ends_with("Next: zonai serve shop\n"),
        "{}",
        outcome.out
    );
    let check = folder.zonai(&["check", "shop"]);
    assert_eq!((check.code, check.err.as_str()), (0, ""), "{}", check.out);
}

#[test]
fn secrets_are_private_new_and_ignored_by_git() {
    let folder = Folder::empty();
    folder.zonai(&["init", "a"]);
    folder.zonai(&["init", "b"]);
    let env = folder.read("a/.env");
    assert_ne!(env, folder.read("b/.env"));
    assert!(env.contains("\nJWT_SECRET=") && env.contains("\nPASSWORD_SECRET="));
    let mode = fs::metadata(folder.path().join("a/.env"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let ignored = folder.read("a/.gitignore");
    assert!(
        ignored.lines().any(|line| line == ".env") && ignored.lines().any(|line| line == ".zonai/")
    );
    // With its own secrets the project may be reached by others.
    let check = folder.zonai_with(&["check", "a"], &[("ZONAI_HOST", "0.0.0.0")]);
    assert_eq!(check.code, 0, "{}", check.out);
}

#[test]
fn a_project_is_not_made_twice() {
    let folder = Folder::with("# mine\n");
    let outcome = folder.zonai(&["init"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.err.contains("already is a project"),
        "{}",
        outcome.err
    );
    assert_eq!(folder.read("zonai.yaml"), "# mine\n");
    assert!(!folder.path().join(".env").exists());
}

#[test]
fn files_that_are_there_are_kept() {
    let folder = Folder::empty();
    folder.write("README.md", "mine");
    folder.write(".gitignore", "target");
    folder.write(".env", "A=b\n");
    let outcome = folder.zonai(&["init"]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert_eq!(folder.read("README.md"), "mine");
    assert_eq!(folder.read(".env"), "A=b\n");
    assert_eq!(folder.read(".gitignore"), "target\n.env\n.zonai/\n");
    assert!(
        outcome
            .err
            .contains("JWT_SECRET and PASSWORD_SECRET must stand in it")
    );
}
