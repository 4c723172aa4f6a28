//! Answers to what the agent asks of us: may it, what is in that file, run this.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapidary_json::Token;
use lapidary_normalize::Stopped;
use lapidary_vocab::event::{DecidedBy, PermissionRequest, ToolKind};
use lapidary_vocab::{Body, Cause, Json, Text};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::asking::{Question, Reply};
use super::elicitations;
use super::hooks::{Place, Verdict};
use super::marks::{mark, marked, out_of_reach, refusal};
use super::stage::{Stage, session_of};
use crate::acp::{Incoming, Refusal, Requests};
use crate::hooks::Wanted;
use crate::policy::{Decision, Deed, Effect, choose, only_always};
use crate::violations::named;
use crate::workspace;

const PERMISSION: &str = "session/request_permission";
const ELICITATION: &str = "elicitation/create";

/// Why a yes is not said for a caller.
const ONLY_ALWAYS: &str = "the agent offers only `allow_always`, and would not ask again";

/// What we answer. Anything else is refused by the connection.
pub(super) fn methods() -> impl Iterator<Item = &'static str> {
    [PERMISSION, ELICITATION]
        .into_iter()
        .chain(workspace::METHODS)
}

/// Answers until nothing is asked any more.
pub(super) async fn answer_all(mut requests: Requests, stage: Arc<Stage>) {
    let mut open = JoinSet::new();
    loop {
        // Both can be cancelled without losing anything.
        tokio::select! {
            incoming = requests.next() => match incoming {
                Some(incoming) => drop(open.spawn(answer(incoming, Arc::clone(&stage)))),
                None => break, // who still waits for somebody's word need not any more
            },
            Some(_) = open.join_next() => {}
        }
    }
}

async fn answer(incoming: Incoming, stage: Arc<Stage>) {
    let method = incoming.method.to_str().into_owned();
    let params = incoming.params.clone().unwrap_or_else(Json::empty_object);
    let _answering = stage.answering(incoming.number, &method);
    if method == ELICITATION {
        return elicitations::answer(incoming, &stage).await; // it need not be about a session
    }
    let session = session_of(&params);
    let Some(turn) = stage.turn_of(&session) else {
        let message = "unknown session";
        return incoming
            .respond
            .refuse(&Refusal::new(Refusal::BAD_PARAMS, message));
    };
    let asked = Asked {
        stage: &stage,
        incoming: &incoming,
        session,
        params,
        turn,
        stops: AtomicBool::new(false),
    };
    let answered = match method.as_str() {
        PERMISSION => asked.permission().await,
        method => asked.service(method).await,
    };
    stage.watcher.is_handled(incoming.number);
    let (stops, session) = (asked.stops.into_inner(), asked.session);
    match answered {
        Ok(answer) => incoming.respond.answer(&answer),
        Err(refusal) => incoming.respond.refuse(&refusal),
    }
    if stops {
        stage.cancel(&session);
    }
}

/// A request of the agent, and what it is about.
struct Asked<'a> {
    stage: &'a Stage,
    incoming: &'a Incoming,
    session: String,
    params: Json,
    turn: CancellationToken,
    /// A hook wants everything to stop, once this is answered.
    stops: AtomicBool,
}

