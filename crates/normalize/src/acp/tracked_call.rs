//! The known fields of a tool call, and the events that they make.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::{ContentBlock, DiffBlock};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::tool_call::{AcpToolCall, listed};

use super::content;
use super::line::{AcpLine, LineExtras, derived_mark};
use super::subagents::parent_in;
use crate::completions::CallSummary;
use crate::gemini::session_log::{self, LoggedCall};
use crate::{own, tools};

/// Where agents put the file of a location: the protocol's name, then others.
const PLACES: [&str; 5] = ["path", "uri", "filePath", "file_path", "file"];

/// The known fields of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TrackedCall {
    pub(super) id: Text,
    pub(super) session: Option<Text>,
    /// The call in which a sub-agent makes it.
    parent: Option<Text>,
    pub(super) name: Option<Text>,
    pub(super) title: Option<Text>,
    /// The first title, if it is the name of a tool.
    first_title: Option<Text>,
    pub(super) kind: Option<Text>,
    input: Option<Json>,
    locations: Vec<Json>,
    pub(super) content: Vec<Json>,
    output: Option<Json>,
    pub(super) status: Option<Text>,
    meta: Option<Json>,
    /// The status says that it is over.
    pub(super) is_over: bool,
    /// It has ended once; later statuses do not reopen it.
    has_ended: bool,
    /// Fields from Gemini CLI's session log.
    logged: Option<LoggedDetails>,
    /// The output of its terminal, once it is over.
    pub(super) printed: String,
}

/// The fields that a session log added to a call.
#[derive(Debug, Clone, PartialEq)]
struct LoggedDetails {
    call: LoggedCall,
    /// The arguments of the call are the log's.
    has_input: bool,
}

/// Which message of an agent names a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    /// The first message about it.
    Announced,
    /// A later message with more fields.
    Updated,
    /// A permission request.
    Asked,
}

impl TrackedCall {
    /// A call of which only the id is known.
    pub(super) fn new(id: Token<'_>, session: Option<&Text>) -> Self {
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

    /// Fields that hooks and rules need, and that no field of an event has.
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
    pub(super) fn apply_patch(&mut self, patch: &AcpToolCall<'_>) {
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
    pub(super) fn add_logged_fields(&mut self, logged: LoggedCall) {
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
    pub(super) fn final_status(&self) -> Option<ToolCallStatus> {
        match self.status.as_ref()?.to_str().as_ref() {
            "completed" => Some(ToolCallStatus::Completed),
            "failed" => Some(ToolCallStatus::Failed),
            "cancelled" | "canceled" => Some(ToolCallStatus::Cancelled),
            _ => None,
        }
    }

    /// The same as far as an invocation tells.
    pub(super) fn is_invoked_as(&self, other: &Self) -> bool {
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
    pub(super) fn is_another(
        &self,
        ended: &Self,
        patch: &AcpToolCall<'_>,
        moment: CallStage,
    ) -> bool {
        let begins = moment != CallStage::Updated || !self.is_over;
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

    /// The kind by the agent's own word, else by the tool's name.
    pub(super) fn tool_kind(&self) -> ToolKind {
        self.stated_kind()
            .unwrap_or_else(|| tools::kind_of_any_agent(&self.tool_name().to_str()))
    }

    /// True if the agent names no kind, and the tool's name has one.
    pub(super) fn has_inferred_kind(&self) -> bool {
        self.stated_kind().is_none() && self.tool_kind() != ToolKind::Unclassified
    }

    /// The kind that the agent names. A word that is unknown here says that it is none of the known ones.
    fn stated_kind(&self) -> Option<ToolKind> {
        let word = self.kind.as_ref().map(Text::to_str).unwrap_or_default();
        match tools::kind_of_word(&word) {
            ToolKind::Other(word) if !word.is_empty() => Some(ToolKind::Unclassified),
            ToolKind::Other(_) | ToolKind::Unclassified => None,
            known => Some(known),
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

    pub(super) fn memory_size(&self) -> usize {
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

    pub(super) fn invocation_body(&self) -> (Body, LineExtras) {
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
        if self.has_inferred_kind() {
            extra.push(derived_mark(&["kind"]));
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

    pub(super) fn completion_body(
        &self,
        status: ToolCallStatus,
        current: &AcpLine<'_>,
    ) -> (Body, LineExtras) {
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
        let (output, is_logged) = self.call_output(&blocks, is_special);
        let logged = self.logged.as_ref().map(|logged| &logged.call);
        let response = logged.and_then(|logged| logged.response);
        extra.extend(response.map(|it| (session_log::RESPONSE, Json::from_value(&it))));
        let mut derived = Vec::new();
        if let Some(diff) = logged.and_then(|logged| logged.diff.as_ref()) {
            add_diff(&mut blocks, diff);
            derived.push("content");
        }
        if is_logged {
            derived.push("output");
        }
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

    /// The output: the agent's own, else that of the session log, else content that is no text. True if it is the log's.
    fn call_output(&self, blocks: &[ContentBlock], is_special: bool) -> (Option<Json>, bool) {
        let own = self.output.clone().or_else(|| match blocks {
            [] => self.answer_in_meta(),
            _ if is_special => None,
            blocks => output_text(blocks),
        });
        let logged = self.logged.as_ref();
        let in_log = logged.and_then(|logged| logged.call.output.clone());
        match (own, in_log) {
            (None, Some(in_log)) => (Some(in_log), true),
            (None, None) if is_special => {
                let output = match self.content.as_slice() {
                    [single] => single.clone(),
                    several => Json::array(several.to_vec()),
                };
                (Some(output), false)
            }
            (own, _) => (own, false),
        }
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

/// An absent value keeps the known one.
fn update_known<T>(known: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *known = new;
    }
}

fn is_object(value: &Json) -> bool {
    value.token().kind() == TokenKind::Object
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
