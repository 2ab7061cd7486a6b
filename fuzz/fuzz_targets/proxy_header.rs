//! The first bytes of a connection behind a PROXY-protocol proxy: no panic, bounded, and monotonous in its input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zonai_http::Parsed;
use zonai_http::proxy_protocol::{MAX_HEADER, parse};

// The first two bytes choose where the bytes are cut.
fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first_chunk::<2>() else {
        return;
    };
    let whole = parse(bytes);
    match whole {
        Parsed::NeedMore => assert!(bytes.len() < MAX_HEADER),
        Parsed::Header { consumed, .. } => {
            assert!(consumed <= bytes.len() && consumed <= MAX_HEADER)
        }
        Parsed::Invalid => {}
    }
    // What was decided on a beginning stands when more comes.
    let cut = usize::from(u16::from_be_bytes(*cut)) % (bytes.len() + 1);
    match parse(&bytes[..cut]) {
        Parsed::NeedMore => {}
        decided => assert_eq!(decided, whole),
    }
});
