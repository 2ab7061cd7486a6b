//! Help texts, unknown flags and exit codes.

use crate::run::Folder;

#[test]
fn help_texts_are_as_reviewed() {
    let folder = Folder::empty();
    let mut all = folder.zonai(&["--help"]).out;
    for path in commands(&zonai::cli::definition()) {
        let mut words: Vec<&str> = path.split(' ').collect();
        words.push("--help");
        let outcome = folder.zonai(&words);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{path}");
        assert!(outcome.out.contains("Examples:"), "{path} has examples");
        // What all commands have in common is shown once, above.
        let own = outcome.out.replace(LOG, "");
        all.push_str(&format!("\n=== zonai {path} --help\n\n{own}"));
    }
    insta::assert_snapshot!(all);
}

const LOG: &str = "\
Log:
      --log <FILTER>
          What is logged: error, warn, info, debug, trace, or `info,zonai_server=debug`
          
          [env: ZONAI_LOG]
          [default: info]

      --log-format <FORMAT>
          How a line of the log is written

          Possible values:
          - text: For people
          - json: One JSON object a line
          
          [env: ZONAI_LOG_FORMAT]
          [default: text]

";

#[test]
fn every_command_is_documented() {
    const PAGE: &str = include_str!("../../../../docs/command-line.md");
    for path in commands(&zonai::cli::definition()) {
        let words: Vec<&str> = path.split(' ').collect();
        let shown = PAGE.contains(&format!("zonai {path}"))
            || words.iter().all(|word| PAGE.contains(word))
                && PAGE.contains(&format!("zonai {}", words[0]));
        assert!(shown, "docs/command-line.md does not name `zonai {path}`");
    }
}

/// Every command that does something, as it is typed.
fn commands(command: &clap::Command) -> Vec<String> {
    let children: Vec<_> = command.get_subcommands().collect();
    let paths = children.iter().flat_map(|child| match commands(child) {
        below if below.is_empty() => vec![child.get_name().to_owned()],
        below => below
            .into_iter()
            .map(|rest| format!("{} {rest}", child.get_name()))
            .collect(),
    });
    paths.collect()
}

#[test]
fn the_short_help_is_short() {
    let folder = Folder::empty();
    let outcome = folder.zonai(&["-h"]);
    assert_eq!(outcome.code, 0);
    assert!(outcome.out.lines().count() <= 30, "{}", outcome.out);
    let version = folder.zonai(&["--version"]);
    assert_eq!(
        (version.code, version.out.as_str()),
        (0, concat!("zonai ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}

#[test]
fn input_that_is_not_understood_exits_2_and_names_what_was_meant() {
    let folder = Folder::with("");
    for (arguments, words) in [
        (&["serve", "--prot", "80"][..], "--port"),
        (&["chek"][..], "check"),
        (&["check", "--format", "yaml"][..], "json"),
        (&["serve", "--port", "99999"][..], "99999"),
        (
            &["serve", "--host", "example.org"][..],
            "localhost or an IP address",
        ),
        (&["check", ".", "extra"][..], "extra"),
        (&["check", "--log", "=="][..], "no filter"),
        (&[][..], "Usage"),
    ] {
        let outcome = folder.zonai(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.err);
        assert!(
            outcome.err.contains(words),
            "{arguments:?}: {}",
            outcome.err
        );
        assert_eq!(outcome.out, "", "{arguments:?}");
    }
}

#[test]
fn nothing_is_coloured_where_no_terminal_reads() {
    let folder = Folder::with("prot: 1\n");
    let outcome = folder.zonai(&["check"]);
    assert!(!outcome.out.contains('\u{1b}') && !outcome.err.contains('\u{1b}'));
}