impl Asked<'_> {
    /// May it?
    async fn permission(&self) -> Result<Json, Refusal> {
        let wrong = |message| Refusal::new(Refusal::BAD_PARAMS, message);
        let wish = self.stage.watcher.asked(self.incoming.number);
        let wish = wish.ok_or_else(|| wrong("what is asked for cannot be read"))?;
        if Some(&wish.dir) != self.stage.cwd_of(&self.session).as_ref() {
            // Somebody else's directory is where it was taken to work, so nobody knows which files it is about.
            return Err(wrong(
                "it was asked before it was known where the session works",
            ));
        }
        let (request, mut deed) = (wish.request, wish.deed);
        deed.follow_links(&wish.dir);
        let call = request.tool_use_id.clone();
        let answered = match self.hooked(&deed, &request.tool_input).await {
            Some(verdict) => {
                self.stops_if(&verdict);
                self.decided(request, &deed, verdict).await
            }
            None => Ok(Decided::GivenUp),
        };
        if let Some(call) = call {
            let watcher = &self.stage.watcher;
            match &answered {
                Ok(Decided::Allowed(_)) => watcher.is_allowed(&self.session, &call),
                Ok(Decided::GivenUp) => watcher.is_held_back(&self.session, &call, None),
                Ok(Decided::Denied(_, decision)) => {
                    let denied = Some((deed, decision.clone()));
                    watcher.is_held_back(&self.session, &call, denied);
                }
                Err(_) => {
                    let denied = Some((deed, given_no_answer()));
                    watcher.is_held_back(&self.session, &call, denied);
                }
            }
        }
        answered.map(Decided::into_json)
    }

    async fn decided(
        &self,
        request: PermissionRequest,
        deed: &Deed,
        verdict: Verdict,
    ) -> Result<Decided, Refusal> {
        let options = self.options();
        let decision = verdict.over(|| self.stage.decide(deed));
        let decision = self.narrowed(decision, options.as_ref());
        let mut asked = None;
        let (mut decision, option) = match decision.effect {
            Effect::Ask => match self.ask(request, deed, &decision, None).await {
                Asking::Decided(decided, option) => {
                    asked = (decision.by == DecidedBy::Hook).then_some(decision.reason);
                    (decided, option)
                }
                Asking::Cancelled => return Ok(Decided::GivenUp),
            },
            Effect::Allow | Effect::Deny if self.turn.is_cancelled() => {
                return Ok(Decided::GivenUp);
            }
            Effect::Allow | Effect::Deny => (decision, None),
        };
        let mut chosen = pick(options.as_ref(), option, &mut decision);
        if chosen.is_none() && decision.effect == Effect::Allow {
            decision = unsayable(decision, options.as_ref());
            chosen = pick(options.as_ref(), None, &mut decision);
        }
        let Some(chosen) = chosen else {
            self.cannot_be_told(deed, &decision);
            return Err(refusal(&decision));
        };
        let answer = selected(&chosen, &decision);
        if decision.effect != Effect::Allow {
            return Ok(Decided::Denied(answer, decision));
        }
        self.stage.grant(&self.session, deed, &decision, asked);
        if let Some(confined) = &self.stage.confined {
            confined.note_permitted(deed);
        }
        Ok(Decided::Allowed(answer))
    }

    /// The agent offers no way to deny, and may take an error for a yes: its turn ends.
    fn cannot_be_told(&self, deed: &Deed, decision: &Decision) {
        let what = named(deed);
        let why = &decision.reason;
        self.stage.stop(
            &self.session,
            Stopped {
                cause: Cause::PermissionDenied,
                message: format!("{what} was denied, and the agent offers no way to say so: {why}"),
                hint: None,
            },
        );
    }

    /// What was decided, unless the agent offers only a yes that lasts: then a person is asked, or it is denied.
    fn narrowed(&self, decision: Decision, options: Option<&Json>) -> Decision {
        if decision.effect != Effect::Allow || options.and_then(only_always).is_none() {
            return decision;
        }
        match self.stage.asks {
            Some(_) => Decision {
                effect: Effect::Ask,
                reason: format!("{}, but {ONLY_ALWAYS}", decision.reason),
                ..decision
            },
            None => unsayable(decision, options),
        }
    }

    /// What hooks say. None if nobody wants to know any more.
    async fn hooked(&self, deed: &Deed, input: &Json) -> Option<Verdict> {
        let Some(firing) = &self.stage.firing else {
            return Some(Verdict::Silent);
        };
        let _asked = self.stage.being_asked();
        // Dropping it ends the hooks.
        tokio::select! {
            biased;
            () = self.turn.cancelled() => None,
            () = self.incoming.respond.cancelled() => None,
            verdict = firing.before_tool(Wanted { deed, input }, self.place()) => verdict,
        }
    }

    fn stops_if(&self, verdict: &Verdict) {
        if matches!(verdict, Verdict::Stopped(_)) {
            self.stops.store(true, Ordering::Relaxed);
            self.stage.is_stopped(&self.session); // the agent may be quicker than whoever cancels
        }
    }

    fn place(&self) -> Place<'_> {
        Place {
            session: &self.session,
            after: Some(self.incoming.number),
        }
    }

    /// A file or a terminal.
    async fn service(&self, method: &str) -> Result<Json, Refusal> {
        let workspace = &self.stage.workspace;
        let deed = workspace.deed(method, &self.params);
        let Some(deed) = deed.map_err(out_of_reach)? else {
            return self.serve(method, None).await;
        };
        // Nobody hears hooks any more either, so nothing is read that they might hold back.
        let has_hooks = self.stage.firing.is_some();
        if self.turn.is_cancelled() && (has_hooks || deed.kind != ToolKind::Read) {
            return Err(given_up()); // whoever cancelled a turn does not want it to go on doing things
        }
        let decision = self.decide(method, &deed).await?;
        if decision.effect != Effect::Allow {
            return Err(refusal(&decision));
        }
        if let Some(confined) = &self.stage.confined {
            confined.note_permitted(&deed);
        }
        let answer = self.serve(method, Some(&deed)).await?;
        Ok(marked(&answer, &decision))
    }

    /// Does it: exactly what was judged, whatever may have changed since.
    async fn serve(&self, method: &str, judged: Option<&Deed>) -> Result<Json, Refusal> {
        // Dropping it is how it is given up.
        tokio::select! {
            served = self.stage.workspace.serve_as(method, &self.params, judged) => served,
            () = self.incoming.respond.cancelled() => Err(given_up()),
        }
    }

    async fn decide(&self, method: &str, deed: &Deed) -> Result<Decision, Refusal> {
        // Also if it was granted: only now is it certain what is written.
        let verdict = self.served(method, deed).await.ok_or_else(given_up)?;
        self.stops_if(&verdict);
        let decision = verdict.over(|| self.stage.decide(deed));
        if decision.effect != Effect::Ask {
            return Ok(decision);
        }
        if let Some(granted) = self.stage.granted(&self.session, deed, &decision) {
            return Ok(granted);
        }
        let request = self.request_for(method, deed);
        let told = Body::PermissionRequest(Box::new(request.clone()));
        match self.ask(request, deed, &decision, Some(told)).await {
            Asking::Decided(decision, _) => Ok(decision),
            Asking::Cancelled => Err(given_up()),
        }
    }

    /// What hooks say about a file or a terminal. They are told what is done, and nothing that an agent puts beside it to look harmless.
    async fn served(&self, method: &str, deed: &Deed) -> Option<Verdict> {
        let known = self.parameters(method);
        let watcher = &self.stage.watcher;
        watcher.calls(|calls| calls.serve(&self.session));
        self.hooked(deed, &known).await
    }

    /// The parameters of a file or a terminal that say what is done.
    fn parameters(&self, method: &str) -> Json {
        let params = self.params.token();
        let names = workspace::parameters(method).iter();
        let known = names.filter_map(|name| {
            let value = params.get(name).and_then(Token::non_null)?;
            Some((*name, Json::from(lapidary_json::SharedToken::from(value))))
        });
        Json::object(known)
    }

    /// A request for permission that the agent did not make: it simply wants to do it, through us.
    fn request_for(&self, method: &str, deed: &Deed) -> PermissionRequest {
        let told = self.stage.watcher.request_id(self.incoming.number);
        let own = || Text::from(self.incoming.id.as_str().trim_matches('"').to_owned());
        PermissionRequest {
            request_id: told.unwrap_or_else(own),
            tool_name: Text::from(method.to_owned()),
            tool_kind: match &deed.kind {
                ToolKind::Other(_) => ToolKind::Unclassified,
                kind => kind.clone(),
            },
            tool_input: self.parameters(method),
            tool_use_id: None,
            title: None,
            command: deed.command.clone().map(Text::from),
            content: Vec::new(),
            options: Vec::new(),
            reason: None,
            blocked_path: None,
            suggestions: Vec::new(),
        }
    }

    /// Asks whoever is there. A request that the agent did not make is told as an event, once it can be answered.
    async fn ask(
        &self,
        request: PermissionRequest,
        deed: &Deed,
        why: &Decision,
        told: Option<Body>,
    ) -> Asking {
        if self.turn.is_cancelled() {
            return Asking::Cancelled;
        }
        // A hook looks at more than an earlier answer was about, such as what is written to a file.
        if why.by != DecidedBy::Hook
            && let Some(decision) = self.stage.allowed_for_run(deed)
        {
            return Asking::Decided(decision, None);
        }
        if let Some(firing) = &self.stage.firing {
            let input = &request.tool_input;
            let _asked = self.stage.being_asked();
            // Dropping it ends the hooks.
            tokio::select! {
                () = self.turn.cancelled() => return Asking::Cancelled,
                () = firing.notify(Wanted { deed, input }, self.place()) => {}
            }
        }
        let nobody = || match why.by {
            // No rule outweighs a hook that wants somebody to be asked.
            DecidedBy::Hook => Asking::Decided(why.clone().without_anybody(""), None),
            _ => Asking::Decided(self.stage.decide_unattended(deed), None),
        };
        let Some(asks) = &self.stage.asks else {
            return nobody();
        };
        let (reply, replied) = oneshot::channel();
        let question = Question {
            request,
            session_id: Text::from(self.session.clone()),
            deed: deed.clone(),
            options: self.options(),
            reason: why.reason.clone(),
            reply,
        };
        if asks.send(question).is_err() {
            return nobody();
        }
        self.stage.watcher.is_handled(self.incoming.number);
        if let Some(told) = told {
            let session = Some(Text::from(self.session.clone()));
            let after = Some(self.incoming.number);
            self.stage.say.body(after, session, told);
        }
        let _asked = self.stage.being_asked();
        // Each of these can be cancelled: there is one question, and at most one reply.
        tokio::select! {
            biased;
            () = self.turn.cancelled() => Asking::Cancelled,
            () = self.incoming.respond.cancelled() => Asking::Cancelled,
            replied = replied => match replied {
                Ok(reply) => self.replied(deed, reply),
                Err(_) => nobody(),
            }
        }
    }

    /// Takes a reply, and keeps it if it holds for the rest of the run.
    fn replied(&self, deed: &Deed, reply: Reply) -> Asking {
        let standing = reply.standing(deed);
        let decision = reply.decision(standing.as_ref());
        if let Some(standing) = standing {
            self.stage.allow_for_run(standing);
        }
        Asking::Decided(decision, reply.option_id)
    }

    fn options(&self) -> Option<Json> {
        let options = self.params.token().get("options")?;
        Some(Json::from(lapidary_json::SharedToken::from(options)))
    }
}

