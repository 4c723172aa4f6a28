//! Requests of the agent that the client has to answer: permissions and elicitations.
//!
//! A permission request that a rule decides has its decision right behind it. So the client is asked only if none comes for a moment;
//! if it comes later, from the page or because the turn was cancelled, the client's request is cancelled.

use std::collections::BTreeMap;
use std::time::Duration;

use lapidary::vocab::event::{ElicitationRequest, PermissionRequest};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

/// The command for an answer, and another one in case that it is refused.
type AnswerCommands = (Map<String, Value>, Option<Map<String, Value>>);

/// How long a rule has to decide before the client is asked.
const DECISION_TIME: Duration = Duration::from_millis(100);

/// The agent's own method, as its line has it.
pub(super) const REQUEST_PERMISSION: &str = "session/request_permission";

/// Requests that wait for the client, or for the moment to ask it.
#[derive(Debug, Default)]
pub(super) struct OpenPrompts {
    prompts: BTreeMap<u64, ClientPrompt>,
    next: u64,
}

#[derive(Debug)]
struct ClientPrompt {
    request_id: String,
    kind: PromptKind,
    /// The request for the client.
    method: &'static str,
    params: Value,
    /// When the client is asked; none once it was.
    due: Option<Instant>,
}

#[derive(Debug)]
enum PromptKind {
    /// The kinds of the agent's options, by their ids. Empty where Lapidary asks by itself.
    Permission(BTreeMap<String, String>),
    Elicitation,
}

impl OpenPrompts {
    /// A permission request, with the parameters of the agent's own line if it has one.
    pub(super) fn add_permission(
        &mut self,
        request: &PermissionRequest,
        session: &str,
        own: Option<Value>,
    ) {
        // By the options that the client is shown, and not by those of the event.
        let shown = own.as_ref().and_then(|own| own["options"].as_array());
        let text =
            |option: &Value, name: &str| option[name].as_str().unwrap_or_default().to_owned();
        let kinds = shown.into_iter().flatten();
        let kinds = kinds.map(|option| (text(option, "optionId"), text(option, "kind")));
        let kinds: BTreeMap<_, _> = kinds.collect();
        let params = own.unwrap_or_else(|| own_params(request, session));
        self.add(ClientPrompt {
            request_id: request.request_id.to_string(),
            kind: PromptKind::Permission(kinds),
            method: REQUEST_PERMISSION,
            params,
            due: Some(Instant::now() + DECISION_TIME),
        });
    }

    /// An elicitation. No rule decides it: the client is asked at once.
    pub(super) fn add_elicitation(&mut self, request: &ElicitationRequest, params: Value) {
        self.add(ClientPrompt {
            request_id: request.request_id.to_string(),
            kind: PromptKind::Elicitation,
            method: "elicitation/create",
            params,
            due: Some(Instant::now()),
        });
    }

    fn add(&mut self, prompt: ClientPrompt) {
        self.prompts.insert(self.next, prompt);
        self.next += 1;
    }

    /// When the next request has to be sent.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.prompts.values().filter_map(|prompt| prompt.due).min()
    }

    /// The messages that are due.
    pub(super) fn take_due(&mut self) -> Vec<String> {
        let now = Instant::now();
        let mut messages = Vec::new();
        for (number, prompt) in &mut self.prompts {
            if prompt.due.take_if(|due| *due <= now).is_some() {
                let (method, params) = (prompt.method, &prompt.params);
                let message =
                    json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
                messages.push(message.to_string());
            }
        }
        messages
    }

    /// A request is decided or withdrawn. Returns the message that cancels it, if the client was asked.
    pub(super) fn close(&mut self, request_id: &str) -> Option<String> {
        let is_it = |prompt: &ClientPrompt| prompt.request_id == request_id;
        let number = self.prompts.iter().find(|(_, prompt)| is_it(prompt));
        let number = *number?.0;
        let prompt = self.prompts.remove(&number)?;
        let message = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": number}});
        prompt.due.is_none().then(|| message.to_string())
    }

    /// The commands for the client's answer: the first, and one for the case that it is refused. None if no request has this id.
    pub(super) fn answer(
        &mut self,
        id: &Value,
        result: &Result<Value, Value>,
    ) -> Option<AnswerCommands> {
        let number = id.as_u64()?;
        let prompt = self.prompts.remove(&number)?;
        let request_id = &prompt.request_id;
        match &prompt.kind {
            PromptKind::Permission(kinds) => Some(permission_commands(request_id, kinds, result)),
            PromptKind::Elicitation => Some((elicitation_command(request_id, result), None)),
        }
    }
}

/// A request that the agent did not make: Lapidary asks for a file or a terminal.
fn own_params(request: &PermissionRequest, session: &str) -> Value {
    let title = request.title.as_ref().unwrap_or(&request.tool_name);
    let call = request.tool_use_id.as_ref().unwrap_or(&request.request_id);
    json!({
        "sessionId": session,
        "toolCall": {"toolCallId": call, "title": title, "kind": request.tool_kind, "rawInput": request.tool_input},
        "options": [
            {"optionId": ALLOW, "name": "Allow", "kind": "allow_once"},
            {"optionId": REJECT, "name": "Reject", "kind": "reject_once"},
        ],
    })
}

