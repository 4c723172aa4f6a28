//! The conversation of one client: its requests become commands of the run, the run's events become messages to the client.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use lapidary::engine::run::Subscription;
use lapidary::vocab::event::{CommandResult, RunEnd};
use lapidary::{Body, Event};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::sleep_until;

use super::client_message::{
    ClientMessage, INTERNAL_ERROR, INVALID_REQUEST, REFUSED, error_answer, result_answer,
};
use super::client_requests::{command_for, initialize_result};
use super::link::{ClientLink, ClientMessages, CloseCode, MessageQueue};
use super::open_prompts::{OpenPrompts, REQUEST_PERMISSION};
use crate::access_log::AccessLog;
use crate::command_bounds::check_bounds;
use crate::live_run::LiveRun;
use crate::run_request::SessionDirectory;

/// The code of an agent that wants its user to log in.
const LOGIN_REQUIRED: i64 = -32000;

/// One client and its run.
pub(super) struct AcpBridge<'a> {
    place: BridgePlace<'a>,
    run: &'a Arc<LiveRun>,
    directory: SessionDirectory,
    /// Commands that were sent, by their ids.
    sent: HashMap<String, SentCommand>,
    prompts: OpenPrompts,
    hello: Hello,
    /// Whether the client takes forms and pages.
    takes_elicitations: bool,
}

/// Where a client is served.
#[derive(Debug, Clone, Copy)]
pub(super) struct BridgePlace<'a> {
    /// Sessions are opened here or below.
    pub(super) root: &'a Path,
    /// The log of the server. A client that has started us has none: the recording has all that it asked for.
    pub(super) access_log: Option<&'a AccessLog>,
}

impl BridgePlace<'_> {
    fn note(self, path: &str, status: u16) {
        if let Some(log) = self.access_log {
            log.add("ACP", path, status);
        }
    }
}

/// The purpose of a command.
#[derive(Debug)]
enum SentCommand {
    /// The client waits for its result.
    Request(Box<RawValue>),
    /// An answer to the agent, and another one in case that it is refused.
    Reply(Option<Map<String, Value>>),
}

/// `initialize` is answered when both sides have answered.
#[derive(Debug, Default)]
struct Hello {
    /// The client's request, until it is answered.
    request: Option<Box<RawValue>>,
    /// The agent's answer.
    answer: Option<Value>,
    is_done: bool,
}

impl<'a> AcpBridge<'a> {
    pub(super) fn new(
        place: BridgePlace<'a>,
        run: &'a Arc<LiveRun>,
        directory: SessionDirectory,
    ) -> Self {
        Self {
            place,
            run,
            directory,
            sent: HashMap::new(),
            prompts: OpenPrompts::default(),
            hello: Hello::default(),
            takes_elicitations: false,
        }
    }

    /// Serves the client until it hangs up, or the run ends.
    pub(super) async fn serve(&mut self, link: impl ClientLink) {
        let Ok(events) = self.run.subscriber.subscribe(0) else {
            return;
        };
        let link = link.open();
        let exchange = self.exchange(link.messages, link.queue, events);
        link.tasks.run_with(exchange).await;
    }

    /// Lets the run end: at once if the client left in the middle of a request.
    ///
    /// The requests without an answer decide, not the commands of the run without a result: [`LiveRun`] notes a result in a task of its
    /// own, which may be later than the client's answer and the end of the connection.
    pub(super) fn leave_run(&self) {
        if self.has_unanswered() {
            self.run.stop();
        }
        self.run.close();
    }

    /// Whether the client waits for an answer.
    fn has_unanswered(&self) -> bool {
        let mut sent = self.sent.values();
        self.hello.request.is_some() || sent.any(|sent| matches!(sent, SentCommand::Request(_)))
    }

    async fn exchange(
        &mut self,
        mut messages: ClientMessages,
        frames: MessageQueue,
        mut events: Subscription,
    ) {
        loop {
            let due = self.prompts.next_due();
            // All branches can be cancelled.
            let answers = tokio::select! {
                message = messages.recv() => match message {
                    Some(text) => self.take_message(&text),
                    None => break,
                },
                event = events.next() => if let Some(Ok(event)) = event {
                    if let Body::RunEnd(end) = &event.body {
                        return self.end_run(end, &frames).await;
                    }
                    self.take_event(&event)
                } else {
                    let reason = "the events of the run cannot be read";
                    return frames.close(CloseCode::Failed, reason).await;
                },
                () = wait_until(due) => self.prompts.take_due(),
            };
            for answer in answers {
                if !frames.send_text(&answer).await {
                    return;
                }
            }
        }
    }

