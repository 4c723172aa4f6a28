//! Who waits for what: requests under way, and sessions.

use lapidary_json::{Kind, Token};
use lapidary_vocab::event::{SessionState, SessionStatus, UserInput};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::envelope::Id;

use super::line::Current;
use super::usage::Steps;
use super::{AcpNormalizer, Direction, content, session_of, shown};
use crate::{Events, Verdict, own};

/// How many sessions are told apart. Real connections have one.
const MOST_SESSIONS: usize = 256;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) session: Option<Text>,
    /// What its answer does not repeat: the folder of a session, the mode that was asked for.
    pub(super) detail: Option<Text>,
}

/// What is known about a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: String,
    /// Prompts that are not answered yet.
    pub(super) prompts: usize,
    /// It was loaded, and the next prompt has not come: what is said is history.
    pub(super) is_replaying: bool,
    /// The client cancelled, and the turn is not over yet.
    pub(super) is_cancelled: bool,
    /// The modes to choose from.
    pub(super) modes: Vec<Json>,
    /// What it has cost so far.
    pub(super) cost: Option<Json>,
    /// Tokens that were counted step by step in this turn.
    pub(super) steps: Steps,
}

/// The sessions of a connection, the newest last.
#[derive(Debug, Default)]
pub(super) struct Sessions(Vec<Session>);

impl Sessions {
    /// The session of that name, which is new if nobody has named it before.
    pub(super) fn of(&mut self, id: Option<&Text>) -> &mut Session {
        let id = id.map(Text::to_str).unwrap_or_default();
        let known = self.0.iter().position(|session| session.id == id);
        let place = known.unwrap_or_else(|| {
            if self.0.len() >= MOST_SESSIONS {
                self.0.remove(0);
            }
            self.0.push(Session {
                id: id.into_owned(),
                ..Session::default()
            });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

/// Either side counts its own ids, so the direction belongs to them.
pub(super) fn key(asking: Direction, id: Id<'_>) -> String {
    let side = match asking {
        Direction::FromAgent => 'a',
        Direction::FromClient => 'c',
    };
    format!("{side}{}", id.key())
}

impl AcpNormalizer {
    /// Remembers a request until it is answered.
    pub(super) fn ask(
        &mut self,
        asking: Direction,
        id: Id<'_>,
        method: Token<'_>,
        params: Option<Token<'_>>,
        detail: Option<Token<'_>>,
    ) {
        let text = |token: Option<Token<'_>>| own::string(token).map(own::text);
        let asked = Asked {
            method: shown(method),
            session: text(session_of(params)),
            detail: text(detail),
        };
        let texts = [asked.session.as_ref(), asked.detail.as_ref()];
        let size = texts.into_iter().flatten().map(Text::size).sum::<usize>() + asked.method.len();
        self.requests.open(&key(asking, id), asked, size);
    }

    pub(super) fn client_asks(
        &mut self,
        id: Id<'_>,
        method: Token<'_>,
        params: Option<Token<'_>>,
        current: &mut Current<'_>,
        out: &mut Events,
    ) {
        current.about = format!("the client asks `{}`", shown(method));
        let field = |name| params.and_then(|params| params.get(name));
        let detail = match method.string().as_deref() {
            Some("session/new" | "session/load" | "session/resume") => field("cwd"),
            Some("session/set_mode") => field("modeId"),
            _ => None,
        };
        self.ask(Direction::FromClient, id, method, params, detail);
        match method.string().as_deref() {
            Some("session/prompt") => {
                self.end_message(out);
                self.belongs_to(session_of(params));
                self.prompt(
                    key(Direction::FromClient, id),
                    field("prompt"),
                    current,
                    out,
                );
            }
            Some("session/load" | "session/resume") => {
                self.end_message(out);
                self.belongs_to(session_of(params));
                let session = self.sessions.of(self.stamp.session_id.as_ref());
                session.is_replaying = method.is("session/load");
                self.state(SessionState::Resuming, None, current, out);
            }
            _ => {}
        }
    }

    fn prompt(
        &mut self,
        key: String,
        prompt: Option<Token<'_>>,
        current: &mut Current<'_>,
        out: &mut Events,
    ) {
        // What the last turn said about its end no longer counts.
        self.verdict = Verdict::default();
        self.last_prompt = Some(key);
        let session = self.sessions.of(self.stamp.session_id.as_ref());
        session.prompts += 1;
        session.is_replaying = false;
        session.is_cancelled = false;
        session.steps = Steps::default();
        let blocks: Vec<_> = prompt.into_iter().flat_map(Token::elements).collect();
        let is_plain = |block: &Token<'_>| content::text(*block).is_some();
        let extra = match prompt {
            Some(prompt) if !blocks.iter().all(is_plain) => {
                vec![("acp.prompt", current.json(prompt))]
            }
            _ => Vec::new(),
        };
        let input = UserInput {
            text: content::joined(&blocks, current),
            images: blocks
                .iter()
                .filter_map(|it| content::picture(*it))
                .collect(),
            is_synthetic: false,
        };
        self.tell(Body::UserInput(input), extra, current, out);
    }

    pub(super) fn cancelled(&mut self, current: &mut Current<'_>, out: &mut Events) {
        let session = self.sessions.of(self.stamp.session_id.as_ref());
        session.is_cancelled = session.prompts > 0;
        self.state(SessionState::Interrupted, None, current, out);
    }

    pub(super) fn state(
        &mut self,
        status: SessionState,
        message: Option<Text>,
        current: &mut Current<'_>,
        out: &mut Events,
    ) {
        let body = Body::SessionStatus(SessionStatus { status, message });
        self.tell(body, Vec::new(), current, out);
    }

    /// What the client decided is nobody's event, but worth a word.
    pub(super) fn client_answers(
        &mut self,
        asked: Option<&Asked>,
        result: Token<'_>,
        current: &mut Current<'_>,
    ) {
        let Some(asked) = asked else {
            "the client answers a request".clone_into(&mut current.about);
            return;
        };
        self.stamp.session_id = asked.session.clone().or(self.stamp.session_id.take());
        current.about = format!("the client answers `{}`", asked.method);
        let outcome = result.get("outcome").and_then(|it| it.of(Kind::Object));
        let said = |name| outcome.and_then(|outcome| own::string(outcome.get(name)));
        for word in [said("outcome"), said("optionId")].into_iter().flatten() {
            current.about = format!("{}, {}", current.about, shown(word));
        }
    }
}
