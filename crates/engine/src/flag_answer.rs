//! The rung `flag` of output schemas: the agent has an option for schemas of its own. Claude Code puts the data into its `result`,
//! Codex makes it its last message. The data is judged by our checker all the same.

use lapidary_vocab::{Body, DataSource, Event, Json, StructuredAnswer};

use crate::output_schema::{AnswerMismatch, OutputSchema};

/// The extension of `turn_complete` that has Claude Code's data.
const STRUCTURED_OUTPUT: &str = "claude.structured_output";

/// The longest schema that is passed as an argument. Linux ends at 128 KiB an argument; a longer one is part of the prompt.
pub(crate) const LONGEST_ARGUMENT: usize = 96 * 1024;

/// The data that events hand over.
pub(crate) fn handed_over(events: &[Event]) -> Option<Json> {
    let turns = events.iter().rev();
    let mut turns = turns.filter(|event| matches!(event.body, Body::TurnComplete(_)));
    let data = turns.find_map(|turn| turn.base.extensions.get(STRUCTURED_OUTPUT));
    data.map(Json::detached)
}

/// Judges the data that the agent handed over, else its messages.
///
/// # Errors
/// It does not fit.
pub(crate) fn judge_answer(
    schema: &OutputSchema,
    data: Option<Json>,
    messages: &[String],
) -> Result<StructuredAnswer, AnswerMismatch> {
    let judged = match data {
        Some(data) => schema.judge_value(&data),
        None => schema.judge_messages(messages),
    };
    judged.map(|answer| StructuredAnswer {
        data_source: Some(DataSource::Flag),
        ..answer
    })
}
