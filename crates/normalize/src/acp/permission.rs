//! The agent asks whether it may.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{PermissionOption, PermissionRequest, ToolKind};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::results::PermissionAsked;
use lapidary_wire::acp::tool_call::listed;

use super::AcpNormalizer;
use super::calls::{CallStage, TrackedCall};
use super::line::AcpLine;
use super::requests::RequestedAction;
use crate::{EventBuffer, own};

/// The method that asks for permission.
pub(super) const PERMISSION: &str = "session/request_permission";

/// Arguments longer than this, in bytes, are in the request and not repeated in the decision.
pub(super) const LONGEST_ARGUMENT: usize = 64 * 1024;

/// Content longer than this, in bytes, is in the request and not repeated in the decision.
const LONGEST_CONTENT: usize = 256 * 1024;

impl AcpNormalizer {
    /// A permission request. The call in it may be heard of for the first time, or be known better than it says.
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
        let nameless = call.is_none();
        let call = call.unwrap_or_else(|| TrackedCall::from_nameless_patch(&asked.call));
        let content = call.content_blocks(current);
        let given = call.call_arguments();
        let derived = derived_input(&call, &given, &content);
        wish.is_derived = derived.is_some();
        let tool_input = derived.unwrap_or(given);
        wish.tool_name = call.tool_name();
        wish.tool_kind = match call.tool_kind() {
            ToolKind::Other(_) => ToolKind::Unclassified,
            kind => kind,
        };
        wish.tool_use_id = Some(call.id.clone()).filter(|id| !id.is_empty());
        wish.title.clone_from(&call.title);
        wish.command = command_line(&wish.tool_kind, &tool_input);
        wish.options = listed(asked.options)
            .into_iter()
            .filter_map(permission_option)
            .collect();
        wish.input = without_long(&tool_input);
        if content_size(&content) <= LONGEST_CONTENT {
            wish.content.clone_from(&content);
        }
        let body = Body::PermissionRequest(Box::new(PermissionRequest {
            request_id: wish.request_id.clone(),
            tool_name: wish.tool_name.clone(),
            tool_kind: wish.tool_kind.clone(),
            tool_input,
            tool_use_id: wish.tool_use_id.clone(),
            title: wish.title.clone(),
            command: wish.command.clone(),
            content,
            options: wish.options.clone(),
            reason: None,
            blocked_path: None,
            suggestions: Vec::new(),
        }));
        let mut extra = call.odd_input().into_iter().collect::<Vec<_>>();
        extra.extend(wish.is_derived.then(self::derived_input_mark));
        if let Some(options) = asked.options.filter(|options| has_more(*options)) {
            extra.push(("acp.options", current.shared_json(options)));
        }
        if nameless {
            extra.extend(call.hidden_call_extras());
        }
        self.emit_event(body, extra, current, out);
    }
}

/// Says that the arguments are not the agent's own.
pub(super) fn derived_input_mark() -> (&'static str, Json) {
    ("lapidary.derived", Json::from_value(&["toolInput"]))
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
