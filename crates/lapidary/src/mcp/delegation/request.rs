//! The job of a `delegate` call: an agent by name, a directory of the workspace, a budget that narrows the server's.

use std::path::PathBuf;
use std::time::Duration;

use lapidary_engine::budget::Budget;
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::Job;
use lapidary_gemini::json_schema::JsonSchema;
use serde_json::{Map, Value, json};

use super::super::McpContext;
use super::super::safe_text::one_line;
use super::super::server_job::with_hint;
use crate::demo::DEMO;
use crate::prepare::{OutputSchemaSource, RunOptions};

/// The longest name that a message repeats.
const SHOWN_NAME: usize = 80;

/// Limits of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RunLimits {
    budget: Budget,
    time: Option<Duration>,
}

pub(super) fn budget_schema() -> Value {
    json!({
        "type": "object",
        "description": "The limits of the run; at least one. A limit of the server's own that is lower holds.",
        "properties": {
            "tokens": {"type": "integer", "description": "Tokens, of prompts and of answers"},
            "cost_usd": {"type": "number", "description": "US dollars"},
            "turns": {"type": "integer", "description": "Answers of the model"},
            "tool_calls": {"type": "integer", "description": "Calls of tools"},
            "seconds": {"type": "integer", "description": "Time"},
        },
        "additionalProperties": false,
    })
}

/// The job of a call. Settings come from the directory of the server, so a file in `cwd` cannot replace its rules.
pub(super) fn job_of_call(
    context: &McpContext,
    arguments: &Map<String, Value>,
) -> Result<Job, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let limits = arguments.get("budget").and_then(Value::as_object);
    let limits = parse_limits(limits.unwrap_or(&Map::new()))?;
    let mut options = context.run_options();
    let agent = text("agent").unwrap_or_default();
    check_agent(context, &options, agent)?;
    options.config.agent = Some(agent.to_owned());
    if let Some(schema) = arguments.get("schema") {
        let schema = JsonSchema::parse(&schema.to_string());
        let schema = schema.map_err(|error| {
            with_hint(format!("`schema` cannot be used: {error}"), error.hint())
        })?;
        options.output_schema = Some(OutputSchemaSource::Schema(schema));
    }
    let mut job = context.make_job(&options)?;
    if let Some(cwd) = text("cwd") {
        job.config.working_dir = Some(inner_directory(&job, agent, cwd)?);
    }
    limits.narrow(&mut job);
    context.pass_bounds(&mut job, &options)?;
    job.prompt = PromptText::Text(text("prompt").unwrap_or_default().to_owned());
    Ok(job)
}

/// Refuses every agent that has no name: a command line or an address would let a model choose the program that is started.
fn check_agent(context: &McpContext, options: &RunOptions, agent: &str) -> Result<(), String> {
    let names = options.named_agents(&context.options.surroundings.environment);
    let names = names.map_err(|error| with_hint(error.to_string(), error.hint()))?;
    if names.iter().any(|name| name == agent) {
        return Ok(());
    }
    let shown: String = one_line(agent).chars().take(SHOWN_NAME).collect();
    let names = names.join(", ");
    Err(format!("there is no agent `{shown}`: there are {names}"))
}

/// The directory of a run, inside the server's. Links are followed.
fn inner_directory(job: &Job, agent: &str, cwd: &str) -> Result<PathBuf, String> {
    if agent == DEMO {
        return Err("the demo works in a directory of its own: leave `cwd` out".to_owned());
    }
    let shown = one_line(cwd);
    let root = job.config.working_dir_in(&job.environment.dir);
    let root = root.canonicalize();
    let root = root.map_err(|error| format!("cannot find the directory of the server: {error}"))?;
    let directory = root.join(cwd).canonicalize();
    let directory = directory.map_err(|error| format!("cannot use `cwd` `{shown}`: {error}"))?;
    if !directory.starts_with(&root) {
        let root = root.display();
        return Err(format!("`cwd` `{shown}` is outside the workspace `{root}`"));
    }
    if !directory.is_dir() {
        return Err(format!("`cwd` `{shown}` is not a directory"));
    }
    Ok(directory)
}

fn parse_limits(given: &Map<String, Value>) -> Result<RunLimits, String> {
    let count = |name: &str| match given.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) if count > 0 => Ok(Some(count)),
            _ => Err(format!("`budget.{name}` must be a whole number from 1")),
        },
    };
    let cost = given.get("cost_usd").map(|value| {
        let cost = value
            .as_f64()
            .filter(|cost| cost.is_finite() && *cost > 0.0);
        cost.ok_or("`budget.cost_usd` must be more than 0")
    });
    let limits = RunLimits {
        budget: Budget {
            tokens: count("tokens")?,
            cost: cost.transpose()?,
            tool_calls: count("tool_calls")?,
            turns: count("turns")?,
            max_turns: None,
        },
        time: count("seconds")?.map(Duration::from_secs),
    };
    if limits.budget == Budget::default() && limits.time.is_none() {
        return Err(
            "the budget has no limit: give at least one of `tokens`, `cost_usd`, `turns`, `tool_calls` and `seconds`"
                .to_owned(),
        );
    }
    Ok(limits)
}

impl RunLimits {
    /// Narrows the limits of a job. None can be raised.
    fn narrow(&self, job: &mut Job) {
        let budget = job.config.budget.unwrap_or_default();
        job.config.budget = Some(budget.narrowed_by(self.budget));
        let longest = job.config.timeout_or_default();
        job.config.timeout = Some(self.time.map_or(longest, |time| time.min(longest)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(budget: &Value) -> Result<RunLimits, String> {
        parse_limits(budget.as_object().unwrap())
    }

    #[test]
    fn a_budget_has_at_least_one_limit_and_none_that_is_zero() {
        let whole = limits(
            &json!({"tokens": 5, "cost_usd": 0.5, "turns": 1, "tool_calls": 2, "seconds": 9}),
        );
        let whole = whole.unwrap();
        assert_eq!(
            whole.budget.to_string(),
            "tokens=5,cost=0.5,tool-calls=2,turns=1"
        );
        assert_eq!(whole.time, Some(Duration::from_secs(9)));
        for (budget, expected) in [
            (json!({}), "at least one of"),
            (
                json!({"tokens": 0}),
                "`budget.tokens` must be a whole number from 1",
            ),
            (json!({"tokens": -1}), "`budget.tokens` must be"),
            (json!({"seconds": 1.5}), "`budget.seconds` must be"),
            (
                json!({"cost_usd": 0}),
                "`budget.cost_usd` must be more than 0",
            ),
            (json!({"tokens": 5, "turns": 0}), "`budget.turns` must be"),
        ] {
            let refused = limits(&budget).unwrap_err();
            assert!(refused.contains(expected), "{budget}: {refused}");
        }
    }
}
