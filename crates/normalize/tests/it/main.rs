//! The normalisers, from lines to every vocabulary: the demands of the specifications, one sentence at a time, and the properties
//! that hold for any input.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod acp;
mod acp_calls;
mod acp_decisions;
mod acp_drafts;
mod acp_endings;
mod acp_properties;
mod acp_subagents;
mod acp_turns;
mod bad_input;
mod completed_calls;
mod deltas;
mod denials;
mod event_lines;
mod history;
mod history_forms;
mod insights;
mod json_output;
mod openase;
mod own_streams;
mod paired;
mod properties;
mod provider;
mod session_log;
mod support;
mod unified;
mod verdict;

#[test]
fn every_file_here_is_a_module() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "tests/it/{name} is not a module of main.rs"
        );
    }
}
