//! Tool calls: every message about a call is a patch of its known fields.
//!
//! A call may first be mentioned in a permission request, in an update, or when it is over already. Each message with new fields
//! becomes an event; a message without any does not.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::{ContentBlock, DiffBlock};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::tool_call::{AcpToolCall, listed};

use super::line::{AcpLine, LineExtras};
use super::subagents::parent_in;
use super::{AcpNormalizer, content};
use crate::completions::CallSummary;
use crate::gemini::session_log::{self, LoggedCall};
use crate::{EventBuffer, own, tools};

/// Where agents put the file of a location: the protocol's name, then others.
const PLACES: [&str; 5] = ["path", "uri", "filePath", "file_path", "file"];

/// How many pieces of content that come one by one are kept until the call is over.
const MOST_CHUNKS: usize = 1024;

/// How many bytes of a terminal's output are kept until the call is over. The rest is in the lines only.
const MOST_PRINTED: usize = 1 << 20;

/// The known fields of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TrackedCall {
    pub(super) id: Text,
    session: Option<Text>,
    /// The call in which a sub-agent makes it.
    parent: Option<Text>,
    name: Option<Text>,
    pub(super) title: Option<Text>,
    /// The first title, if it is the name of a tool.
    first_title: Option<Text>,
    pub(super) kind: Option<Text>,
    input: Option<Json>,
    locations: Vec<Json>,
    content: Vec<Json>,
    output: Option<Json>,
    status: Option<Text>,
    meta: Option<Json>,
    /// The status says that it is over.
    is_over: bool,
    /// It has ended once; later statuses do not reopen it.
    has_ended: bool,
    /// What Gemini CLI's session log has of it.
    logged: Option<LoggedDetails>,
    /// The output of its terminal, once it is over.
    printed: String,
}

/// The fields that a session log added to a call.
#[derive(Debug, Clone, PartialEq)]
struct LoggedDetails {
    call: LoggedCall,
    /// The arguments of the call are the log's.
    has_input: bool,
}

/// When a call is heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    /// The agent begins to tell of it.
    Announced,
    /// The agent tells more of it.
    Told,
    /// The agent asks whether it may.
    Asked,
}

impl TrackedCall {
    /// A call of which only the id is known.
    fn new(id: Token<'_>, session: Option<&Text>) -> Self {
        Self {
            id: own::owned_text(id),
            session: session.cloned(),
            ..Self::default()
        }
    }

    /// The fields of a message that does not name its call.
    pub(super) fn from_nameless_patch(patch: &AcpToolCall<'_>) -> Self {
        let mut call = Self::default();
        call.apply_patch(patch);
        call
    }

    /// The content that the agent shows for the call.
    pub(super) fn content_blocks(&self, current: &AcpLine<'_>) -> Vec<ContentBlock> {
        let items = self.content.iter().map(Json::token);
        items
            .map(|item| content::content_block(item, current))
            .collect()
    }

    /// What hooks and rules have to know of a call that is told of nowhere else.
    pub(super) fn hidden_call_extras(&self) -> LineExtras {
        let mut extra = LineExtras::new();
        if !self.content.is_empty() {
            extra.push(("acp.toolContent", Json::array(self.content.clone())));
        }
        if !self.locations.is_empty() {
            extra.push(("acp.locations", Json::array(self.locations.clone())));
        }
        extra
    }

