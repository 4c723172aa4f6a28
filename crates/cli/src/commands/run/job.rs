//! From arguments, files and surroundings to a job.

use std::io::{self, IsTerminal as _, Read as _};

use anyhow::{Context as _, anyhow};
use lapidary::drive::agents::gemini::Prompt;
use lapidary::drive::headless::Job;
use lapidary::normalize::Options;

use super::super::sink::Format;
use super::super::{job, speaking};
use super::With;
use crate::failure::Failure;

/// How long a prompt from stdin may be.
const LONGEST_PROMPT: u64 = 1 << 30;

/// What is to be run.
pub(super) fn of(
    said: Option<&str>,
    args: &With,
    format: Format,
    options: Options,
) -> Result<Job, Failure> {
    let mut job = job::of(&args.common, options)?;
    job.prompt = prompt(said, args)?;
    job.with_bytes = format == Format::Raw || args.verbose;
    job.config.retries = args.retries.or(job.config.retries);
    let attached = args.attach.iter();
    let attached = attached.map(|file| speaking::attachment(&job.environment.dir.join(file)));
    job.speaking.attachments = attached.collect::<Result<_, _>>()?;
    Ok(job)
}

fn prompt(said: Option<&str>, args: &With) -> Result<Prompt, Failure> {
    if let Some(file) = &args.prompt_file {
        return Ok(Prompt::File(file.clone()));
    }
    match said {
        None if io::stdin().is_terminal() => {
            let failure = Failure::usage(anyhow!("no prompt was given"));
            Err(failure.with_hint("say what the agent should do: lapidary run 'fix the tests'"))
        }
        None | Some("-") => from_stdin(),
        Some(text) => Ok(Prompt::Text(text.to_owned())),
    }
}

fn from_stdin() -> Result<Prompt, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin()
        .lock()
        .take(LONGEST_PROMPT + 1)
        .read_to_end(&mut bytes);
    read.context("cannot read the prompt from stdin")
        .map_err(Failure::bad_input)?;
    if bytes.len() as u64 > LONGEST_PROMPT {
        return Err(Failure::bad_input(anyhow!(
            "the prompt on stdin goes on behind 1 GiB"
        )));
    }
    let text = String::from_utf8(bytes).context("the prompt on stdin is not UTF-8");
    text.map(Prompt::Text).map_err(Failure::bad_input)
}