    /// The run is over: requests that still wait are answered with the reason.
    async fn end_run(&mut self, end: &RunEnd, frames: &MessageQueue) {
        let reason = end_reason(end);
        let hello = self.hello.request.take();
        let waiting = self.sent.drain().filter_map(|(_, sent)| match sent {
            SentCommand::Request(id) => Some(id),
            SentCommand::Reply(_) => None,
        });
        for id in hello.into_iter().chain(waiting) {
            frames
                .send_text(&error_answer(&id, INTERNAL_ERROR, &reason))
                .await;
        }
        let is_good = end.outcome.to_string() == "completed";
        let code = if is_good {
            CloseCode::Normal
        } else {
            CloseCode::Failed
        };
        frames.close(code, &reason).await;
    }

    /// Handles a message of the client. Returns the answers that can be given at once.
    fn take_message(&mut self, text: &str) -> Vec<String> {
        match ClientMessage::read(text) {
            Err(answer) => vec![answer],
            Ok(ClientMessage::Request { id, method, params }) if method == "initialize" => {
                self.take_hello(id, &params)
            }
            Ok(ClientMessage::Request { id, method, params }) => {
                match self.send_request(&method, &params, Some(&id)) {
                    Ok(()) => Vec::new(),
                    Err((code, message)) => vec![error_answer(&id, code, &message)],
                }
            }
            Ok(ClientMessage::Notification { method, params }) => {
                if method == "session/cancel" {
                    let _ = self.send_request(&method, &params, None); // a notification has no answer
                }
                Vec::new()
            }
            Ok(ClientMessage::Answer { id, result }) => {
                if let Some((command, otherwise)) = self.prompts.answer(&id, &result) {
                    self.send_reply(command, otherwise);
                }
                Vec::new()
            }
        }
    }

    fn take_hello(&mut self, id: Box<RawValue>, params: &Value) -> Vec<String> {
        if self.hello.is_done || self.hello.request.is_some() {
            return vec![error_answer(
                &id,
                INVALID_REQUEST,
                "this connection is initialized",
            )];
        }
        let capabilities = &params["clientCapabilities"];
        self.takes_elicitations = capabilities["elicitation"].is_object();
        self.hello.request = Some(id);
        self.answer_hello()
    }

    fn answer_hello(&mut self) -> Vec<String> {
        let Some(answer) = &self.hello.answer else {
            return Vec::new();
        };
        let Some(id) = self.hello.request.take() else {
            return Vec::new();
        };
        self.hello.is_done = true;
        vec![result_answer(&id, &answer.to_string())]
    }

    /// Sends the command for a request of the client.
    fn send_request(
        &mut self,
        method: &str,
        params: &Value,
        id: Option<&RawValue>,
    ) -> Result<(), (i64, String)> {
        if !self.hello.is_done {
            let message = "the first request has to be `initialize`";
            return Err((INVALID_REQUEST, message.to_owned()));
        }
        let command = command_for(method, params, self.directory)?;
        let checked = check_bounds(&command, self.run, self.place.root);
        let status = if checked.is_ok() { 200 } else { 403 };
        let path = format!("/acp {} {method}", self.run.id);
        self.place.note(&path, status);
        checked.map_err(|problem| (REFUSED, problem.to_sentence()))?;
        let purpose = match id {
            Some(id) => SentCommand::Request(id.to_owned()),
            None => SentCommand::Reply(None),
        };
        let is_sent = self.send_command(command, purpose);
        is_sent.ok_or_else(|| (INTERNAL_ERROR, "the agent has ended".to_owned()))
    }

    fn send_reply(&mut self, command: Map<String, Value>, otherwise: Option<Map<String, Value>>) {
        let path = format!("/acp {} answer", self.run.id);
        self.place.note(&path, 200);
        let _ = self.send_command(command, SentCommand::Reply(otherwise)); // a run that ends needs no answer
    }

