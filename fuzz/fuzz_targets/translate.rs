//! A stream, in chunks of any size.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapidary_testkit::fuzz::translate(data));
