//! A policy file in Dart: faults with a place in the file, or limits that the limiter takes, and the same ones in YAML.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use zonai_fuzz::limits::{check_faults, check_stated, tables};
use zonai_policy::{Source, read_dart};

fuzz_target!(|text: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(text) else {
        return Corpus::Reject;
    };
    let source = Source::new("f.dart", text);
    let (stated, faults) = read_dart(&source, &tables());
    check_faults(&source, &faults);
    assert_eq!(stated.len(), usize::from(faults.is_empty()), "{faults:?}");
    if faults.is_empty() {
        check_stated(&source, &stated);
    }
    Corpus::Keep
});
