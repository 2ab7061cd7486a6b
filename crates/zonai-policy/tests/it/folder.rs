//! The folder: which files count, and that everything wrong is told at once.

use std::fs;

use zonai_policy::read_folder;

use crate::support::tables;

#[test]
fn a_missing_or_empty_folder_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let reading = read_folder(&dir.path().join("missing"), &tables());
    assert!(reading.registrations.is_empty() && reading.faults.is_empty() && reading.files.is_empty());
    let reading = read_folder(dir.path(), &tables());
    assert!(reading.registrations.is_empty() && reading.faults.is_empty());
}

#[test]
fn only_policy_files_count_in_the_order_of_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let text = |table: &str| format!("table: {table}\nlimits: {{}}\n");
    fs::write(dir.path().join("b.yml"), text("notes")).unwrap();
    fs::write(dir.path().join("a.yaml"), text("tasks")).unwrap();
    fs::write(dir.path().join(".hidden.yaml"), "broken: [").unwrap();
    fs::write(dir.path().join("a.yaml.swp"), "broken: [").unwrap();
    fs::write(dir.path().join("README.md"), "broken: [").unwrap();
    fs::create_dir(dir.path().join("folder.yaml")).unwrap();
    fs::write(dir.path().join("elsewhere"), text("users")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("c.yaml")).unwrap();
    let reading = read_folder(dir.path(), &tables());
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    let names: Vec<_> = reading.registrations.iter().map(|stated| stated.limits.table.as_str()).collect();
    assert_eq!(names, ["tasks", "notes", "users"]);
    assert_eq!(reading.files.len(), 3);
}

#[test]
fn what_cannot_be_read_is_a_fault_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.yaml"), b"table: tasks\nlimits: {}\n# \xff\n").unwrap();
    fs::write(dir.path().join("b.yaml"), "#".repeat((1 << 20) + 1)).unwrap();
    std::os::unix::fs::symlink(dir.path().join("gone"), dir.path().join("c.yaml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("d.yaml")).unwrap();
    let reading = zonai_policy::read_folder_as(dir.path(), "lib".as_ref(), &tables());
    let told: Vec<String> = reading.faults.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], "lib/a.yaml:3:3: is not UTF-8 text from here on");
    assert_eq!(told[1], "lib/b.yaml:1:1: is larger than 1048576 bytes, the most a file may have");
    assert!(told[2].starts_with("lib/c.yaml:1:1: cannot be read: "), "{told:?}");
    assert_eq!(told[3], "lib/d.yaml:1:1: is not a plain file");
}

#[test]
fn two_files_for_one_table_are_both_returned() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.yaml", "b.yaml"] {
        fs::write(dir.path().join(name), "table: tasks\nlimits: {}\n").unwrap();
    }
    let reading = read_folder(dir.path(), &tables());
    assert!(reading.faults.is_empty());
    assert_eq!(reading.registrations.len(), 2);
}
