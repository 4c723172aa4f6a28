//! A request for tests that start nothing.

use lapidary_normalize::{AgentSetup, NormalizeOptions};

use super::{GEMINI_STREAM, RecordingOptions, RunRequest, RunTimeouts};
use crate::budget::{Budget, BudgetUnknown};
use crate::process::{Command, Supervisor};

pub(crate) fn run_request() -> RunRequest {
    RunRequest {
        run: "r".to_owned(),
        agent: "fake".to_owned(),
        command: Command::new("/bin/false", "/"),
        replay: None,
        input: Vec::new(),
        dialect: &GEMINI_STREAM,
        supervisor: Supervisor::at("/bin/false"),
        timeouts: RunTimeouts::default(),
        grace: std::time::Duration::ZERO,
        retries: 0,
        budget: Budget::default(),
        prices: None,
        budget_unknown: BudgetUnknown::default(),
        records: RecordingOptions::below("/"),
        options: NormalizeOptions::new("r"),
        notices: Vec::new(),
        warnings: Vec::new(),
        confined: None,
        with_bytes: false,
        max_line: 1024,
        prompt_directory: None,
        safekeeping: None,
        session_logs: None,
        codex_home: None,
        setup: AgentSetup::default(),
        watch: crate::PermissionWatch::default(),
        policy: None,
        policy_file: None,
        output_schema: None,
        has_schema_option: false,
    }
}