/// An answer to a request for permission.
enum Decided {
    /// It may.
    Allowed(Json),
    /// It may not.
    Denied(Json, Decision),
    /// Nobody wants to know any more.
    GivenUp,
}

impl Decided {
    fn into_json(self) -> Json {
        match self {
            Self::Allowed(answer) | Self::Denied(answer, _) => answer,
            Self::GivenUp => cancelled(),
        }
    }
}

/// What came of asking.
enum Asking {
    /// Somebody decided, and perhaps named one of the options.
    Decided(Decision, Option<String>),
    /// The turn was cancelled meanwhile.
    Cancelled,
}

/// The option that somebody named, if there is one of that name; else the one that says what was decided.
fn pick(options: Option<&Json>, named: Option<String>, decision: &mut Decision) -> Option<String> {
    if let Some(named) = named.filter(|id| is_offered(options, id, decision.effect)) {
        return Some(named);
    }
    // The prompt tells a person at the terminal that this is the only yes.
    let is_persons_yes = decision.effect == Effect::Allow && decision.by == DecidedBy::User;
    if is_persons_yes && let Some(always) = only_always(options?) {
        decision.reason = format!("{}; {ONLY_ALWAYS}", decision.reason);
        return Some(always.to_string());
    }
    let choice = choose(options?, decision.effect)?;
    if let Some(note) = choice.note {
        decision.reason = format!("{}; {note}", decision.reason);
    }
    Some(choice.option_id.to_string())
}

