//! A session file of Qwen Code.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapidary_testkit::fuzz::qwen_session(data));
