//! A session file.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapidary_testkit::fuzz::session(data));