    /// Sends a command. None if the run takes no more.
    fn send_command(
        &mut self,
        mut command: Map<String, Value>,
        purpose: SentCommand,
    ) -> Option<()> {
        let id = json!(self.run.fresh_command_id());
        let text = id.to_string();
        command.insert("id".to_owned(), id);
        let line = Value::Object(command).to_string();
        // The result is taken from the recording, behind the updates that come before it.
        drop(self.run.send_command(&line, &text).ok()?);
        self.sent.insert(text, purpose);
        Some(())
    }

    /// Handles an event of the run. Returns the messages for the client.
    fn take_event(&mut self, event: &Event) -> Vec<String> {
        let mut messages = Vec::new();
        let raw = event.base.raw.as_ref();
        let line = raw.map(|raw| raw.token());
        let method = line.and_then(|line| line.get("method")?.string());
        if let (Some(raw), Some("session/update" | "elicitation/complete")) =
            (raw, method.as_deref())
        {
            messages.push(raw.as_str().to_owned());
        }
        match &event.body {
            Body::Diagnostic(_) if self.hello.answer.is_none() => {
                let result = line.and_then(|line| line.get("result"));
                let result = result.filter(|result| result.get("protocolVersion").is_some());
                self.hello.answer = result.map(|result| initialize_result(result.as_str()));
                messages.extend(self.answer_hello());
            }
            Body::PermissionRequest(request) => {
                let own = line.filter(|_| method.as_deref() == Some(REQUEST_PERMISSION));
                let own =
                    own.and_then(|line| serde_json::from_str(line.get("params")?.as_str()).ok());
                let session = event.base.session_id.as_ref();
                let session = session.map(ToString::to_string).unwrap_or_default();
                self.prompts.add_permission(request, &session, own);
            }
            Body::PermissionDecision(decision) => {
                messages.extend(self.prompts.close(&decision.request_id.to_str()));
            }
            Body::ElicitationRequest(request) if self.takes_elicitations => {
                let params = line.and_then(|line| line.get("params"));
                let params = params.and_then(|params| serde_json::from_str(params.as_str()).ok());
                self.prompts
                    .add_elicitation(request, params.unwrap_or_default());
            }
            Body::ElicitationRequest(request) => {
                let declined = json!({"command": "elicitation_response", "requestId": request.request_id, "action": "decline"});
                let declined = declined.as_object().cloned().unwrap_or_default();
                self.send_reply(declined, None);
            }
            Body::ElicitationResult(result) => {
                messages.extend(self.prompts.close(&result.request_id.to_str()));
            }
            Body::CommandResult(result) => messages.extend(self.take_result(result)),
            _ => {}
        }
        messages
    }

    /// The answer to the client's request that a result belongs to.
    fn take_result(&mut self, result: &CommandResult) -> Option<String> {
        let id = result.command_id.as_ref()?.as_str();
        match self.sent.remove(id)? {
            SentCommand::Reply(Some(otherwise)) if result.is_error => {
                self.send_reply(otherwise, None);
                None
            }
            SentCommand::Reply(_) => None,
            SentCommand::Request(id) if result.is_error => {
                let message = result.message.as_ref().map(ToString::to_string);
                let message = message.unwrap_or_default();
                Some(error_answer(&id, error_code(&message), &message))
            }
            SentCommand::Request(id) => {
                let answer = result
                    .result
                    .as_ref()
                    .map_or("{}", |result| result.as_str());
                Some(result_answer(&id, answer))
            }
        }
    }
}

/// The agent's own code stands behind its message, as in `Authentication required (-32000)`.
fn error_code(message: &str) -> i64 {
    let code = message
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('));
    let code = code.and_then(|(_, code)| code.parse().ok());
    code.filter(|code| *code == LOGIN_REQUIRED)
        .unwrap_or(INTERNAL_ERROR)
}

/// The end of a run in one sentence.
fn end_reason(end: &RunEnd) -> String {
    let mut reason = format!("the run ended: {} ({})", end.outcome, end.cause);
    if let Some(evidence) = end.evidence.first() {
        let _ = write!(reason, ": {evidence}"); // writing to a text does not fail
    }
    if let Some(hint) = &end.hint {
        let _ = write!(reason, "; hint: {hint}");
    }
    reason
}

async fn wait_until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
