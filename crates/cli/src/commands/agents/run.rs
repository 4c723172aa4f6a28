//! `agents run`: an agent definition on a task, as a run like any other.

mod options;

use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use lapidary::agents::{AgentCatalog, PromptUse, TaskRequest};
use lapidary::engine::headless::Job;

use self::options::DefinitionOptions;
use crate::commands::run::{PromptSource, RunRequest, carry_out};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Run an agent definition on a task, without Gemini CLI
///
/// A local agent works in this process: its model is asked over the Gemini API, its tools read, change and search files of the workspace and run commands. A remote agent is asked over A2A, and works where it is. Rules, permission prompts, hooks, limits, recording, formats and exit codes are those of `lapidary run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents run codebase_investigator 'how does a session end?'
  lapidary agents run reviewer --allow 'execute:git diff*' 'review my last commit'
  lapidary agents run porter --input from=lib/a.py --input to=src/a.rs
  lapidary agents run cli_help --format result 'how do I deny a command?' | jq -r .output.answer
  lapidary agents run generalist --format activity 'rename the module' > steps.jsonl

The prompt is the agent's only input, or the one called `prompt`; other inputs are given with --input. \
The API key is GEMINI_API_KEY, or GOOGLE_API_KEY with GOOGLE_GENAI_USE_VERTEXAI=true; GOOGLE_GEMINI_BASE_URL names another address. \
A remote agent needs none of these; its credentials are those of `auth` in its file. \
An agent without a model of its own runs on GEMINI_MODEL, else on `model.name` of the settings. \
Exit codes are those of `lapidary run`: `lapidary run --help`.")]
pub(crate) struct Args {
    /// The agent's name, as `lapidary agents list` has it
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The task; `-` or nothing reads it from stdin
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// An input of the agent; repeatable
    #[arg(short, long = "input", value_name = "NAME=VALUE", value_parser = name_and_value)]
    inputs: Vec<(String, String)>,
    #[command(flatten)]
    with: DefinitionOptions,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    args.with.check()?;
    let with = &args.with.0;
    let prompt_use = if args.prompt.is_some() || with.has_prompt() || args.inputs.is_empty() {
        PromptUse::FillsInput
    } else {
        PromptUse::Describes
    };
    let prompt = match prompt_use {
        PromptUse::FillsInput => PromptSource::Argument(args.prompt.as_deref()),
        PromptUse::Describes => PromptSource::Text(describe_inputs(&args.inputs)),
    };
    let request = RunRequest::of_definition(&args.name, prompt);
    carry_out(request, with, out, |job| {
        choose_definition(job, args, prompt_use)
    })
}

/// Puts the definition into the job.
fn choose_definition(job: &mut Job, args: &Args, prompt_use: PromptUse) -> Result<(), Failure> {
    let catalog = Arc::new(AgentCatalog::read(job)?);
    let request = TaskRequest {
        name: &args.name,
        inputs: &args.inputs,
        prompt_use,
        model: args.with.0.common.model.as_deref(),
    };
    Ok(catalog.assign_task(job, &request)?)
}

/// Inputs as the words of a prompt, one a line.
fn describe_inputs(inputs: &[(String, String)]) -> String {
    let lines = inputs.iter().map(|(name, value)| format!("{name}={value}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