    /// Adds the fields of a message.
    fn apply_patch(&mut self, patch: &AcpToolCall<'_>) {
        let name = own::string_token(patch.name).or_else(|| name_in(patch.meta?));
        let copy = |token| own::string_token(token).map(own::owned_text);
        // The first mention counts: later ones may be titles, or unrelated.
        if self.name.is_none() {
            self.name = name.map(own::owned_text);
        }
        let is_first_title = self.title.is_none();
        update_known(&mut self.title, copy(patch.title));
        let is_tool =
            |title: &&Text| tools::kind_of_any_agent(&title.to_str()) != ToolKind::Unclassified;
        if is_first_title {
            self.first_title = self.title.as_ref().filter(is_tool).cloned();
        }
        update_known(&mut self.kind, copy(patch.kind));
        update_known(&mut self.status, copy(patch.status));
        update_known(&mut self.output, patch.raw_output.map(own::owned_json));
        update_known(&mut self.parent, patch.meta.and_then(parent_in));
        update_known(&mut self.meta, patch.meta.map(own::owned_json));
        // Agents announce a call with an empty object, and some go back to it when they ask for permission.
        let is_rich =
            |input: &Token<'_>| input.as_str() != "{}" && input.members().next().is_some();
        if let Some(input) = patch.raw_input
            && (self.input.is_none() || is_rich(&input) || input.kind() != TokenKind::Object)
        {
            self.input = Some(own::owned_json(input));
        }
        if patch.locations.is_some() {
            self.locations = listed(patch.locations)
                .into_iter()
                .map(own::owned_json)
                .collect();
        }
        if patch.content.is_some() {
            self.content = listed(patch.content)
                .into_iter()
                .map(own::owned_json)
                .collect();
        }
        self.is_over = self.final_status().is_some();
        self.has_ended |= self.is_over;
    }

    /// Adds the fields of the session log. Fields that the agent has sent itself stay.
    fn add_logged_fields(&mut self, logged: LoggedCall) {
        let is_known = self.input.as_ref().is_some_and(|it| it.as_str() != "{}");
        let has_input = !is_known && logged.input.is_some();
        if has_input {
            self.input.clone_from(&logged.input);
        }
        self.logged = Some(LoggedDetails {
            call: logged,
            has_input,
        });
    }

    /// How it ended, if it did. An unknown status is progress.
    fn final_status(&self) -> Option<ToolCallStatus> {
        match self.status.as_ref()?.to_str().as_ref() {
            "completed" => Some(ToolCallStatus::Completed),
            "failed" => Some(ToolCallStatus::Failed),
            "cancelled" | "canceled" => Some(ToolCallStatus::Cancelled),
            _ => None,
        }
    }

    /// The same as far as an invocation tells.
    fn is_invoked_as(&self, other: &Self) -> bool {
        (
            &self.name,
            &self.title,
            &self.kind,
            &self.input,
            &self.locations,
        ) == (
            &other.name,
            &other.title,
            &other.kind,
            &other.input,
            &other.locations,
        )
    }

    /// Whether a message is about a new call under the id of an ended one: it says that a call begins, and which. `self` is the
    /// ended call with the message's fields.
    fn is_another(&self, ended: &Self, patch: &AcpToolCall<'_>, moment: CallStage) -> bool {
        let begins = moment != CallStage::Told || !self.is_over;
        let shows_more =
            || self.content != ended.content && !Self::from_nameless_patch(patch).is_over;
        ended.has_ended && begins && (!self.is_invoked_as(ended) || shows_more())
    }

    /// The tool's name: the agent's word for it, else what Gemini makes its ids of, else the sort of tool. A title is none, but for the
    /// first one where it is the name of a tool: always for opencode, for other agents if the tool is known.
    pub(super) fn tool_name(&self) -> Text {
        let id = self.id.to_str();
        let in_id = id
            .split_once("__")
            .filter(|(name, rest)| !name.is_empty() && rest.starts_with(name))
            .map(|(name, _)| Text::from(name.to_owned()));
        let names = [
            self.name.as_ref(),
            in_id.as_ref(),
            self.first_title.as_ref(),
            self.kind.as_ref(),
        ];
        let known = names.into_iter().flatten().find(|name| !name.is_empty());
        known.cloned().unwrap_or_else(|| Text::from("tool"))
    }

    /// The agent's own word decides; only where it is none the name may tell more.
    pub(super) fn tool_kind(&self) -> ToolKind {
        let word = self.kind.as_ref().map(Text::to_str).unwrap_or_default();
        match tools::kind_of_word(&word) {
            ToolKind::Other(word) if !word.is_empty() => ToolKind::Unclassified,
            ToolKind::Other(_) | ToolKind::Unclassified => {
                tools::kind_of_any_agent(&self.tool_name().to_str())
            }
            known => known,
        }
    }

    /// The arguments, which are an object.
    pub(super) fn call_arguments(&self) -> Json {
        let object = self.input.clone().filter(is_object);
        object.unwrap_or_else(Json::empty_object)
    }

