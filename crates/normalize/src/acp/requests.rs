//! Requests under way, and sessions.

use lapidary_json::Token;
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{
    DiagnosticKind, PermissionOption, SessionState, SessionStatus, ToolKind, UserInput,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::envelope::RpcId;

use super::elicitation::ELICITATION;
use super::files::{self, READ, WRITE};
use super::line::AcpLine;
use super::permission::{self, PERMISSION};
use super::permission_result::RpcAnswer;
use super::terminals::{self, CREATE};
use super::updates::CompactionSummary;
use super::usage::StepUsage;
use super::{AcpNormalizer, LineDirection, content, is_known, session_of, shortened_agent_name};
use crate::verdict::AgentActivity;
use crate::{DeniedCalls, EventBuffer, OutcomeJudge, own};

/// How many sessions are distinguished. Real connections have one.
const MOST_SESSIONS: usize = 256;

/// How many MCP servers of a session are named.
const MOST_SERVERS: usize = 256;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) method: String,
    pub(super) session: Option<Text>,
    /// A parameter that the answer does not repeat: the folder of a session, the requested mode, the terminal, the file.
    pub(super) detail: Option<Text>,
    /// The names of the MCP servers that the client passes to a session.
    pub(super) servers: Vec<Json>,
    /// The action that an agent's request asks for.
    pub(super) wish: Option<RequestedAction>,
}

/// The action that an agent asks for.
#[derive(Debug)]
pub(super) struct RequestedAction {
    pub(super) request_id: Text,
    pub(super) tool_use_id: Option<Text>,
    /// The tool, or the method that was asked for.
    pub(super) tool_name: Text,
    pub(super) tool_kind: ToolKind,
    /// The arguments of the call, or the parameters of the method. Long ones are left out.
    pub(super) input: Json,
    /// The fields of the request that are not the agent's own.
    pub(super) derived: Vec<&'static str>,
    /// The agent's title for it.
    pub(super) title: Option<Text>,
    pub(super) command: Option<Text>,
    /// The shown content. Absent if it is long.
    pub(super) content: Vec<ContentBlock>,
    /// The answers that it offers.
    pub(super) options: Vec<PermissionOption>,
}

impl RequestedAction {
    /// The action of a request, as far as its method and parameters say.
    fn new(request_id: Text, method: &str, params: Option<Token<'_>>) -> Self {
        let (tool_kind, input) = match method {
            CREATE => (ToolKind::Execute, params.map(terminals::terminal_input)),
            WRITE => (ToolKind::Edit, params.map(files::file_input)),
            READ => (ToolKind::Read, params.map(files::file_input)),
            _ => (ToolKind::Unclassified, None),
        };
        let input = input.unwrap_or_else(Json::empty_object);
        Self {
            request_id,
            tool_use_id: None,
            tool_name: Text::from(method.to_owned()),
            tool_kind,
            command: terminals::command_line(&input).filter(|_| method == CREATE),
            input,
            derived: Vec::new(),
            title: None,
            content: Vec::new(),
            options: Vec::new(),
        }
    }

    fn memory_size(&self) -> usize {
        let options = self.options.iter();
        let options: usize = options
            .map(|it| it.id.size() + it.name.size() + it.kind.size())
            .sum();
        let texts = [
            Some(&self.request_id),
            Some(&self.tool_name),
            self.tool_use_id.as_ref(),
            self.title.as_ref(),
            self.command.as_ref(),
        ];
        let texts: usize = texts.into_iter().flatten().map(Text::size).sum();
        options + texts + self.input.as_str().len() + permission::content_size(&self.content)
    }
}

/// The known state of a session.
#[derive(Debug, Default)]
pub(super) struct SessionFacts {
    id: String,
    /// Prompts that are not answered yet.
    pub(super) prompts: usize,
    /// It was loaded, and the next prompt has not come: messages are history.
    pub(super) is_replaying: bool,
    /// The client cancelled, and the turn is not over yet.
    pub(super) is_cancelled: bool,
    /// The modes to choose from.
    pub(super) modes: Vec<Json>,
    /// Its cost so far.
    pub(super) cost: Option<Json>,
    /// Calls that were denied in this turn.
    pub(super) denials: DeniedCalls,
    /// Tokens that were counted step by step in this turn.
    pub(super) steps: StepUsage,
    /// The summary of the compaction under way.
    pub(super) summary: CompactionSummary,
}

