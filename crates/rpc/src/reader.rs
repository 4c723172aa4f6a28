//! Reading the agent's output. Reading ends with the output and for no other reason.

use std::ops::Range;
use std::sync::Arc;

use lapidary_vocab::{Json, Text};
use lapidary_wire::lines::{self, LineBuffer};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::oneshot;

use super::classify;
use super::error::{ConnectionError, RequestError, RpcError};
use super::message::{
    LineNoise, MessageContent, ReceivedLine, ReceivedMessage, RequestAnswer, RequestId,
};
use super::outgoing;
use super::shared_connection::{RawRequest, RequestResult, SharedConnection};
use super::truncated::{TruncatedEnvelope, last_id};

/// How many bytes are read at once: half of a full pipe. The lines of a read take several times as much memory until the observer
/// has taken them.
const READ_BYTES: usize = 32 << 10;

/// A read of so many bytes has a backlog behind it.
const MANY_BYTES: usize = READ_BYTES / 4;

/// Reads until there is nothing more to read.
pub(super) async fn read_messages(mut from: impl AsyncRead + Unpin, shared: Arc<SharedConnection>) {
    let mut lines = LineBuffer::with_limit(shared.limits.line).reading(READ_BYTES);
    loop {
        let room = lines.room();
        let count = match from.read(room).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        if let Err(error) = shared.log.record_bytes(&room[..count]) {
            shared.close_with_reason(&error);
        }
        lines.filled(count);
        loop {
            let start = lines.taken();
            let Some(end) = lines.next_end() else {
                break;
            };
            if let Some(line) = lines.next_line() {
                take_line(line, start..end, &shared);
            }
        }
        shared.log.caught_up();
        if count >= MANY_BYTES {
            // The observer takes these lines before more are read: an agent that writes a lot at once is not held in memory twice.
            tokio::task::yield_now().await;
        }
    }
    let start = lines.taken();
    if let Some(line) = lines.last_line() {
        take_line(line, start..u64::MAX, &shared);
    }
}

/// Takes a line, with its place in the agent's output.
fn take_line(line: lines::RawLine<'_>, place: Range<u64>, shared: &Arc<SharedConnection>) {
    let id_at_end = last_id(line);
    let ReceivedMessage { line, what } = classify::classify_line(line);
    match &what {
        MessageContent::Answer { id, outcome, .. } => {
            let (id, outcome) = (id.clone(), outcome.clone());
            take_answer(line, place, (id, outcome), shared);
        }
        MessageContent::Request { id, method, params } => {
            let asking = RawRequest {
                number: 0,
                facts: None,
                id: id.clone(),
                method: method.clone(),
                params: params.clone(),
                bytes: line.bytes().len(),
            };
            let (number, facts) = shared
                .log
                .add_received(ReceivedMessage { line, what }, place);
            shared.take_request(RawRequest {
                number,
                facts,
                ..asking
            });
        }
        MessageContent::Notification { method, params } => {
            let cancelled = cancelled_request(method, params.as_ref());
            shared
                .log
                .add_received(ReceivedMessage { line, what }, place);
            if let Some(id) = cancelled {
                shared.cancel_request(&id);
            }
        }
        MessageContent::Noise(LineNoise::TooLong(length)) => {
            let (length, truncated) = (*length, TruncatedEnvelope::parse(line.text(), id_at_end));
            let (number, _) = shared
                .log
                .add_received(ReceivedMessage { line, what }, place);
            too_long(truncated, length, number, shared);
        }
        MessageContent::Noise(_) => {
            shared
                .log
                .add_received(ReceivedMessage { line, what }, place);
        }
    }
}

/// A line over the limit is not read: the side that waits for it gets an error. If neither its beginning nor its end shows
/// which side waits, the connection ends, because the agent, or we, would wait for ever.
fn too_long(
    truncated: TruncatedEnvelope,
    length: u64,
    number: u64,
    shared: &Arc<SharedConnection>,
) {
    let limit = shared.limits.line;
    let refusal = |code| {
        let message = format!("the message has {length} bytes, and at most {limit} are read");
        RpcError::new(code, message)
    };
    match truncated {
        TruncatedEnvelope::Request(id) => {
            let refusal = refusal(RpcError::BAD_REQUEST);
            let _ = shared.send_line(outgoing::answer_line(&id, Err(&refusal)));
        }
        TruncatedEnvelope::Answer(id) => {
            if let (_, Some(waiting)) = shared.take_awaited(&id) {
                answer_sender(waiting, id, number, Err(refusal(RpcError::INTERNAL)));
            }
        }
        TruncatedEnvelope::Method(method) if !shared.has_handler(&Text::from(method.clone())) => {}
        TruncatedEnvelope::Method(_) | TruncatedEnvelope::Message => {
            shared.close_with_reason(&ConnectionError::TooLong { length, limit });
        }
        TruncatedEnvelope::Noise => {}
    }
}

/// The caller gets the answer after the log has it, so that the observer finds it there.
fn take_answer(
    line: ReceivedLine,
    place: Range<u64>,
    (id, outcome): (RequestId, Result<Json, RpcError>),
    shared: &SharedConnection,
) {
    let (asked, waiting) = shared.take_awaited(&id);
    let what = MessageContent::Answer {
        id: id.clone(),
        outcome: outcome.clone(),
        asked,
    };
    let (number, _) = shared
        .log
        .add_received(ReceivedMessage { line, what }, place);
    if let Some(waiting) = waiting {
        answer_sender(waiting, id, number, outcome);
    }
}

fn answer_sender(
    waiting: oneshot::Sender<RequestResult>,
    id: RequestId,
    number: u64,
    outcome: Result<Json, RpcError>,
) {
    let told = match outcome {
        Ok(result) => Ok(RequestAnswer { id, number, result }),
        Err(refusal) => Err(RequestError::Refused(RpcError {
            number: Some(number),
            ..refusal
        })),
    };
    let _ = waiting.send(told); // it may have been given up just now
}

/// The request that the other side does not want answered any more, in the words of ACP or of MCP.
fn cancelled_request(method: &Text, params: Option<&Json>) -> Option<RequestId> {
    if *method != *"$/cancel_request" && *method != *"notifications/cancelled" {
        return None;
    }
    RequestId::read_id(params?.token().get("requestId")?)
}