    /// Arguments that are no object.
    pub(super) fn odd_input(&self) -> Option<(&'static str, Json)> {
        let odd = self.input.as_ref().filter(|input| !is_object(input));
        odd.map(|input| ("acp.rawInput", input.clone()))
    }

    fn location_paths(&self) -> Vec<Text> {
        let path = |place: &Json| {
            if place.token().kind() == TokenKind::String {
                return Some(place.to_text());
            }
            let mut names = PLACES.iter();
            names.find_map(|name| own::string_token(place.token().get(name)).map(own::owned_text))
        };
        self.locations.iter().filter_map(path).collect()
    }

    fn memory_size(&self) -> usize {
        let texts = [&self.name, &self.title, &self.kind, &self.session];
        let values = [&self.input, &self.output, &self.meta];
        let lists = self.locations.iter().chain(&self.content);
        texts.into_iter().flatten().map(Text::size).sum::<usize>()
            + values
                .into_iter()
                .flatten()
                .chain(lists)
                .map(|it| it.as_str().len())
                .sum::<usize>()
            + self.printed.len()
    }

    fn invocation_body(&self) -> (Body, LineExtras) {
        let mut extra = Vec::new();
        let word = self
            .kind
            .as_ref()
            .filter(|kind| !ToolKind::KNOWN.contains(&kind.to_str().as_ref()));
        extra.extend(word.map(|kind| ("acp.kind", Json::from(kind))));
        extra.extend(
            self.status
                .as_ref()
                .map(|status| ("acp.status", Json::from(status))),
        );
        extra.extend(self.odd_input());
        if !self.content.is_empty() && !self.is_over {
            extra.push(("acp.toolContent", Json::array(self.content.clone())));
        }
        extra.extend(self.line_numbers());
        extra.extend(self.meta.clone().map(|meta| ("acp.meta", meta)));
        if self.logged.as_ref().is_some_and(|logged| logged.has_input) {
            extra.push((session_log::DERIVED, Json::from_value(&["input"])));
        }
        let body = Body::ToolInvocation(Box::new(ToolInvocation {
            call_id: self.id.clone(),
            tool_name: self.tool_name(),
            kind: self.tool_kind(),
            input: self.call_arguments(),
            parent_call_id: self.parent.clone(),
            title: self.title.clone(),
            locations: self.location_paths(),
            model: None,
        }));
        (body, extra)
    }

    fn completion_body(&self, status: ToolCallStatus, current: &AcpLine<'_>) -> (Body, LineExtras) {
        let mut extra = Vec::new();
        let items = || self.content.iter().map(Json::token);
        let is_special = items().any(content::is_special);
        if is_special {
            extra.push(("acp.toolContent", Json::array(self.content.clone())));
        }
        extra.extend(self.line_numbers());
        extra.extend(self.meta.clone().map(|meta| ("acp.meta", meta)));
        let mut blocks: Vec<_> = items()
            .map(|item| content::content_block(item, current))
            .collect();
        let own = self.output.clone().or_else(|| match blocks.as_slice() {
            [] => self.answer_in_meta(),
            _ if is_special => None,
            blocks => output_text(blocks),
        });
        let logged = self.logged.as_ref().map(|logged| &logged.call);
        let in_log = logged.and_then(|logged| logged.output.clone());
        let response = logged.and_then(|logged| logged.response);
        extra.extend(response.map(|it| (session_log::RESPONSE, Json::from_value(&it))));
        let mut derived = Vec::new();
        if let Some(diff) = logged.and_then(|logged| logged.diff.as_ref()) {
            add_diff(&mut blocks, diff);
            derived.push("content");
        }
        let output = match (own, in_log) {
            (None, Some(in_log)) => {
                derived.push("output");
                Some(in_log)
            }
            (None, None) if is_special => Some(match self.content.as_slice() {
                [single] => single.clone(),
                several => Json::array(several.to_vec()),
            }),
            (own, _) => own,
        };
        if !derived.is_empty() {
            extra.push((session_log::DERIVED, Json::from_value(&derived)));
        }
        let mut completion = ToolCompletion {
            parent_call_id: self.parent.clone(),
            call_id: self.id.clone(),
            is_error: status != ToolCallStatus::Completed,
            status,
            output,
            content: blocks,
            locations: self.location_paths(),
            command: None,
            command_output: None,
            mutation: None,
        };
        let input = self.input.as_ref().map(Json::token);
        let (tool, kind) = (self.tool_name(), self.tool_kind());
        CallSummary::new(&tool, &kind, input, &completion.locations)
            .add_derived_fields(&mut completion);
        if completion.command_output.is_none() && !self.printed.is_empty() {
            completion.command_output = Some(Text::from(self.printed.clone()));
        }
        (Body::ToolCompletion(Box::new(completion)), extra)
    }

