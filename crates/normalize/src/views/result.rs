//! Events → one result.

use std::collections::BTreeMap;

use lapidary_json::Token;
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{
    Diagnostic, DiagnosticKind, RunEnd, StreamDeltaKind, TextKind, ToolCompletion, ToolInvocation,
    ToolKind, TurnComplete,
};
use lapidary_vocab::result::{Files, LineSample, ResultError, RunResult, SCHEMA};
use lapidary_vocab::{Body, Cause, Event, Json, Text, TextBuilder};

use crate::acp::TASK;
use crate::pending::PendingById;
use crate::{DeniedCalls, extract, own, tools};

/// How many lines that could not be translated are shown.
const MOST_SAMPLES: usize = 5;

/// How many characters of each.
const LONGEST_SAMPLE: usize = 200;

/// Folds events into a result.
#[derive(Debug, Default)]
pub struct ResultFold {
    session_id: Option<Text>,
    /// Messages of the assistant that are complete.
    texts: Vec<Text>,
    /// The message that is being joined.
    text: TextBuilder,
    denials: DeniedCalls,
    /// Where the agent works: files in it are named from there.
    directory: Option<String>,
    /// Files that a call would write, until its result says whether it did.
    writes: PendingById<String, Text>,
    files: Vec<String>,
    warnings: Vec<Text>,
    diagnostics: BTreeMap<String, u64>,
    samples: Vec<LineSample>,
    turn: TurnComplete,
    /// How the task of an agent of our own ended.
    task: Option<Json>,
    end: Option<RunEnd>,
}

impl ResultFold {
    /// Takes in an event.
    pub fn push(&mut self, event: &Event) {
        if let Some(id) = &event.base.session_id {
            self.session_id.get_or_insert_with(|| id.detached());
        }
        self.denials.push(event);
        match &event.body {
            Body::SessionInit(init) => {
                let directory = init.cwd.as_ref().map(Text::to_string);
                self.directory = directory.or(self.directory.take());
            }
            // Text of an earlier run, or outside a turn, is not this run's answer.
            Body::StreamDelta(_) | Body::Text(_) if is_beside(event) => {}
            Body::StreamDelta(delta) if delta.kind == StreamDeltaKind::Text => {
                delta
                    .text_delta
                    .iter()
                    .for_each(|text| self.text.push(text));
            }
            Body::Text(text) if text.kind == TextKind::Text => {
                self.text.push(&text.text);
            }
            Body::ToolInvocation(call) => {
                self.end_text();
                self.note_call(call);
            }
            Body::ToolCompletion(result) => {
                self.end_text();
                self.note_result(result);
            }
            Body::SessionStatus(status) => {
                let words = ["gemini.severity", "acp.severity"];
                let severity = words
                    .iter()
                    .find_map(|word| event.base.extensions.get(*word))
                    .map(Json::to_display);
                if severity.as_deref() == Some("warning") {
                    self.warnings
                        .extend(status.message.as_ref().map(Text::detached));
                }
            }
            Body::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::Protocol => {}
            Body::Diagnostic(diagnostic) => {
                self.keep_sample(diagnostic, event);
                *self
                    .diagnostics
                    .entry(diagnostic.kind.as_str().to_owned())
                    .or_default() += diagnostic.count.unwrap_or(1);
            }
            Body::TurnComplete(turn) => {
                self.end_text();
                self.turn = (**turn).clone();
                self.task = event.base.extensions.get(TASK).cloned();
            }
            Body::RunEnd(end) => self.end = Some(end.clone()),
            _ => {}
        }
    }

