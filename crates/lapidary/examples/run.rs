//! Runs Gemini CLI on a prompt and prints its answer as it comes.
//!
//! `cargo run -p lapidary --example run -- 'what is in this folder?'`

use std::io::Write as _;
use std::process::ExitCode;

use lapidary::drive::config::Config;
use lapidary::drive::gemini_cli::Prompt;
use lapidary::drive::headless::Job;
use lapidary::drive::process::{Supervisor, supervisor};
use lapidary::drive::run::Records;
use lapidary::drive::{Host, fresh_run};
use lapidary::render::plain::sanitize;
use lapidary::vocab::Body;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    // This program is its own supervisor: what it starts ends with it, even if it is killed.
    if let Some(exit) = supervisor::run_if_asked(std::env::args_os()) {
        return Ok(exit);
    }
    let prompt = std::env::args()
        .nth(1)
        .ok_or("say what the agent should do")?;
    let host = Host::new(
        std::env::vars_os(),
        std::env::current_dir()?,
        Supervisor::at(std::env::current_exe()?),
        Records::below(std::env::temp_dir().join("lapidary-example")),
    );
    let config = Config::builder()
        .set("permission_mode", "plan")
        .set("timeout", 300)
        .build()?;
    let mut run = Job::gemini(&host, config, Prompt::Text(prompt), &fresh_run()).start();
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
                return Ok(ExitCode::from(u8::from(
                    end.outcome.as_str() != "completed",
                )));
            }
            _ => {}
        }
    }
    Ok(ExitCode::FAILURE)
}