    /// Lines of files, which our paths do not have.
    fn line_numbers(&self) -> Option<(&'static str, Json)> {
        let find_line = |place: &Json| place.token().get("line").is_some_and(|it| !it.is_null());
        let any = self.locations.iter().any(find_line);
        any.then(|| ("acp.locations", Json::array(self.locations.clone())))
    }

    /// Claude answers here before it answers.
    fn answer_in_meta(&self) -> Option<Json> {
        let meta = self.meta.as_ref()?.token();
        let answer = meta
            .get("claudeCode")
            .and_then(|claude| claude.get("toolResponse"));
        answer
            .or_else(|| meta.get("terminal_output"))
            .map(own::owned_json)
    }
}

impl AcpNormalizer {
    /// Adds a message's fields to its call, and emits the new ones. `None` if it does not name a call.
    ///
    /// A call with a permission request is not over, even if its last status says so: all its fields are emitted again. But agents reuse
    /// ids, and no field of an ended call applies to the next: a permission prompt for `rm` would otherwise show the `ls` before
    /// it.
    pub(super) fn update_call(
        &mut self,
        patch: &AcpToolCall<'_>,
        moment: CallStage,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) -> Option<TrackedCall> {
        let announces_name =
            moment == CallStage::Announced && self.stamp.provider.as_str() == "opencode";
        let Some(id) = own::string_token(patch.tool_call_id) else {
            current.complain_of_missing("toolCallId", patch.tool_call_id);
            return None;
        };
        let session = self.stamp.session_id.clone();
        let key = call_key(session.as_ref(), id);
        let mut before = self.calls.close_id(&key);
        let fresh = || TrackedCall::new(id, session.as_ref());
        let mut call = before.clone().unwrap_or_else(fresh);
        call.apply_patch(patch);
        if before
            .as_ref()
            .is_some_and(|ended| call.is_another(ended, patch, moment))
        {
            (call, before) = (fresh(), None);
            call.apply_patch(patch);
        }
        if announces_name && before.is_none() && call.name.is_none() {
            call.name.clone_from(&call.title);
        }
        if moment == CallStage::Asked && call.is_over {
            (call.status, call.is_over, before) = (None, false, None);
        }
        if let Some(chunk) = patch.meta.and_then(printed_chunk) {
            self.add_printed(&key, &chunk);
        }
        if call.is_over
            && let Some(printed) = self.printed.close_id(&key)
        {
            call.printed = printed;
        }
        if call.is_over
            && let Some(logged) = self.logged.take_call(session.as_ref(), &call.id)
        {
            call.add_logged_fields(logged);
        }
        self.tell_call(before.as_ref(), &call, patch.is_nested, current, out);
        self.calls.open(&key, call.clone(), call.memory_size());
        Some(call)
    }

    /// Adds to the output of a terminal, as Codex's adapter (2.6) tells it. Kept apart from the call, which is compared and copied.
    fn add_printed(&mut self, key: &str, chunk: &str) {
        let mut printed = self.printed.close_id(key).unwrap_or_default();
        let room = MOST_PRINTED.saturating_sub(printed.len());
        printed.push_str(&chunk[..chunk.floor_char_boundary(room)]);
        let size = printed.len();
        self.printed.open(key, printed, size);
    }