    /// The result. With `extract_data`, JSON in the response becomes `data`; if it has none, JSON in the newest message that has some.
    pub fn finish(mut self, extract_data: bool) -> RunResult {
        self.end_text();
        let in_words = || {
            self.texts
                .iter()
                .rev()
                .find_map(|text| extract::json(&text.to_str()))
        };
        let answer = self.end.as_ref().and_then(|end| end.answer.clone());
        let answer = answer.map(|answer| *answer).unwrap_or_default();
        let data = answer
            .data
            .or_else(|| extract_data.then(in_words).flatten());
        let cause = self
            .end
            .as_ref()
            .map_or(Cause::NoResult, |end| end.cause.clone());
        let error = self.end.as_ref().and_then(|end| {
            let message = end.message.clone()?;
            Some(ResultError {
                message,
                hint: end.hint.clone(),
                data_violations: answer.violations.clone(),
            })
        });
        let violations = self.end.as_ref().map(|end| end.violations.clone());
        let violations = violations.unwrap_or_default();
        let mut warnings = self.warnings;
        if let Some(end) = &self.end {
            warnings.extend(end.warnings.iter().cloned().map(Text::from));
        }
        let of_task = |key| self.task.as_ref().and_then(|task| task.token().get(key));
        let text = |token: Token<'_>| own::string_token(Some(token)).map(own::owned_text);
        RunResult {
            terminate_reason: of_task("terminateReason").and_then(text),
            recovered_from: of_task("recoveredFrom").and_then(text),
            output: of_task("output").map(own::owned_json),
            schema: SCHEMA.into(),
            success: cause == Cause::EndTurn,
            outcome: cause.outcome(),
            exit_code: cause.exit_code(),
            cause,
            agent_exit_code: self.end.as_ref().and_then(|end| end.agent_exit_code),
            session_id: self.session_id,
            duration_ms: self
                .end
                .and_then(|end| end.duration_ms)
                .or(self.turn.duration_ms),
            data,
            data_source: answer.data_source,
            response: self.texts.last().cloned().unwrap_or_default(),
            texts: self.texts,
            permission_denials: self.denials.listed().to_vec(),
            violations,
            files: Files(self.files),
            usage: self.turn.usage,
            error,
            warnings,
            diagnostics: self.diagnostics,
            diagnostic_samples: self.samples,
        }
    }

    /// A message of the assistant is over: a call follows it, or a result, or the end of the turn.
    fn end_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text).to_text();
        if !text.is_blank() {
            self.texts.push(text);
        }
    }

    /// Keeps the beginning of a line that could not be translated, if it is one of the first.
    fn keep_sample(&mut self, diagnostic: &Diagnostic, event: &Event) {
        let is_line = matches!(
            diagnostic.kind,
            DiagnosticKind::MalformedLine
                | DiagnosticKind::Noise
                | DiagnosticKind::LineTooLong
                | DiagnosticKind::UnknownType
        );
        if is_line
            && self.samples.len() < MOST_SAMPLES
            && let Some(raw) = &event.base.raw
        {
            self.samples.push(LineSample {
                kind: diagnostic.kind.as_str().to_owned(),
                message: diagnostic.message.clone(),
                line: raw.to_display().chars().take(LONGEST_SAMPLE).collect(),
            });
        }
    }

    /// Which file a call writes: by its arguments where the tool is known, else by where an edit says that it is.
    fn note_call(&mut self, call: &ToolInvocation) {
        let by_name = tools::written_path(&call.tool_name.to_str(), call.input.token());
        let by_place = || {
            let place = call.locations.first()?;
            (call.kind == ToolKind::Edit).then(|| place.to_string())
        };
        if let Some(path) = by_name.or_else(by_place) {
            let size = path.len();
            self.writes.close_text(&call.call_id);
            self.writes.open_text(&call.call_id, path, size);
        }
    }

    fn note_result(&mut self, result: &ToolCompletion) {
        self.note_diffs(result);
        let Some(path) = self.writes.close_text(&result.call_id) else {
            return;
        };
        if !result.is_error {
            self.note_written_file(path);
        }
    }

    /// The diffs that it shows.
    fn note_diffs(&mut self, result: &ToolCompletion) {
        if result.is_error {
            return;
        }
        for block in &result.content {
            if let ContentBlock::Diff(diff) = block
                && let Some(path) = &diff.path
            {
                self.note_written_file(path.to_string());
            }
        }
    }

    fn note_written_file(&mut self, path: String) {
        let path = match self
            .directory
            .as_deref()
            .and_then(|it| relative_path(&path, it))
        {
            Some(inside) => inside.to_owned(),
            None => path,
        };
        if !self.files.contains(&path) {
            self.files.push(path);
        }
    }
}

/// A path as seen from a directory that it is in.
fn relative_path<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let inside = path.strip_prefix(directory.trim_end_matches('/'))?;
    inside.strip_prefix('/').filter(|inside| !inside.is_empty())
}

/// Said beside the turn that the result is about.
fn is_beside(event: &Event) -> bool {
    let parent = match &event.body {
        Body::StreamDelta(delta) => delta.parent_call_id.as_ref(),
        Body::Text(text) => text.parent_call_id.as_ref(),
        _ => None,
    };
    let extensions = &event.base.extensions;
    parent.is_some()
        || extensions.contains_key("acp.replay")
        || extensions.contains_key("acp.outOfTurn")
}