const ALLOW: &str = "allow_once";
const REJECT: &str = "reject_once";

/// `allow_always` of the client is `forRun`: the agent's own would outlast the run, and no rule of ours would see the calls that it
/// lets through. Where the action is not exactly known, that is refused, and the answer is for this request only.
fn permission_commands(
    request_id: &str,
    kinds: &BTreeMap<String, String>,
    result: &Result<Value, Value>,
) -> (Map<String, Value>, Option<Map<String, Value>>) {
    let option = result
        .as_ref()
        .ok()
        .and_then(|it| it["outcome"]["optionId"].as_str());
    let own = (kinds.is_empty() && option == Some(ALLOW)).then_some("allow_once");
    let kind = option.and_then(|option| kinds.get(option).map(String::as_str).or(own));
    let reply = |fields: Value| {
        let mut command = json!({"command": "permission_response", "requestId": request_id});
        if let (Value::Object(command), Value::Object(fields)) = (&mut command, fields) {
            command.extend(fields);
        }
        command.as_object().cloned().unwrap_or_default()
    };
    match (kind, option) {
        (Some("allow_always"), _) => {
            let once = reply(json!({"allowed": true}));
            (reply(json!({"allowed": true, "forRun": true})), Some(once))
        }
        (Some("allow_once"), Some(option)) if own.is_none() => {
            let chosen = json!({"allowed": true, "updatedInput": {"optionId": option}});
            (reply(chosen), None)
        }
        (Some("allow_once"), _) => (reply(json!({"allowed": true})), None),
        (Some(_), Some(option)) => {
            let chosen = json!({"allowed": false, "updatedInput": {"optionId": option}});
            (reply(chosen), Some(reply(json!({"allowed": false}))))
        }
        _ => {
            let why = match result {
                Ok(_) => "the client cancelled the request",
                Err(_) => "the client answered with an error",
            };
            (reply(json!({"allowed": false, "message": why})), None)
        }
    }
}

fn elicitation_command(request_id: &str, result: &Result<Value, Value>) -> Map<String, Value> {
    let action = result.as_ref().ok().and_then(|it| it["action"].as_str());
    let mut command = json!({
        "command": "elicitation_response",
        "requestId": request_id,
        "action": action.unwrap_or("cancel"),
    });
    if let Some(content) = result.as_ref().ok().and_then(|it| it.get("content")) {
        command["content"] = content.clone();
    }
    command.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(option: &str) -> (Value, Option<Value>) {
        let kinds = [
            ("y", "allow_once"),
            ("a", "allow_always"),
            ("n", "reject_once"),
        ];
        let kinds = kinds
            .map(|(id, kind)| (id.to_owned(), kind.to_owned()))
            .into();
        let result = Ok(json!({"outcome": {"outcome": "selected", "optionId": option}}));
        let (first, second) = permission_commands("7", &kinds, &result);
        (first.into(), second.map(Value::from))
    }

    #[test]
    fn the_clients_choice_becomes_an_answer_that_outlasts_no_run() {
        let common = json!({"command": "permission_response", "requestId": "7"});
        let with = |fields: Value| {
            let mut whole = common.clone();
            whole
                .as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            whole
        };
        let once = with(json!({"allowed": true, "updatedInput": {"optionId": "y"}}));
        assert_eq!(chosen("y"), (once, None));
        let plain = with(json!({"allowed": true}));
        let for_run = with(json!({"allowed": true, "forRun": true}));
        assert_eq!(chosen("a"), (for_run, Some(plain)));
        assert_eq!(chosen("n").0["allowed"], false);
        let unknown =
            with(json!({"allowed": false, "message": "the client cancelled the request"}));
        assert_eq!(chosen("other"), (unknown, None));
    }

    #[test]
    fn an_error_of_the_client_is_a_denial() {
        let (first, _) = permission_commands("7", &BTreeMap::new(), &Err(json!({"code": 1})));
        assert_eq!(first["allowed"], false);
        let allowed = Ok(json!({"outcome": {"outcome": "selected", "optionId": ALLOW}}));
        let (own, _) = permission_commands("7", &BTreeMap::new(), &allowed);
        assert_eq!(own["allowed"], true);
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_is_asked_only_if_no_rule_decides() {
        let text = json!({"requestId": "0", "toolName": "t", "toolKind": "edit", "toolInput": {}});
        let request: PermissionRequest = serde_json::from_value(text).unwrap();
        let mut prompts = OpenPrompts::default();
        prompts.add_permission(&request, "s", None);
        assert!(prompts.take_due().is_empty());
        assert_eq!(prompts.close("0"), None, "a rule decided");
        prompts.add_permission(&request, "s", None);
        tokio::time::advance(DECISION_TIME).await;
        let asked = prompts.take_due();
        assert!(asked[0].contains("\"method\":\"session/request_permission\""));
        assert!(prompts.close("0").unwrap().contains("$/cancel_request"));
        assert!(prompts.answer(&json!(1), &Ok(json!({}))).is_none());
    }
}
