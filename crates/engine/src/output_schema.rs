//! The schema that an answer must fit: how the agent gets it, how its answer is found and judged, and how it is asked to repair one.
//!
//! An agent hands its answer over by the first rung of a ladder that it has ([`DataSource`]): an option of its own for schemas (`flag`),
//! the tool [`SUBMIT_RESULT`] or our own agents' `complete_task` (`tool`), JSON in a message (`text`).

mod submission;
mod submission_form;

use std::sync::Arc;

use lapidary_gemini::json_schema::{JsonSchema, SchemaViolation};
use lapidary_normalize::{StopCause, extract};
use lapidary_vocab::{Cause, DataSource, DataViolation, Json, StructuredAnswer};

pub use submission::{RESULT_SERVER, SUBMIT_RESULT, ServedClient, SubmissionInbox, SubmissionTool};
pub(crate) use submission::{TurnSubmissions, submission_calls};

/// How often an agent may repair its answer, unless the caller says otherwise.
pub const DEFAULT_REPAIRS: u32 = 2;

/// How many characters of an answer that does not fit are repeated in the message.
const LONGEST_EXCERPT: usize = 400;

/// How many violations are named in the message. `violations` lists all of them.
const MOST_NAMED: usize = 5;

/// The schema that an answer must fit, and how often the agent may repair its answer.
#[derive(Debug, Clone)]
pub struct OutputSchema {
    schema: Arc<JsonSchema>,
    repairs: u32,
    tool: Option<SubmissionTool>,
}

/// An answer that does not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerMismatch {
    violations: Vec<SchemaViolation>,
    /// The beginning of the answer.
    excerpt: String,
    /// Whether there is no data that could fit.
    is_without_data: bool,
}

impl OutputSchema {
    /// The schema, with [`DEFAULT_REPAIRS`].
    pub fn new(schema: JsonSchema) -> Self {
        Self {
            schema: Arc::new(schema),
            repairs: DEFAULT_REPAIRS,
            tool: None,
        }
    }

    /// Offers agents that take MCP servers a tool for the answer.
    #[must_use]
    pub fn with_tool(mut self, tool: SubmissionTool) -> Self {
        self.tool = Some(tool);
        self
    }

    /// Without a tool, for an agent that cannot have it.
    pub(crate) fn without_tool(mut self) -> Self {
        self.tool = None;
        self
    }

    /// The tool for the answer, if agents are offered one.
    pub(crate) fn tool(&self) -> Option<&SubmissionTool> {
        self.tool.as_ref()
    }

    /// Sets how often the agent may repair its answer.
    #[must_use]
    pub fn with_repairs(mut self, repairs: u32) -> Self {
        self.repairs = repairs;
        self
    }

    /// How often the agent may repair its answer.
    pub fn repairs(&self) -> u32 {
        self.repairs
    }

    /// The schema as JSON.
    pub fn document(&self) -> &serde_json::Value {
        self.schema.document()
    }

    /// The end of a prompt whose answer is to fit.
    pub fn instructions(&self) -> String {
        let text = "your last message must be exactly one JSON value that is valid under the JSON Schema below, without any other text and without comments.";
        let how = match &self.tool {
            Some(_) => format!(
                "call the tool `{SUBMIT_RESULT}` of the MCP server `{RESULT_SERVER}` with your result. If you have no such tool, {text}"
            ),
            None => text.to_owned(),
        };
        format!(
            "When you are done, {how}\n\n```json\n{}\n```",
            self.document()
        )
    }

    /// The answer of a turn: the last one that was handed over through the tool, else the data in its messages.
    ///
    /// # Errors
    /// Neither fits.
    pub(crate) fn judge_turn(
        &self,
        handed_over: TurnSubmissions,
        messages: &[String],
    ) -> Result<StructuredAnswer, AnswerMismatch> {
        if let Some(answer) = handed_over.fitting {
            return Ok(answer);
        }
        self.judge_messages(messages).map_err(|in_text| {
            // A message without data adds nothing to a wrong call.
            let wrong_call = handed_over.misfit.filter(|_| in_text.is_without_data);
            wrong_call.unwrap_or(in_text)
        })
    }

    /// The data in the messages of a turn. The newest message that has JSON counts; of several values in it, the last that fits.
    ///
    /// # Errors
    /// The last value does not fit, or there is none.
    pub fn judge_messages(&self, messages: &[String]) -> Result<StructuredAnswer, AnswerMismatch> {
        let newest = messages.iter().rev();
        let mut found = newest.map(|text| (text, extract::candidates(text)));
        let Some((text, candidates)) = found.find(|(_, found)| !found.is_empty()) else {
            return Err(AnswerMismatch::without_data(messages));
        };
        let mut last = None;
        for candidate in candidates.into_iter().rev() {
            match self.schema.violations(candidate.as_str()) {
                none if none.is_empty() => return Ok(fitting_answer(candidate, DataSource::Text)),
                violations => last = last.or(Some(violations)),
            }
        }
        Err(AnswerMismatch::new(last.unwrap_or_default(), text))
    }

