//! A session file of Claude Code.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapidary_testkit::fuzz::claude_session(data));
