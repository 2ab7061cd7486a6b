//! What must not stand in any file: paths of one machine, and hosts that packages come from.
//!
//! A script that names either works for its author only. Must never look into the lock file, which cargo writes.

use crate::report::Report;
use crate::tree;

/// Spelled in two parts, so that this file passes its own check.
const WORDS: [(&str, &str, &str); 7] = [
    ("/work", "/", "a path of one machine"),
    ("/root", "/", "a path of one machine"),
    ("/home", "/", "a path of one machine"),
    (
        "index.crates",
        ".io",
        "where packages come from is a setting of the machine",
    ),
    (
        "static.crates",
        ".io",
        "where packages come from is a setting of the machine",
    ),
    (
        "files.python",
        "hosted.org",
        "where packages come from is a setting of the machine",
    ),
    (
        "registry.npm",
        "js.org",
        "where packages come from is a setting of the machine",
    ),
];

pub(super) fn check(files: &[String], report: &mut Report) {
    for path in files.iter().filter(|path| !is_written_by_a_tool(path)) {
        let Ok(text) = std::fs::read_to_string(tree::root().join(path)) else {
            continue;
        };
        faults(path, &text, report);
    }
}

fn is_written_by_a_tool(path: &str) -> bool {
    path.ends_with("Cargo.lock")
        || path.ends_with("package-lock.json")
        || path.starts_with("fuzz/corpus/")
}

fn faults(path: &str, text: &str, report: &mut Report) {
    for (index, line) in text.lines().enumerate() {
        for (start, end, why) in WORDS {
            let word = format!("{start}{end}");
            let whole = line.match_indices(&word).any(|(at, _)| {
                !line[..at].ends_with(|c: char| {
                    c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '}' | '>')
                })
            });
            if whole {
                report.fault(
                    format!("{path}:{}", index + 1),
                    format_args!("`{word}`: {why}"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::faults;
    use crate::report::Report;

    fn count(text: &str) -> usize {
        let mut report = Report::default();
        faults("a.sh", text, &mut report);
        report.faults.len()
    }

    #[test]
    fn a_path_of_one_machine_is_a_fault() {
        assert_eq!(count(&format!("cd {}{}me/zonai", "/home", "/")), 1);
        assert_eq!(count("cd target/work/x; ls ./home/x"), 0);
    }
}
