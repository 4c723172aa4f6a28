//! The agent's answers, each to its request.

use lapidary_json::Token;
use lapidary_vocab::event::{ConfigOptions, DiagnosticKind, SessionState};
use lapidary_vocab::{Body, Text};
use lapidary_wire::acp::envelope::RpcId;
use lapidary_wire::acp::results::{InitializeResult, PromptResult, SessionOpened};

use super::line::AcpLine;
use super::requests::{self, PendingRequest};
use super::{AcpNormalizer, LineDirection, turn};
use crate::excerpt::shortened_name;
use crate::verdict::INITIALIZE_REFUSED;
use crate::{EventBuffer, own};

impl AcpNormalizer {
    pub(super) fn take_answer(
        &mut self,
        id: RpcId<'_>,
        result: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let key = requests::request_key(LineDirection::FromClient, id);
        let Some(asked) = self.take_request(&key, id, guess_method(result), current) else {
            return;
        };
        let decides = self.decides_outcome(&key);
        current.about = format!("the agent answers `{}`", asked.method);
        self.stamp.session_id = asked.session.clone().or(self.stamp.session_id.take());
        match asked.method.as_str() {
            "initialize" => self.note_handshake(&InitializeResult::from_token(result)),
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.end_message(out);
                self.emit_session_start(&SessionOpened::from_token(result), asked, current, out);
            }
            // The next protocol only acknowledges a prompt here, and says later that the turn is over.
            "session/prompt"
                if self.handshake.is_of_drafts && result.get("stopReason").is_none() => {}
            "session/prompt" => {
                self.end_message(out);
                let logged = self
                    .logged
                    .take_turn(self.stamp.session_id.as_ref(), &id.shown());
                let prompted = PromptResult::from_token(result);
                self.end_turn(&prompted, logged.as_ref(), decides, current, out);
            }
            "session/set_mode" => {
                if let Some(mode) = asked.detail {
                    self.emit_mode(mode, current, out);
                }
            }
            "session/set_config_option" => {
                if let Some(list) = result.get("configOptions") {
                    let config_options = current.list_elements(Some(list));
                    let body = Body::ConfigOptions(ConfigOptions { config_options });
                    self.emit_event(body, Vec::new(), current, out);
                }
            }
            _ => {}
        }
    }

    pub(super) fn take_refusal(
        &mut self,
        id: RpcId<'_>,
        error: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let key = requests::request_key(LineDirection::FromClient, id);
        // Where only the agent is seen, a refusal after a session has begun is most likely that of a prompt.
        let guess = match &self.stamp.session_id {
            Some(_) => "session/prompt",
            None => "initialize",
        };
        let Some(asked) = self.take_request(&key, id, guess, current) else {
            return;
        };
        let decides = self.decides_outcome(&key);
        self.stamp.session_id = asked.session.clone().or(self.stamp.session_id.take());
        match asked.method.as_str() {
            "session/prompt" => {
                self.end_message(out);
                self.fail_turn(error, decides, current, out);
            }
            "initialize" | "authenticate" | "session/new" | "session/load" | "session/resume" => {
                self.sessions
                    .session_mut(self.stamp.session_id.as_ref())
                    .is_replaying = false;
                let message = self.say_error(error, current, out);
                // Without a prompt this is all that the run comes to.
                if self.last_prompt.is_none() {
                    let mut reported = turn::agent_report(error, &message);
                    if asked.method == "initialize" {
                        let name = reported.error_type.take();
                        let name = name.unwrap_or_else(|| INITIALIZE_REFUSED.to_owned());
                        reported.error_type = Some(name);
                    }
                    self.verdict.result(reported);
                }
            }
            _ => {
                let message = Some(turn::error_text(error, current));
                self.emit_session_state(SessionState::Error, message, current, out);
            }
        }
    }

    /// The request of an answer. Where the client's side is not seen, the answer's form decides.
    fn take_request(
        &mut self,
        key: &str,
        id: RpcId<'_>,
        guess: &str,
        current: &mut AcpLine<'_>,
    ) -> Option<PendingRequest> {
        let asked = self.client_requests.close_id(key);
        if asked.is_none() && self.sees_client {
            let id = id.shown();
            let message = format!(
                "an answer to `{}`, a request that was not sent",
                shortened_name(&id)
            );
            current.add_complaint(DiagnosticKind::ProtocolViolation, message);
            return None;
        }
        Some(asked.unwrap_or_else(|| PendingRequest {
            method: guess.to_owned(),
            session: None,
            detail: None,
            servers: Vec::new(),
            wish: None,
        }))
    }

    /// Only the newest prompt decides how the run ended.
    fn decides_outcome(&self, key: &str) -> bool {
        !self.sees_client || self.last_prompt.as_deref() == Some(key)
    }

    /// The session is in another mode.
    pub(super) fn emit_mode(
        &mut self,
        mode: Text,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        let available_modes = session.modes.clone();
        let body = Body::SessionMode(lapidary_vocab::event::SessionMode {
            current_mode_id: mode,
            available_modes,
        });
        self.emit_event(body, Vec::new(), current, out);
    }
}

/// The method that an answer of this shape belongs to.
fn guess_method(result: Token<'_>) -> &'static str {
    let has = |name| result.get(name).is_some();
    if has("stopReason") {
        "session/prompt"
    } else if has("protocolVersion") {
        "initialize"
    } else if own::string_token(result.get("sessionId")).is_some() {
        "session/new"
    } else if has("modes") || has("models") {
        "session/load"
    } else if has("configOptions") {
        "session/set_config_option"
    } else {
        "a request"
    }
}
