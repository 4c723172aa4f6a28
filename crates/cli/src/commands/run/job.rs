//! From arguments, files and surroundings to a job.

use anyhow::anyhow;
use lapidary::demo::{DEMO, DEMO_PROMPT};
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::normalize::NormalizeOptions;

use super::super::job::JobRequest;
use super::super::sink::OutputFormat;
use super::{PromptSource, RunExtras, RunRequest, stdin};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// The job of the options, with its prompt.
pub(super) fn run_job(
    request: &RunRequest<'_>,
    args: &RunExtras,
    format: OutputFormat,
    options: NormalizeOptions,
    invocation: &Invocation,
) -> Result<Job, Failure> {
    let wanted = JobRequest::new(&args.common, options, invocation);
    let wanted = wanted
        .with_attachments(&args.attach)
        .own_agent(request.own_agent);
    let wanted = wanted.with_attendance(request.attendance);
    let mut job = wanted.make_job()?;
    job.prompt = match &request.prompt {
        PromptSource::Text(text) => PromptText::Text(text.clone()),
        PromptSource::Argument(said) => {
            let usual = (job.agent.name() == DEMO).then_some(DEMO_PROMPT);
            prompt_text(*said, usual, args, invocation)?
        }
    };
    job.with_bytes = format == OutputFormat::Raw || args.verbose;
    job.config.retries = args.retries.or(job.config.retries);
    Ok(job)
}

/// The prompt of the arguments or of stdin; `usual` if there is none.
fn prompt_text(
    said: Option<&str>,
    usual: Option<&str>,
    args: &RunExtras,
    invocation: &Invocation,
) -> Result<PromptText, Failure> {
    if let Some(file) = &args.prompt_file {
        return Ok(PromptText::File(file.clone()));
    }
    match said.or(args.prompt_option.as_deref()) {
        None if invocation.is_stdin_terminal() => {
            if let Some(usual) = usual {
                return Ok(PromptText::Text(usual.to_owned()));
            }
            let failure = Failure::usage(anyhow!("no prompt was given"));
            Err(failure.with_hint("say what the agent should do: `lapidary run 'fix the tests'`"))
        }
        None | Some("-") => {
            let text = stdin::read_prompt(invocation)?;
            let usual = usual.filter(|_| text.trim().is_empty());
            Ok(PromptText::Text(usual.map_or(text, str::to_owned)))
        }
        Some(text) => {
            let data = stdin::beside_prompt(invocation)?;
            Ok(PromptText::Text(stdin::join_prompt(data.as_deref(), text)))
        }
    }
}
