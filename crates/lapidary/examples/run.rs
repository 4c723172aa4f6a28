//! Runs an agent on a prompt and prints its answer as it comes.
//!
//! `cargo run -p lapidary --example run -- 'what is in this folder?' [AGENT]`

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use lapidary::render::plain::sanitize;
use lapidary::{Body, PermissionMode};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    // This program is its own supervisor: its agents end with it, even if it is killed.
    if let Some(exit) = lapidary::supervise_if_asked() {
        return Ok(exit);
    }
    let mut args = std::env::args().skip(1);
    let prompt = args.next().ok_or("say what the agent should do")?;
    let mut run = lapidary::run(prompt)
        .agent(args.next().unwrap_or_else(|| "gemini".to_owned()))
        .permission_mode(PermissionMode::Plan)
        .timeout(Duration::from_mins(5))
        .start()?;
    let mut out = std::io::stdout();
    while let Some(event) = run.blocking_next() {
        match event.body {
            Body::StreamDelta(delta) => {
                let text = delta
                    .text_delta
                    .map(|text| text.to_string())
                    .unwrap_or_default();
                write!(out, "{}", sanitize(&text))?; // nothing an agent says may command the terminal
                out.flush()?;
            }
            Body::RunEnd(end) => {
                writeln!(out, "\n{}: {}", end.outcome, end.cause)?;
                return Ok(ExitCode::from(end.exit_code));
            }
            _ => {}
        }
    }
    Ok(ExitCode::FAILURE)
}