    /// A value that the agent handed over through a tool.
    ///
    /// # Errors
    /// It does not fit.
    pub fn judge_value(&self, value: &Json) -> Result<StructuredAnswer, AnswerMismatch> {
        match self.schema.violations(value.as_str()) {
            none if none.is_empty() => Ok(fitting_answer(value.clone(), DataSource::Tool)),
            violations => Err(AnswerMismatch::new(violations, value.as_str())),
        }
    }
}

fn fitting_answer(data: Json, source: DataSource) -> StructuredAnswer {
    StructuredAnswer {
        data: Some(data),
        data_source: Some(source),
        violations: Vec::new(),
    }
}

fn answer_excerpt(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(LONGEST_EXCERPT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

impl AnswerMismatch {
    /// Data that does not fit, in an answer.
    fn new(violations: Vec<SchemaViolation>, answer: &str) -> Self {
        Self {
            violations,
            excerpt: answer_excerpt(answer),
            is_without_data: false,
        }
    }

    /// No message has JSON.
    fn without_data(messages: &[String]) -> Self {
        let has_text = messages.last().is_some_and(|text| !text.trim().is_empty());
        let message = if has_text {
            "has no complete JSON value"
        } else {
            "is empty"
        };
        Self {
            violations: vec![SchemaViolation {
                path: String::new(),
                message: message.to_owned(),
            }],
            excerpt: answer_excerpt(messages.last().map_or("", String::as_str)),
            is_without_data: true,
        }
    }

    /// The prompt that asks the agent to repair its answer.
    pub fn repair_prompt(&self, schema: &OutputSchema) -> String {
        format!(
            "Your answer does not fit the JSON Schema:\n\n{}\n\nAnswer again with the whole JSON value, corrected, and with nothing else. The schema:\n\n```json\n{}\n```",
            self.violation_list(),
            schema.document()
        )
    }

    /// The answer to a call of the tool that asks the agent to call it again.
    fn correction_text(&self) -> String {
        format!(
            "The result does not fit the JSON Schema:\n\n{}\n\nCall `{SUBMIT_RESULT}` again with the whole result, corrected.",
            self.violation_list()
        )
    }

    fn violation_list(&self) -> String {
        let lines = self.violations.iter();
        let lines: Vec<_> = lines
            .map(|it| format!("* {}", violation_text(it)))
            .collect();
        lines.join("\n")
    }

    /// The violations in a sentence.
    pub fn sentence(&self) -> String {
        let named = self.violations.iter().take(MOST_NAMED).map(violation_text);
        let named = named.collect::<Vec<_>>().join("; ");
        match self.violations.len().saturating_sub(MOST_NAMED) {
            0 => named,
            more => format!("{named}; and {more} more"),
        }
    }

    /// The end of a run with this answer, after so many repairs.
    pub fn stop_cause(&self, repairs: u32) -> StopCause {
        let tried = match repairs {
            0 => String::new(),
            1 => " after 1 repair".to_owned(),
            many => format!(" after {many} repairs"),
        };
        let said = match self.excerpt.as_str() {
            "" => String::new(),
            text => format!("; the agent said: {text}"),
        };
        StopCause {
            cause: Cause::SchemaMismatch,
            message: format!(
                "the answer does not fit the output schema{tried}: {}{said}",
                self.sentence()
            ),
            hint: Cause::SchemaMismatch.hint().map(str::to_owned),
        }
    }

    /// The notice about a repair.
    pub fn notice(&self, number: u32, most: u32) -> String {
        format!(
            "the answer does not fit the output schema: {}; repair {number} of {most} follows",
            self.sentence()
        )
    }

    /// The answer for programs.
    pub fn answer(&self) -> StructuredAnswer {
        let violations = self.violations.iter().map(|it| DataViolation {
            pointer: it.path.clone(),
            message: it.message.clone(),
        });
        StructuredAnswer {
            data: None,
            data_source: None,
            violations: violations.collect(),
        }
    }
}

fn violation_text(violation: &SchemaViolation) -> String {
    match violation.path.as_str() {
        "" => format!("the answer {}", violation.message),
        path => format!("`{path}` {}", violation.message),
    }
}
