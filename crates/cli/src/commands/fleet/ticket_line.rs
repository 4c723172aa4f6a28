//! A line of `fleet submit --batch`: a spec, and its place in the queue.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_fleet::{LaneLimit, NewTicket, SPEC_VERSION, SpecError, TicketId, TicketSpec};
use serde_json::{Map, Value};

/// The fields of a line that say where the ticket is in the queue. All others are those of the spec.
const QUEUE_FIELDS: [&str; 7] = [
    "requestKey",
    "priority",
    "notBefore",
    "lanes",
    "needs",
    "after",
    "retries",
];

/// Why a line is no ticket.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("the line is not a JSON object")]
    NotAnObject,
    #[error("`{field}` {problem}")]
    Field {
        field: &'static str,
        problem: &'static str,
    },
    #[error("{}", spec_words(.0))]
    Spec(SpecError),
}

/// The error with its cause: serde says which field it does not know.
fn spec_words(error: &SpecError) -> String {
    match error {
        SpecError::Unreadable(cause) => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}

/// Reads a line.
pub(super) fn parse_line(line: &str, created_by: &str) -> Result<NewTicket, LineError> {
    let value: Value = serde_json::from_str(line).map_err(|_| LineError::NotAnObject)?;
    let Value::Object(mut fields) = value else {
        return Err(LineError::NotAnObject);
    };
    let mut queue = Map::new();
    for name in QUEUE_FIELDS {
        if let Some(value) = fields.remove(name) {
            queue.insert(name.to_owned(), value);
        }
    }
    fields.entry("version").or_insert(SPEC_VERSION.into());
    let spec = Value::Object(fields).to_string();
    let spec = TicketSpec::parse(spec.as_bytes()).map_err(LineError::Spec)?;
    let mut ticket = NewTicket::new(spec, created_by);
    for (name, value) in queue {
        put_field(&mut ticket, &name, value)?;
    }
    Ok(ticket)
}

fn put_field(ticket: &mut NewTicket, name: &str, value: Value) -> Result<(), LineError> {
    match name {
        "requestKey" => ticket.request_key = Some(read("requestKey", "is not a text", value)?),
        "priority" => ticket.priority = read("priority", "is not a small number", value)?,
        "notBefore" => {
            let text: String = read("notBefore", "is not a time", value)?;
            let time: Result<Timestamp, _> = text.parse();
            let problem = "is not a time such as `2026-11-20T08:00:00Z`";
            ticket.not_before = Some(time.map_err(|_| LineError::Field {
                field: "notBefore",
                problem,
            })?);
        }
        "lanes" => {
            let problem = "is not an object of names and limits";
            let lanes: BTreeMap<String, Option<u32>> = read("lanes", problem, value)?;
            let lanes = lanes.into_iter();
            ticket.lanes = lanes
                .map(|(name, limit)| LaneLimit { name, limit })
                .collect();
        }
        "needs" => ticket.needs = read("needs", "is not a list of texts", value)?,
        "after" => {
            let ids: Vec<String> = read("after", "is not a list of tickets", value)?;
            let ids = ids.iter().map(|id| id.parse::<TicketId>());
            let ids: Result<Vec<TicketId>, _> = ids.collect();
            ticket.after = ids.map_err(|_| LineError::Field {
                field: "after",
                problem: "has a text that is not the id of a ticket",
            })?;
        }
        _ => {
            let retries: u32 = read("retries", "is not a number", value)?;
            ticket.max_attempts = retries.saturating_add(1);
        }
    }
    Ok(())
}

fn read<T: serde::de::DeserializeOwned>(
    field: &'static str,
    problem: &'static str,
    value: Value,
) -> Result<T, LineError> {
    serde_json::from_value(value).map_err(|_| LineError::Field { field, problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> String {
        parse_line(line, "ann").unwrap_err().to_string()
    }

    #[test]
    fn a_line_has_a_spec_and_a_place_in_the_queue() {
        let line = r#"{"prompt":"fix it","agent":"gemini","lanes":{"repo:a":2,"b":null},"retries":0,"needs":["gpu"],"priority":-3}"#;
        let ticket = parse_line(line, "ann").unwrap();
        assert_eq!(ticket.spec.agent.as_deref(), Some("gemini"));
        assert_eq!((ticket.max_attempts, ticket.priority), (1, -3));
        let limits: Vec<_> = ticket.lanes.iter().map(|lane| lane.limit).collect();
        assert_eq!(limits, [None, Some(2)]);
    }

    #[test]
    fn unknown_fields_and_versions_of_a_ticket_line_are_named() {
        assert!(refusal(r#"{"prompt":"x","command":"rm"}"#).contains("unknown field `command`"));
        assert!(refusal(r#"{"prompt":"x","version":2}"#).contains("version 2"));
        assert_eq!(refusal("[]"), "the line is not a JSON object");
        assert_eq!(
            refusal(r#"{"prompt":"x","after":["y"]}"#),
            "`after` has a text that is not the id of a ticket"
        );
    }
}
