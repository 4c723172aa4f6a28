//! A request of the agent on its way to our answer: request → hooks → rules → prompt → answer.
//!
//! Each request is a task of its own. The connection hands it over with the [`RequestFacts`] that the line observer attached to
//! its line. There are two sorts: the agent asks for permission (`session/request_permission`), or it requests a file or a
//! terminal from us, which is judged in the same way before it is served. Functions during which the turn may be cancelled return
//! `None` then.

mod answer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapidary_json::{SharedToken, Token};
use lapidary_normalize::StopCause;
use lapidary_vocab::event::{DecidedBy, PermissionRequest, ToolKind};
use lapidary_vocab::{Body, Cause, Json, Text};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::answer::{
    ONLY_ALWAYS, cancelled_answer, denial_without_option, marked_answer, out_of_reach, pick_option,
    refusal_error, selected_answer,
};
use super::conversation_state::{ConversationState, session_of};
use super::elicitations;
use super::line_observer::{PermissionFacts, RequestFacts};
use super::request::ConversationRequest;
use crate::acp::{IncomingRequest, IncomingRequests, LineFacts, LocalAgent, RpcError};
use crate::agent_hooks::{FIRE_HOOKS, HookPlace, HookVerdict, model_moment};
use crate::client::{PermissionAnswer, PermissionPrompt};
use crate::hooks::WantedCall;
use crate::policy::{Decision, PermissionEffect, ToolAction, only_always};
use crate::violations::action_name;
use crate::workspace;

const PERMISSION: &str = "session/request_permission";
const ELICITATION: &str = "elicitation/create";

/// The methods that we answer. The connection refuses any other.
pub(super) fn answered_methods(
    request: &ConversationRequest,
) -> impl Iterator<Item = &'static str> {
    let runs_model_hooks = request.local.is_some() && request.hooks.is_some();
    let hooks = runs_model_hooks.then_some(FIRE_HOOKS);
    [PERMISSION, ELICITATION]
        .into_iter()
        .chain(workspace::METHODS)
        .chain(hooks)
}

/// Answers requests until the connection is over. Requests that still wait for a prompt are dropped then.
pub(super) async fn answer_requests(mut requests: IncomingRequests, state: Arc<ConversationState>) {
    let mut open = JoinSet::new();
    loop {
        // Both branches are cancel-safe.
        tokio::select! {
            incoming = requests.next() => match incoming {
                Some(incoming) => drop(open.spawn(answer_request(incoming, Arc::clone(&state)))),
                None => break,
            },
            Some(_) = open.join_next() => {}
        }
    }
}

async fn answer_request(mut incoming: IncomingRequest, state: Arc<ConversationState>) {
    let facts = incoming.facts.take().and_then(LineFacts::into_inner);
    let facts: RequestFacts = facts.unwrap_or_default();
    let method = incoming.method.to_str().into_owned();
    let params = incoming.params.clone().unwrap_or_else(Json::empty_object);
    let _answering = state.begin_answering(incoming.number, &method);
    if method == ELICITATION {
        // It need not be about a session.
        return elicitations::answer_elicitation(incoming, facts.elicitation, &state).await;
    }
    let session = session_of(&params);
    let Some(turn) = state.lock_table().turn_of(&session) else {
        let refusal = RpcError::new(RpcError::BAD_PARAMS, "unknown session");
        return incoming.respond.refuse(&refusal);
    };
    let request = AgentRequest {
        state: &state,
        incoming: &incoming,
        session,
        params,
        turn,
        stops: AtomicBool::new(false),
    };
    let answered = match method.as_str() {
        PERMISSION => request.answer_permission(facts.permission).await,
        FIRE_HOOKS => request.answer_model_hooks().await,
        method => request.answer_service(method, facts.request_id).await,
    };
    let (stops, session) = (request.stops.into_inner(), request.session);
    match answered {
        Ok(answer) => incoming.respond.answer(&answer),
        Err(refusal) => incoming.respond.refuse(&refusal),
    }
    if stops {
        state.cancel_turn(&session);
    }
}

/// A request of the agent in one of its sessions.
struct AgentRequest<'a> {
    state: &'a ConversationState,
    incoming: &'a IncomingRequest,
    session: String,
    params: Json,
    turn: CancellationToken,
    /// A hook wants the turn to stop once this is answered.
    stops: AtomicBool,
}

