//! Help texts, unknown flags and exit codes.

use crate::run::Folder;

#[test]
fn help_texts_are_as_reviewed() {
    let folder = Folder::empty();
    let commands = zonai::cli::definition();
    let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
    let mut all = folder.zonai(&["--help"]).out;
    for name in names {
        let outcome = folder.zonai(&[name, "--help"]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{name}");
        assert!(outcome.out.contains("Examples:"), "{name} has examples");
        all.push_str(&format!("\n=== zonai {name} --help\n\n{}", outcome.out));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_short_help_is_short() {
    let folder = Folder::empty();
    let outcome = folder.zonai(&["-h"]);
    assert_eq!(outcome.code, 0);
    assert!(outcome.out.lines().count() <= 20, "{}", outcome.out);
    let version = folder.zonai(&["--version"]);
    assert_eq!((version.code, version.out.as_str()), (0, concat!("zonai ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn input_that_is_not_understood_exits_2_and_names_what_was_meant() {
    let folder = Folder::with("");
    for (arguments, words) in [
        (&["serve", "--prot", "80"][..], "--port"),
        (&["chek"][..], "check"),
        (&["check", "--format", "yaml"][..], "json"),
        (&["serve", "--port", "99999"][..], "99999"),
        (&["serve", "--host", "example.org"][..], "localhost or an IP address"),
        (&["check", ".", "extra"][..], "extra"),
        (&["check", "--log", "=="][..], "no filter"),
        (&[][..], "Usage"),
    ] {
        let outcome = folder.zonai(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.err);
        assert!(outcome.err.contains(words), "{arguments:?}: {}", outcome.err);
        assert_eq!(outcome.out, "", "{arguments:?}");
    }
}

#[test]
fn nothing_is_coloured_where_no_terminal_reads() {
    let folder = Folder::with("prot: 1\n");
    let outcome = folder.zonai(&["check"]);
    assert!(!outcome.out.contains('\u{1b}') && !outcome.err.contains('\u{1b}'));
}