    /// A piece of a call's content: told alone, and again with the rest when the call is over.
    pub(super) fn content_chunk(
        &mut self,
        id: Option<Token<'_>>,
        item: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let (Some(token), Some(item)) = (own::string_token(id), item) else {
            return current.complain_of_missing("toolCallId", id);
        };
        let session = self.stamp.session_id.clone();
        let key = call_key(session.as_ref(), token);
        let call = self.calls.close_id(&key);
        let mut call = call.unwrap_or_else(|| TrackedCall::new(token, session.as_ref()));
        let (body, mut extra) = call.invocation_body();
        extra.retain(|(key, _)| *key != "acp.toolContent");
        extra.push(("acp.toolContentChunk", current.shared_json(item)));
        self.emit_event(body, extra, current, out);
        if call.content.len() < MOST_CHUNKS {
            call.content.push(own::owned_json(item));
        }
        let size = call.memory_size();
        self.calls.open(&key, call, size);
    }

    fn tell_call(
        &mut self,
        before: Option<&TrackedCall>,
        call: &TrackedCall,
        is_nested: bool,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        if before == Some(call) {
            return;
        }
        let is_new = before.is_none_or(|before| !before.is_invoked_as(call));
        if is_new || !call.is_over {
            let (body, mut extra) = call.invocation_body();
            if is_nested && current.about.contains("tool_call") {
                extra.push(("acp.nonStandardShape", Json::from_value(&true)));
            }
            self.emit_event(body, extra, current, out);
        }
        if let Some(status) = call.final_status() {
            let (body, mut extra) = call.completion_body(status, current);
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            if session.is_cancelled {
                extra.push(("acp.afterCancel", Json::from_value(&true)));
            }
            self.emit_event(body, extra, current, out);
        }
    }

    /// The turn was cancelled: calls that never got an end have it now.
    pub(super) fn give_up_calls(&mut self, current: &mut AcpLine<'_>, out: &mut EventBuffer) {
        let session = self.stamp.session_id.clone();
        let is_open = |call: &TrackedCall| !call.is_over && call.session == session;
        for call in self.calls.close_all(is_open) {
            let (body, mut extra) = call.completion_body(ToolCallStatus::Cancelled, current);
            extra.push(("acp.afterCancel", Json::from_value(&true)));
            self.emit_event(body, extra, current, out);
        }
    }
}

/// The same for each spelling of an id: the key must agree with the ids in events.
fn call_key(session: Option<&Text>, id: Token<'_>) -> String {
    let session = session.map(Text::to_str).unwrap_or_default();
    let id = id.string().unwrap_or_default();
    format!("{} {session} {id}", session.len())
}

/// An absent value keeps the known one.
fn update_known<T>(known: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *known = new;
    }
}

fn is_object(value: &Json) -> bool {
    value.token().kind() == TokenKind::Object
}

/// A piece of a terminal's output.
fn printed_chunk(meta: Token<'_>) -> Option<std::borrow::Cow<'_, str>> {
    let chunk = meta.get("terminal_output_delta")?.get("data");
    own::string_token(chunk).and_then(Token::string)
}

/// The tool's name where agents hide it.
fn name_in(meta: Token<'_>) -> Option<Token<'_>> {
    let claude = meta
        .get("claudeCode")
        .and_then(|claude| claude.get("toolName"));
    own::string_token(claude.or_else(|| meta.get("toolName")))
}

/// Adds a diff of the session log: as the unified form of the agent's own, else as a block.
fn add_diff(blocks: &mut Vec<ContentBlock>, logged: &DiffBlock) {
    let own = blocks.iter_mut().find_map(|block| match block {
        ContentBlock::Diff(own) if own.path == logged.path => Some(own),
        _ => None,
    });
    match own {
        Some(own) => own.unified.clone_from(&logged.unified),
        None => blocks.push(ContentBlock::Diff(logged.clone())),
    }
}

/// The texts of a tool's content, as its output.
fn output_text(blocks: &[ContentBlock]) -> Option<Json> {
    let mut parts = Vec::new();
    for block in blocks {
        if let ContentBlock::Text(block) = block {
            if !parts.is_empty() {
                parts.push(Text::from("\n"));
            }
            parts.push(block.text.clone());
        }
    }
    (!parts.is_empty()).then(|| Json::from(&Text::concat(&parts)))
}