impl AgentRequest<'_> {
    /// The agent asks for permission. The session table notes the decision about the call.
    async fn answer_permission(&self, facts: Option<PermissionFacts>) -> Result<Json, RpcError> {
        let wrong = |message| RpcError::new(RpcError::BAD_PARAMS, message);
        let facts = facts.ok_or_else(|| wrong("what is asked for cannot be read"))?;
        if Some(&facts.dir) != self.state.lock_table().cwd_of(&self.session).as_ref() {
            // The paths of the call were read from another directory, so it is unknown which files they name.
            return Err(wrong(
                "it was asked before it was known where the session works",
            ));
        }
        let mut action = facts.action;
        action.follow_links(&facts.dir);
        let call = facts.request.tool_use_id.clone();
        let settled = self.settle_permission(facts.request, &action).await;
        if let Some(call) = call {
            let mut table = self.state.lock_table();
            match &settled {
                Ok(Some((decision, _))) if decision.effect == PermissionEffect::Allow => {
                    table.allow_call(&self.session, &call);
                }
                Ok(None) => table.hold_back_call(&self.session, &call, None),
                Ok(Some((decision, _))) => {
                    let denied = Some((action, decision.clone()));
                    table.hold_back_call(&self.session, &call, denied);
                }
                Err(_) => {
                    let reason = "the agent offers no way to allow or deny it";
                    let decision =
                        Decision::new(PermissionEffect::Deny, DecidedBy::Default, reason);
                    table.hold_back_call(&self.session, &call, Some((action, decision)));
                }
            }
        }
        drop(facts.expected); // from here on the client's answer is too late
        Ok(settled?.map_or_else(cancelled_answer, |(_, answer)| answer))
    }

    /// Decides about a request for permission, and finds the agent's option for the decision.
    async fn settle_permission(
        &self,
        request: PermissionRequest,
        action: &ToolAction,
    ) -> Result<Option<(Decision, Json)>, RpcError> {
        let options = self.offered_options();
        let Some(verdict) = self.hook_verdict(action, &request.tool_input).await else {
            return Ok(None);
        };
        let decision = verdict.decide_over(|| self.state.lock_table().policy().decide(action));
        // The kernel confines the commands of an agent in this process, but not the files that it writes.
        let local = self.state.request.local.as_ref();
        let decision = if local.is_some_and(LocalAgent::is_in_process) {
            self.refused_by_confinement(action).unwrap_or(decision)
        } else {
            decision
        };
        let decision = self.narrow_decision(decision, options.as_ref());
        let mut hook_reason = None;
        let (mut decision, named) = if decision.effect == PermissionEffect::Ask {
            let Some(answered) = self.ask_attendant(request, action, &decision, false).await else {
                return Ok(None);
            };
            hook_reason = (decision.by == DecidedBy::Hook).then_some(decision.reason);
            answered
        } else if self.turn.is_cancelled() {
            return Ok(None);
        } else {
            (decision, None)
        };
        let mut chosen = pick_option(options.as_ref(), named, &mut decision);
        if chosen.is_none() && decision.effect == PermissionEffect::Allow {
            decision = denial_without_option(decision, options.as_ref());
            chosen = pick_option(options.as_ref(), None, &mut decision);
        }
        let Some(chosen) = chosen else {
            self.stop_undeniable(action, &decision);
            return Err(refusal_error(&decision));
        };
        if decision.effect == PermissionEffect::Allow {
            self.state
                .lock_table()
                .grant_action(&self.session, action, &decision, hook_reason);
            self.note_permitted(action);
        }
        let answer = selected_answer(&chosen, &decision);
        Ok(Some((decision, answer)))
    }

    /// The agent wants a file or a terminal from us.
    async fn answer_service(&self, method: &str, id: Option<Text>) -> Result<Json, RpcError> {
        let action = self.state.workspace.action(method, &self.params);
        let Some(action) = action.map_err(out_of_reach)? else {
            return self.serve_action(method, None).await;
        };
        // A cancelled turn does nothing any more. It may read, unless there are hooks, which do not run any more and might deny it.
        let has_hooks = self.state.hooks.is_some();
        if self.turn.is_cancelled() && (has_hooks || action.kind != ToolKind::Read) {
            return Err(given_up());
        }
        if let Some(decision) = self.refused_by_confinement(&action) {
            return Err(refusal_error(&decision));
        }
        let decision = self.judge_service(method, id, &action).await;
        let decision = decision.ok_or_else(given_up)?;
        if decision.effect != PermissionEffect::Allow {
            return Err(refusal_error(&decision));
        }
        self.note_permitted(&action);
        let answer = self.serve_action(method, Some(&action)).await?;
        Ok(marked_answer(&answer, &decision))
    }

    /// Decides about a file or a terminal. Hooks run even if the action was granted before, because only this request has the
    /// final content. They get the parameters that we act on, and none that the agent adds to look harmless.
    async fn judge_service(
        &self,
        method: &str,
        id: Option<Text>,
        action: &ToolAction,
    ) -> Option<Decision> {
        let input = self.effective_params(method);
        if let Some(hooks) = &self.state.hooks {
            hooks.note_service(&self.session);
        }
        let verdict = self.hook_verdict(action, &input).await?;
        let decision = verdict.decide_over(|| self.state.lock_table().policy().decide(action));
        if decision.effect != PermissionEffect::Ask {
            return Some(decision);
        }
        let here = self.state.workspace.home(&self.session).ok();
        let here = here.as_ref();
        let granted =
            self.state
                .lock_table()
                .granted_decision(&self.session, action, &decision, here);
        if granted.is_some() {
            return granted;
        }
        let request = self.request_for(method, id, input, action);
        let (decision, _) = self.ask_attendant(request, action, &decision, true).await?;
        Some(decision)
    }

    /// The denial of a file that is to be written by this process, and that the agent could not write itself.
    fn refused_by_confinement(&self, action: &ToolAction) -> Option<Decision> {
        let confined = self.state.request.run.confined.as_ref()?;
        let writes = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move].contains(&action.kind);
        let mut paths = action.paths.iter().filter(|_| writes);
        let path = paths.find(|path| !confined.lets_write(path))?;
        let reason = format!("the confined run cannot write `{}`", path.display());
        Some(Decision::new(
            PermissionEffect::Deny,
            DecidedBy::Default,
            reason,
        ))
    }

    /// Serves exactly the judged action: a link that changed since is not followed.
    async fn serve_action(
        &self,
        method: &str,
        judged: Option<&ToolAction>,
    ) -> Result<Json, RpcError> {
        // Dropping the service gives it up.
        tokio::select! {
            served = self.state.workspace.serve_as(method, &self.params, judged) => served,
            () = self.incoming.respond.cancelled() => Err(given_up()),
        }
    }

    /// The verdict of the hooks.
    async fn hook_verdict(&self, action: &ToolAction, input: &Json) -> Option<HookVerdict> {
        let Some(hooks) = &self.state.hooks else {
            return Some(HookVerdict::Silent);
        };
        let wanted = WantedCall { action, input };
        let verdict = self.unless_cancelled(hooks.before_tool(wanted, self.hook_place()));
        let verdict = verdict.await;
        if let Some(HookVerdict::Stopped(_, why)) = &verdict {
            self.stop_after_answer(why.clone());
        }
        verdict
    }

    /// The answer of hooks, unless the turn or the request is cancelled. Dropping their answer ends the hooks.
    async fn unless_cancelled<T>(&self, answer: impl Future<Output = Option<T>>) -> Option<T> {
        let _asked = self.state.being_asked();
        tokio::select! {
            biased;
            () = self.turn.cancelled() => None,
            () = self.incoming.respond.cancelled() => None,
            answer = answer => answer,
        }
    }

    /// A hook stops the turn. Noted before the cancel: the agent may end its turn sooner.
    fn stop_after_answer(&self, why: String) {
        self.stops.store(true, Ordering::Relaxed);
        self.state.stop_for_hook(&self.session, why);
    }

    /// A yes that the agent only offers for good is a person's to give: it becomes a prompt, or a no.
    fn narrow_decision(&self, decision: Decision, options: Option<&Json>) -> Decision {
        if decision.effect != PermissionEffect::Allow || options.and_then(only_always).is_none() {
            return decision;
        }
        if !self.state.prompts.is_attended() {
            return denial_without_option(decision, options);
        }
        Decision {
            effect: PermissionEffect::Ask,
            reason: format!("{}, but {ONLY_ALWAYS}", decision.reason),
            ..decision
        }
    }

    /// Asks a person or the client, if one is there: the decision, and the option of the agent that the answer names. A request that
    /// the agent did not make becomes an event once it can be answered.
    async fn ask_attendant(
        &self,
        request: PermissionRequest,
        action: &ToolAction,
        why: &Decision,
        is_ours: bool,
    ) -> Option<(Decision, Option<String>)> {
        if self.turn.is_cancelled() {
            return None;
        }
        let is_for_hook = why.by == DecidedBy::Hook;
        // A hook looks at more than an earlier answer was about, such as the text that is written to a file.
        let standing = self.state.lock_table().allowed_for_run(action);
        if let Some(decision) = standing.filter(|_| !is_for_hook) {
            return Some((decision, None));
        }
        self.notify_hooks(action, &request.tool_input).await?;
        let (reply, replied) = oneshot::channel();
        let event = is_ours.then(|| Body::PermissionRequest(Box::new(request.clone())));
        let prompt = PermissionPrompt {
            request,
            session_id: Text::from(self.session.clone()),
            action: action.clone(),
            options: self.offered_options(),
            reason: why.reason.clone(),
            reply,
        };
        if !self.state.prompts.put_prompt(self.incoming.number, prompt) {
            return Some((self.decide_unattended(action, why), None));
        }
        if let Some(event) = event {
            let session = Some(Text::from(self.session.clone()));
            let after = Some(self.incoming.number);
            self.state.say.inject_body(after, session, event);
        }
        // There is one prompt, and at most one answer.
        let answer = self.unless_cancelled(async { Some(replied.await) }).await?;
        Some(match answer {
            Ok(answer) => self.take_answer(action, answer),
            Err(_) => (self.decide_unattended(action, why), None),
        })
    }

    /// Runs the `Notification` hooks of the prompt.
    async fn notify_hooks(&self, action: &ToolAction, input: &Json) -> Option<()> {
        let Some(hooks) = &self.state.hooks else {
            return Some(());
        };
        let _asked = self.state.being_asked();
        // Dropping the notification ends the hooks.
        tokio::select! {
            () = self.turn.cancelled() => None,
            () = hooks.notify_of_prompt(WantedCall { action, input }, self.hook_place()) => Some(()),
        }
    }

    /// The decision where no answer comes. No rule outweighs a hook that wants a prompt.
    fn decide_unattended(&self, action: &ToolAction, why: &Decision) -> Decision {
        match why.by {
            DecidedBy::Hook => why.clone().without_anybody(""),
            _ => self.state.lock_table().policy().decide_unattended(action),
        }
    }

    /// Takes the answer to a prompt, and keeps it if it holds for the rest of the run.
    fn take_answer(
        &self,
        action: &ToolAction,
        answer: PermissionAnswer,
    ) -> (Decision, Option<String>) {
        let standing = answer.standing_answer(action);
        let decision = answer.to_decision(standing.as_ref());
        if let Some(standing) = standing {
            self.state.lock_table().allow_for_run(standing);
        }
        (decision, answer.option_id)
    }

    /// The agent offers no way to deny, and may take an error for a yes: its turn ends.
    fn stop_undeniable(&self, action: &ToolAction, decision: &Decision) {
        let (what, why) = (action_name(action), &decision.reason);
        let message = format!("{what} was denied, and the agent offers no way to say so: {why}");
        let stopped = StopCause::new(Cause::PermissionDenied, message);
        self.state.lock_table().stop_turn(&self.session, stopped);
        self.state.cancel_turn(&self.session);
    }

    /// Runs the hooks of a moment between the agent and its model, and answers with their merged output.
    async fn answer_model_hooks(&self) -> Result<Json, RpcError> {
        let wrong = |message| RpcError::new(RpcError::BAD_PARAMS, message);
        let moment = model_moment(&self.params);
        let moment = moment.ok_or_else(|| wrong("the hook's input cannot be read"))?;
        let hooks = self.state.hooks.as_ref();
        let hooks = hooks.ok_or_else(|| wrong("there are no hooks"))?;
        let verdict = self.unless_cancelled(hooks.around_model(moment, self.hook_place()));
        let verdict = verdict.await.ok_or_else(given_up)?;
        if let Some(why) = verdict.stop {
            self.stop_after_answer(why);
        }
        Ok(verdict.answer)
    }

    /// A request for permission that the agent did not make: it simply wants to do it, through us.
    fn request_for(
        &self,
        method: &str,
        id: Option<Text>,
        input: Json,
        action: &ToolAction,
    ) -> PermissionRequest {
        let own = || Text::from(self.incoming.id.as_str().trim_matches('"').to_owned());
        PermissionRequest {
            request_id: id.unwrap_or_else(own),
            tool_name: Text::from(method.to_owned()),
            tool_kind: match &action.kind {
                ToolKind::Other(_) => ToolKind::Unclassified,
                kind => kind.clone(),
            },
            tool_input: input,
            tool_use_id: None,
            title: None,
            command: action.command.clone().map(Text::from),
            content: Vec::new(),
            options: Vec::new(),
            reason: None,
            blocked_path: None,
            suggestions: Vec::new(),
        }
    }

    /// The parameters of a file or terminal request that determine its effect.
    fn effective_params(&self, method: &str) -> Json {
        let params = self.params.token();
        let names = workspace::effective_parameters(method).iter();
        let known = names.filter_map(|name| {
            let value = params.get(name).and_then(Token::non_null)?;
            Some((*name, Json::from(SharedToken::from(value))))
        });
        Json::object(known)
    }

    /// The options that the agent offers.
    fn offered_options(&self) -> Option<Json> {
        let options = self.params.token().get("options")?;
        Some(Json::from(SharedToken::from(options)))
    }

    fn note_permitted(&self, action: &ToolAction) {
        if let Some(confined) = &self.state.request.run.confined {
            confined.note_permitted(action);
        }
    }

    fn hook_place(&self) -> HookPlace<'_> {
        HookPlace {
            session: &self.session,
            after: Some(self.incoming.number),
        }
    }
}

fn given_up() -> RpcError {
    RpcError::new(RpcError::CANCELLED, "cancelled")
}