/// The sessions of a connection, the newest last.
#[derive(Debug, Default)]
pub(super) struct KnownSessions(Vec<SessionFacts>);

impl KnownSessions {
    /// The session of that name, which is new if it was not named before.
    pub(super) fn session_mut(&mut self, id: Option<&Text>) -> &mut SessionFacts {
        let id = id.map(Text::to_str).unwrap_or_default();
        let known = self.0.iter().position(|session| session.id == id);
        let place = known.unwrap_or_else(|| {
            if self.0.len() >= MOST_SESSIONS {
                let is_idle = |session: &SessionFacts| session.prompts == 0;
                self.0.remove(self.0.iter().position(is_idle).unwrap_or(0));
            }
            self.0.push(SessionFacts {
                id: id.into_owned(),
                ..SessionFacts::default()
            });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

/// The names of MCP servers. All else is not repeated: there are keys and headers in it.
fn names_of(servers: Option<Token<'_>>) -> Vec<Json> {
    let servers = servers.into_iter().flat_map(Token::elements);
    let names = servers.filter_map(|server| own::string_token(server.get("name")));
    let names = names.take(MOST_SERVERS);
    names
        .map(|name| Json::object([("name", own::owned_json(name))]))
        .collect()
}

/// Either side counts its own ids, so the direction belongs to them.
pub(super) fn request_key(asking: LineDirection, id: RpcId<'_>) -> String {
    let side = match asking {
        LineDirection::FromAgent => 'a',
        LineDirection::FromClient => 'c',
    };
    format!("{side}{}", id.key())
}

impl AcpNormalizer {
    /// Remembers a request until it is answered.
    fn remember_request(&mut self, asking: LineDirection, id: RpcId<'_>, asked: PendingRequest) {
        let texts = [asked.session.as_ref(), asked.detail.as_ref()];
        let size = texts.into_iter().flatten().map(Text::size).sum::<usize>()
            + asked.method.len()
            + asked.wish.as_ref().map_or(0, RequestedAction::memory_size);
        let requests = match asking {
            LineDirection::FromAgent => &mut self.requests,
            LineDirection::FromClient => &mut self.client_requests,
        };
        requests.open(&request_key(asking, id), asked, size);
    }

    pub(super) fn agent_asks(
        &mut self,
        id: RpcId<'_>,
        method: Token<'_>,
        params: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        self.end_block(out);
        self.belongs_to(session_of(params));
        let name = shortened_agent_name(method);
        if name == "initialize" {
            self.verdict.note_echo();
        }
        self.verdict.note_activity(AgentActivity::Call);
        current.about = format!("the agent asks `{name}`");
        let field = |name| params.and_then(|params| params.get(name));
        let mut request_id = Text::from(id.shown().into_owned());
        if matches!(name.as_str(), PERMISSION | CREATE | WRITE | READ) {
            request_id = self.request_ids.unique_id(&request_id);
        }
        self.newest_request = Some(request_id.clone());
        let mut wish = RequestedAction::new(request_id, &name, params);
        let detail = match name.as_str() {
            PERMISSION => {
                self.request_permission(&mut wish, params, current, out);
                None
            }
            ELICITATION => {
                self.request_elicitation(&mut wish, params, current, out);
                None
            }
            CREATE => None,
            name if name.starts_with("terminal/") => field("terminalId"),
            name if name.starts_with("fs/") => {
                if self.shows_files {
                    self.file_asked(&wish.request_id, method, params, current, out);
                }
                field("path")
            }
            name if is_known(name) => None,
            name => {
                let message = format!("unknown method `{name}`");
                current.add_complaint(DiagnosticKind::UnknownType, message);
                None
            }
        };
        let asked = PendingRequest {
            method: name,
            session: own::string_token(session_of(params)).map(own::owned_text),
            detail: own::string_token(detail).map(own::owned_text),
            servers: Vec::new(),
            wish: Some(wish),
        };
        self.remember_request(LineDirection::FromAgent, id, asked);
    }

    pub(super) fn client_asks(
        &mut self,
        id: RpcId<'_>,
        method: Token<'_>,
        params: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        current.about = format!("the client asks `{}`", shortened_agent_name(method));
        let field = |name| params.and_then(|params| params.get(name));
        let detail = match method.string().as_deref() {
            Some("session/new" | "session/load" | "session/resume") => field("cwd"),
            Some("session/set_mode") => field("modeId"),
            _ => None,
        };
        let asked = PendingRequest {
            method: shortened_agent_name(method),
            session: own::string_token(session_of(params)).map(own::owned_text),
            detail: own::string_token(detail).map(own::owned_text),
            servers: names_of(field("mcpServers")),
            wish: None,
        };
        self.remember_request(LineDirection::FromClient, id, asked);
        match method.string().as_deref() {
            Some("session/prompt") => {
                self.end_message(out);
                self.belongs_to(session_of(params));
                self.begin_prompt(
                    request_key(LineDirection::FromClient, id),
                    field("prompt"),
                    current,
                    out,
                );
            }
            Some("_lapidary/steer") => {
                self.end_message(out);
                self.belongs_to(session_of(params));
                let words = own::string_token(field("text"));
                let input = UserInput {
                    text: words
                        .map(|words| current.shared_text(words))
                        .unwrap_or_default(),
                    ..UserInput::default()
                };
                self.emit_event(Body::UserInput(input), Vec::new(), current, out);
            }
            Some("session/load" | "session/resume") => {
                self.end_message(out);
                self.belongs_to(session_of(params));
                let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
                session.is_replaying = method.is("session/load");
                self.emit_session_state(SessionState::Resuming, None, current, out);
            }
            _ => {}
        }
    }

    fn begin_prompt(
        &mut self,
        key: String,
        prompt: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        // The last turn's report about its end no longer counts.
        self.verdict = OutcomeJudge::over_acp(&self.stamp.provider);
        self.verdict.note_prompt();
        self.last_turn = None;
        self.has_spoken = false;
        self.denials = DeniedCalls::default();
        self.last_prompt = Some(key);
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        session.prompts += 1;
        session.is_replaying = false;
        session.is_cancelled = false;
        session.steps = StepUsage::default();
        session.denials = DeniedCalls::default();
        let blocks: Vec<_> = prompt.into_iter().flat_map(Token::elements).collect();
        let is_plain = |block: &Token<'_>| content::block_text(*block).is_some();
        let extra = match prompt {
            Some(prompt) if !blocks.iter().all(is_plain) => {
                vec![("acp.prompt", current.shared_json(prompt))]
            }
            _ => Vec::new(),
        };
        let input = UserInput {
            text: content::joined_text(&blocks, current),
            images: blocks
                .iter()
                .filter_map(|it| content::image_block(*it))
                .collect(),
            is_synthetic: false,
        };
        self.emit_event(Body::UserInput(input), extra, current, out);
    }

    pub(super) fn note_cancellation(&mut self, current: &mut AcpLine<'_>, out: &mut EventBuffer) {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        session.is_cancelled = session.prompts > 0;
        self.emit_session_state(SessionState::Interrupted, None, current, out);
    }

    pub(super) fn emit_session_state(
        &mut self,
        status: SessionState,
        message: Option<Text>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let body = Body::SessionStatus(SessionStatus { status, message });
        self.emit_event(body, Vec::new(), current, out);
    }

    /// The client answers: it permits the action, refuses it, or could not do it.
    pub(super) fn client_answers(
        &mut self,
        id: RpcId<'_>,
        answer: RpcAnswer<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let does = if answer.is_ok() { "answers" } else { "refuses" };
        let Some(asked) = self
            .requests
            .close_id(&request_key(LineDirection::FromAgent, id))
        else {
            current.about = format!("the client {does} a request");
            return;
        };
        self.end_block(out);
        self.stamp.session_id = asked.session.clone().or(self.stamp.session_id.take());
        current.about = format!("the client {does} `{}`", asked.method);
        match &asked.wish {
            Some(wish) if asked.method == ELICITATION => {
                self.answer_elicitation(wish, answer, current, out);
            }
            Some(wish) => self.emit_decision(&asked, wish, answer, current, out),
            None => {}
        }
        if answer.is_ok() && asked.method == WRITE {
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            session.denials.note_action();
        }
        if let Ok(result) = answer
            && asked.method.starts_with("terminal/")
        {
            self.terminal_answered(&asked, result, current, out);
        }
        if let Err(error) = answer
            && self.shows_files
            && asked.method == CREATE
        {
            self.terminal_refused(&asked, error, current, out);
        }
        if self.shows_files && asked.method.starts_with("fs/") {
            self.file_answered(&asked, answer, current, out);
        }
    }
}
