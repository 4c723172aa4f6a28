//! A stream of server-sent events.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapidary_testkit::fuzz::events(data));
