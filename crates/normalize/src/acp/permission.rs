//! The agent asks whether it may.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{PermissionOption, PermissionRequest, ToolKind};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::results::PermissionAsked;
use lapidary_wire::acp::tool_call::listed;

use super::AcpNormalizer;
use super::line::{AcpLine, LineExtras, derived_mark};
use super::requests::RequestedAction;
use super::tracked_call::{CallStage, TrackedCall};
use crate::{EventBuffer, own};

/// The method that asks for permission.
pub(super) const PERMISSION: &str = "session/request_permission";

/// Arguments longer than this, in bytes, are in the request and not repeated in the decision.
pub(super) const LONGEST_ARGUMENT: usize = 64 * 1024;

/// Content longer than this, in bytes, is in the request and not repeated in the decision.
const LONGEST_CONTENT: usize = 256 * 1024;

impl AcpNormalizer {
    /// A permission request. Its call may be new, or have more known fields than the request.
    pub(super) fn request_permission(
        &mut self,
        wish: &mut RequestedAction,
        params: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(params) = params.and_then(|params| params.if_kind(TokenKind::Object)) else {
            return current.complain_of_missing("session/request_permission.params", params);
        };
        let asked = PermissionAsked::from_token(params);
        let call = asked
            .call
            .tool_call_id
            .and_then(|_| self.update_call(&asked.call, CallStage::Asked, current, out));
        let is_nameless = call.is_none();
        let call = call.unwrap_or_else(|| TrackedCall::from_nameless_patch(&asked.call));
        let content = call.content_blocks(current);
        let tool_input = wish.take_call(&call, &content);
        wish.options = listed(asked.options)
            .into_iter()
            .filter_map(permission_option)
            .collect();
        let mut extra: LineExtras = call.odd_input().into_iter().collect();
        extra.extend(wish.derived_extra());
        if let Some(options) = asked.options.filter(|options| has_more(*options)) {
            extra.push(("acp.options", current.shared_json(options)));
        }
        if is_nameless {
            extra.extend(call.hidden_call_extras());
        }
        let request = wish.permission_request(tool_input, content);
        self.emit_event(
            Body::PermissionRequest(Box::new(request)),
            extra,
            current,
            out,
        );
    }
}

impl RequestedAction {
    /// Takes the fields of the call that the agent asks about. Returns all its arguments: long ones are not kept for the decision.
    fn take_call(&mut self, call: &TrackedCall, content: &[ContentBlock]) -> Json {
        if call.has_inferred_kind() {
            self.derived.push("toolKind");
        }
        let given = call.call_arguments();
        let tool_input = match derived_input(call, &given, content) {
            Some(derived) => {
                self.derived.push("toolInput");
                derived
            }
            None => given,
        };
        self.tool_name = call.tool_name();
        self.tool_kind = match call.tool_kind() {
            ToolKind::Other(_) => ToolKind::Unclassified,
            kind => kind,
        };
        self.tool_use_id = Some(call.id.clone()).filter(|id| !id.is_empty());
        self.title.clone_from(&call.title);
        self.command = command_line(&self.tool_kind, &tool_input);
        self.input = without_long(&tool_input);
        if content_size(content) <= LONGEST_CONTENT {
            self.content = content.to_vec();
        }
        tool_input
    }

    /// The request as an event, with all arguments and content.
    fn permission_request(
        &self,
        tool_input: Json,
        content: Vec<ContentBlock>,
    ) -> PermissionRequest {
        PermissionRequest {
            request_id: self.request_id.clone(),
            tool_name: self.tool_name.clone(),
            tool_kind: self.tool_kind.clone(),
            tool_input,
            tool_use_id: self.tool_use_id.clone(),
            title: self.title.clone(),
            command: self.command.clone(),
            content,
            options: self.options.clone(),
            reason: None,
            blocked_path: None,
            suggestions: Vec::new(),
        }
    }

    /// Says which fields are not the agent's own, if there are any.
    pub(super) fn derived_extra(&self) -> Option<(&'static str, Json)> {
        (!self.derived.is_empty()).then(|| derived_mark(&self.derived))
    }
}

/// Arguments that the agent does not send. Gemini CLI (0.61) sends none over ACP: the title of a command is the command, and the
/// diff of a new or changed file has the file's name and, for `write_file`, its new content.
fn derived_input(call: &TrackedCall, given: &Json, content: &[ContentBlock]) -> Option<Json> {
    if given.as_str() != "{}" || call.odd_input().is_some() {
        return None;
    }
    if call.tool_kind() == ToolKind::Execute {
        let command = call.title.as_ref().filter(|title| !title.is_empty())?;
        return Some(Json::object([("command", Json::from(command))]));
    }
    let mut diffs = content.iter().filter_map(|block| match block {
        ContentBlock::Diff(diff) => Some(diff),
        _ => None,
    });
    let diff = diffs.next().filter(|_| diffs.next().is_none())?;
    let path = ("file_path", Json::from(diff.path.as_ref()?));
    let is_write = call.tool_name() == *"write_file";
    let written = diff.new_text.as_ref().filter(|_| is_write);
    let written = written.map(|text| ("content", Json::from(text)));
    Some(Json::object([path].into_iter().chain(written)))
}

/// The command line of a call that runs one.
fn command_line(kind: &ToolKind, input: &Json) -> Option<Text> {
    if *kind != ToolKind::Execute {
        return None;
    }
    let command = ["command", "cmd", "script"]
        .iter()
        .find_map(|name| input.token().get(name))?;
    match command.kind() {
        TokenKind::Array => {
            let words = command.elements().filter_map(Token::string);
            Some(Text::from(words.collect::<Vec<_>>().join(" ")))
        }
        TokenKind::String => {
            super::terminals::command_line(input).or_else(|| Some(own::owned_text(command)))
        }
        _ => None,
    }
}

fn permission_option(option: Token<'_>) -> Option<PermissionOption> {
    let word = |name| own::string_token(option.get(name)).map(own::owned_text);
    Some(PermissionOption {
        id: word("optionId")?,
        name: word("name").unwrap_or_default(),
        kind: word("kind").unwrap_or_default(),
    })
}

/// Whether options say more than their typed form does.
fn has_more(options: Token<'_>) -> bool {
    let is_known = |key: Token<'_>| ["optionId", "name", "kind"].iter().any(|it| key.is(it));
    let mut options = options.elements();
    options.any(|option| {
        self::permission_option(option).is_none() || option.members().any(|(key, _)| !is_known(key))
    })
}

/// Arguments without long members, which the request has.
fn without_long(input: &Json) -> Json {
    if input.as_str().len() <= LONGEST_ARGUMENT {
        return input.clone();
    }
    let members: Vec<_> = input
        .token()
        .members()
        .filter(|(_, value)| value.as_str().len() <= LONGEST_ARGUMENT / 4)
        .take(64)
        .map(|(key, value)| {
            let key = key.string().unwrap_or_default().into_owned();
            (key, own::owned_json(value))
        })
        .collect();
    let members = members
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    Json::object(members)
}

/// About how many bytes these blocks hold.
pub(super) fn content_size(content: &[ContentBlock]) -> usize {
    let size = |block: &ContentBlock| match block {
        ContentBlock::Diff(diff) => {
            let texts = [&diff.path, &diff.old_text, &diff.new_text, &diff.unified];
            texts.into_iter().flatten().map(Text::size).sum()
        }
        ContentBlock::Text(text) => text.text.size(),
        // Other content is rare here, and counts as far as it fits.
        _ => LONGEST_CONTENT / 16,
    };
    content.iter().map(size).sum()
}