/// The denial of what was allowed, and what the agent has no option for.
fn unsayable(decision: Decision, options: Option<&Json>) -> Decision {
    let why = match options.and_then(only_always) {
        Some(_) => ONLY_ALWAYS,
        None => "the agent offers no way to say so",
    };
    Decision {
        effect: Effect::Deny,
        reason: format!("{}, but {why}", decision.reason),
        is_for_run: false,
        ..decision
    }
}

/// Whether there is such an option, and it does not say the opposite.
fn is_offered(options: Option<&Json>, id: &str, effect: Effect) -> bool {
    let opposite = match effect {
        Effect::Allow => "reject",
        Effect::Deny | Effect::Ask => "allow",
    };
    let mut offered = options
        .into_iter()
        .flat_map(|options| options.token().elements());
    offered.any(|option| {
        let kind = option.get("kind").and_then(Token::string);
        let is_opposite = kind.is_some_and(|kind| kind.starts_with(opposite));
        option.get("optionId").is_some_and(|offered| offered.is(id)) && !is_opposite
    })
}

fn selected(option: &str, decision: &Decision) -> Json {
    let outcome = Json::object([
        ("outcome", Json::from_value(&"selected")),
        ("optionId", Json::from_value(&option)),
    ]);
    Json::object([("outcome", outcome), ("_meta", mark(decision))])
}

fn cancelled() -> Json {
    let outcome = Json::object([("outcome", Json::from_value(&"cancelled"))]);
    Json::object([("outcome", outcome)])
}

/// The decision about a call that was answered with an error.
fn given_no_answer() -> Decision {
    let reason = "the agent offers no way to allow or deny it";
    Decision::new(Effect::Deny, DecidedBy::Default, reason)
}

fn given_up() -> Refusal {
    Refusal::new(Refusal::CANCELLED, "cancelled")
}
