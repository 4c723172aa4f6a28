//! Pages of a list: `limit` entries, and a `nextCursor` for the entries behind them.
//!
//! A cursor has the place of the last entry and its id. Entries that were added since move it: it is looked for by its id.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use crate::command_output::{self, CommandRunner};
use crate::problem::HttpProblem;

/// A list that a command prints.
pub(crate) struct ListCommand {
    /// The command without its limit.
    pub(crate) args: Vec<String>,
    /// The order of its pages.
    pub(crate) order: ListOrder,
    /// The member of the output that has the entries.
    pub(crate) entries: &'static str,
}

/// The order in which a list is read page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOrder {
    /// As the command prints it. The first page is limited by this option of the command, which stands before `--`.
    Printed(&'static str),
    /// The entry with the latest time in this member first.
    Newest(&'static str),
}

/// The part of the list that a client wants.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageRequest {
    pub(crate) limit: Option<u32>,
    pub(crate) cursor: Option<String>,
}

/// A place in a list.
#[derive(Debug, PartialEq, Eq)]
struct ListCursor {
    offset: usize,
    id: String,
}

impl ListCursor {
    fn parse(text: &str) -> Option<Self> {
        let (offset, id) = text.split_once('.')?;
        Some(Self {
            offset: offset.parse().ok().filter(|offset| *offset < 10_000_000)?,
            id: id.to_owned(),
        })
    }
}

/// Responds with a page of the list; without `limit` and `cursor`, with the whole list as the command prints it.
pub(crate) async fn respond(
    runner: &Arc<dyn CommandRunner>,
    list: ListCommand,
    page: PageRequest,
) -> Result<Response, HttpProblem> {
    let kind = "application/json";
    if page.limit.is_none() && page.cursor.is_none() {
        return command_output::respond(runner, kind, list.args).await;
    }
    let cursor = match &page.cursor {
        None => None,
        Some(text) => Some(ListCursor::parse(text).ok_or_else(|| {
            HttpProblem::bad_request(format!("`{text}` is not a cursor"))
                .with_hint("a cursor is the `nextCursor` of the page before")
        })?),
    };
    let mut args = list.args;
    // With a cursor the whole list: the entry may have moved down.
    if let (ListOrder::Printed(option), None, Some(limit)) = (list.order, &cursor, page.limit) {
        let place = args
            .iter()
            .position(|arg| arg == "--")
            .unwrap_or(args.len());
        let one_more = u64::from(limit) + 1;
        args.insert(place, format!("{option}={one_more}"));
    }
    let output = command_output::collect(runner, args).await?;
    let mut whole: Value = serde_json::from_slice(&output)
        .map_err(|error| HttpProblem::internal(format!("the list cannot be read: {error}")))?;
    if let ListOrder::Newest(time) = list.order
        && let Some(entries) = whole.get_mut(list.entries).and_then(Value::as_array_mut)
    {
        entries.sort_by(|one, other| other[time].as_str().cmp(&one[time].as_str()));
    }
    cut_page(&mut whole, list.entries, cursor.as_ref(), page.limit)?;
    Ok(([(header::CONTENT_TYPE, kind)], whole.to_string()).into_response())
}

/// Keeps the entries of one page.
fn cut_page(
    whole: &mut Value,
    name: &str,
    cursor: Option<&ListCursor>,
    limit: Option<u32>,
) -> Result<(), HttpProblem> {
    let Some(entries) = whole.get_mut(name).and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let start = match cursor {
        None => 0,
        Some(cursor) => place_behind(entries, cursor).ok_or_else(|| {
            let detail = "the entry of the cursor is not in the list any more";
            HttpProblem::new(StatusCode::GONE, detail).with_hint("read the list from its beginning")
        })?,
    };
    let mut page = entries.split_off(start.min(entries.len()));
    let limit = limit.map_or(usize::MAX, |limit| limit.max(1) as usize);
    let has_more = page.len() > limit;
    page.truncate(limit);
    let next = page.last().filter(|_| has_more);
    let next = next.map(|last| format!("{}.{}", start + page.len(), entry_id(last)));
    *entries = page;
    if let (Some(next), Some(whole)) = (next, whole.as_object_mut()) {
        whole.insert("nextCursor".to_owned(), next.into());
    }
    Ok(())
}

/// The place behind the entry of a cursor: where it was, or further down.
fn place_behind(entries: &[Value], cursor: &ListCursor) -> Option<usize> {
    let is_it = |entry: &Value| entry_id(entry) == cursor.id;
    let before = cursor.offset.checked_sub(1)?;
    let behind = entries.iter().skip(before).position(is_it);
    let anywhere = || entries.iter().position(is_it);
    Some(behind.map(|place| before + place).or_else(anywhere)? + 1)
}

fn entry_id(entry: &Value) -> &str {
    let id = entry.get("id").or_else(|| entry.get("sessionId"));
    id.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(ids: &[u32]) -> Value {
        let entries: Vec<_> = ids
            .iter()
            .map(|id| json!({"id": format!("r{id}")}))
            .collect();
        json!({"runs": entries})
    }

    fn page(ids: &[u32], cursor: Option<&str>, limit: u32) -> Result<Value, HttpProblem> {
        let cursor = cursor.map(|text| ListCursor::parse(text).unwrap());
        let mut whole = list(ids);
        cut_page(&mut whole, "runs", cursor.as_ref(), Some(limit))?;
        Ok(whole)
    }

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let mut expected = list(&[9, 8]);
        expected["nextCursor"] = "2.r8".into();
        assert_eq!(page(&[9, 8, 7, 6], None, 2).unwrap(), expected);
        assert_eq!(page(&[9, 8, 7, 6], Some("2.r8"), 2).unwrap(), list(&[7, 6]));
    }

    #[test]
    fn entries_that_came_or_went_since_move_the_cursor() {
        let added = page(&[11, 10, 9, 8, 7], Some("2.r8"), 2).unwrap();
        assert_eq!(added, list(&[7]));
        let removed = page(&[8, 7], Some("2.r8"), 2).unwrap();
        assert_eq!(removed, list(&[7]));
        assert!(page(&[9, 7], Some("2.r8"), 2).is_err(), "it is gone");
    }

    #[test]
    fn a_text_that_is_no_cursor_is_none() {
        for text in ["", "x", "-1.r", "99999999999999999999.r"] {
            assert_eq!(ListCursor::parse(text), None, "{text}");
        }
    }
}
