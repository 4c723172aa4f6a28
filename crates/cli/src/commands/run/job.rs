//! From arguments, files and surroundings to a job.

use std::io::{self, IsTerminal as _};

use anyhow::anyhow;
use lapidary::engine::gemini_cli::Prompt;
use lapidary::engine::headless::Job;
use lapidary::normalize::NormalizeOptions;

use super::super::job;
use super::super::sink::Format;
use super::{With, stdin};
use crate::failure::Failure;

/// What is to be run.
pub(super) fn of(
    said: Option<&str>,
    args: &With,
    format: Format,
    options: NormalizeOptions,
) -> Result<Job, Failure> {
    let mut job = job::attaching(&args.common, options, &args.attach)?;
    job.prompt = prompt(said, args)?;
    job.with_bytes = format == Format::Raw || args.verbose;
    job.config.retries = args.retries.or(job.config.retries);
    Ok(job)
}

fn prompt(said: Option<&str>, args: &With) -> Result<Prompt, Failure> {
    if let Some(file) = &args.prompt_file {
        return Ok(Prompt::File(file.clone()));
    }
    match said.or(args.prompt_option.as_deref()) {
        None if io::stdin().is_terminal() => {
            let failure = Failure::usage(anyhow!("no prompt was given"));
            Err(failure.with_hint("say what the agent should do: `lapidary run 'fix the tests'`"))
        }
        None | Some("-") => stdin::whole().map(Prompt::Text),
        Some(text) => {
            let data = stdin::beside_prompt()?;
            Ok(Prompt::Text(stdin::joined(data.as_deref(), text)))
        }
    }
}
