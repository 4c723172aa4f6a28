//! Prompts, and what can be done to a session meanwhile.

use std::sync::atomic::Ordering;

use lapidary_normalize::Stopped;
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Cause, Json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::course::Course;
use super::ending::{Broken, stopped};
use super::halts::{Halt, Phase};
use super::rounds::Ended;
use super::stage::Stage;
use crate::acp::{Answer, Modes, Prompted, Refusal, RequestError, Waiting};
use crate::config::PermissionMode;

impl Course<'_> {
    /// Gives a prompt and waits until the turn is over, or has to be.
    pub(super) async fn say(&mut self, session: &str, prompt: &[Json]) -> Result<Ended, Broken> {
        let stage = self.stage.clone();
        let waiting = stage.begin(session, prompt)?;
        let answered = stage.finish(session, waiting);
        tokio::pin!(answered);
        let halt = tokio::select! {
            biased;
            answer = &mut answered => {
                return Ok(Ended::of(&answer?));
            }
            halt = self.halts.next(Phase::Turn, &stage) => halt,
            halt = stage.stopped(session) => halt,
        };
        self.note_stall();
        if !halt.is_urgent {
            if stage.stop_of(session).is_none() {
                stage.cancel(session); // a hook has done so already
            }
            self.halts.grace.start(); // a hook's reason to stop is one too
            let time = self.halts.grace.share();
            tokio::select! {
                late = timeout(time, answered) => self.is_deaf = late.is_err(),
                () = self.halts.at_once() => {}
            }
        }
        Err(halt.into())
    }

    /// Was it too much in the end, or were there limits that nobody could check?
    pub(super) fn check_budget(&self) -> Result<(), Broken> {
        if let Some(exceeded) = self.stage.watcher.has_exceeded() {
            let message = exceeded.to_string();
            return Err(stopped(exceeded.cause(), message, exceeded.hint()));
        }
        let unknown = self.stage.watcher.unknown();
        match self.request.run.budget_unknown.judge(&unknown) {
            Ok(None) => Ok(()),
            Ok(Some(remark)) => {
                let kind = DiagnosticKind::Notice;
                self.stage.say.note(None, kind, remark);
                Ok(())
            }
            Err(stopped) => Err(Broken::Stopped(stopped)),
        }
    }
}

impl Stage {
    /// Gives a prompt. Permissions of an earlier turn do not count any more, nor does its being cancelled.
    pub(super) fn begin(&self, session: &str, prompt: &[Json]) -> Result<Waiting, RequestError> {
        if let Some(known) = self.sessions().get_mut(session) {
            if known.prompts == 0 {
                known.cancelled = CancellationToken::new();
                known.stopped = None;
            }
            known.prompts += 1;
        }
        self.watcher.calls(|calls| calls.begin(session));
        self.turn_is_over(session); // what was allowed before, if anything, was not for this
        self.watcher.is_awake();
        self.has_prompted.store(true, Ordering::SeqCst);
        self.client.prompt(session, prompt).inspect_err(|_| {
            self.over(session);
        })
    }

    /// Waits for the turn's end.
    pub(super) async fn finish(
        &self,
        session: &str,
        waiting: Waiting,
    ) -> Result<Prompted, RequestError> {
        let _over = Over(self, session);
        let answer = waiting.answer(None).await?;
        Ok(Prompted::of(&answer))
    }

    fn over(&self, session: &str) {
        if let Some(known) = self.sessions().get_mut(session) {
            known.prompts = known.prompts.saturating_sub(1);
            if known.prompts == 0 {
                known.cancelled.cancel(); // what it still asks is nobody's to answer any more
            }
        }
        self.turn_is_over(session);
    }

    /// Asks the agent to end the turn. Whoever waits for somebody's word need not any more.
    pub(super) fn cancel(&self, session: &str) {
        let _ = self.client.cancel(session); // an agent that is gone is told nothing
        if let Some(turn) = self.turn_of(session) {
            turn.cancel();
        }
    }

    /// A hook wants the turn to stop.
    pub(super) fn is_stopped(&self, session: &str) {
        let said = self.firing.as_ref().and_then(|it| it.stop_of(session));
        let stopped = Stopped {
            cause: Cause::PermissionDenied,
            message: said.unwrap_or_else(|| "a hook stopped the agent".to_owned()),
            hint: None,
        };
        self.has_to_stop(session, stopped);
    }

    /// The turn cannot go on: it is cancelled, for this reason.
    pub(super) fn stop(&self, session: &str, stopped: Stopped) {
        self.has_to_stop(session, stopped);
        self.cancel(session);
    }

    fn has_to_stop(&self, session: &str, stopped: Stopped) {
        if let Some(known) = self.sessions().get_mut(session) {
            known.stopped.get_or_insert(stopped);
        }
    }

    /// Which hook wanted the turn to stop, and why, if one did.
    pub(super) fn stop_of(&self, session: &str) -> Option<Stopped> {
        self.sessions().get(session)?.stopped.clone()
    }

    /// Waits until a hook has stopped the turn. Can be cancelled.
    async fn stopped(&self, session: &str) -> Halt {
        if let Some(turn) = self.turn_of(session) {
            turn.cancelled().await;
        }
        match self.stop_of(session) {
            Some(stopped) => Halt {
                stopped,
                is_urgent: false,
            },
            None => std::future::pending().await, // something else has cancelled it
        }
    }

    pub(super) fn modes_of(&self, session: &str) -> Option<Modes> {
        self.sessions().get(session)?.modes.clone()
    }

    /// Whether a session has something to do.
    pub(super) fn is_busy(&self, session: &str) -> bool {
        self.sessions()
            .get(session)
            .is_some_and(|session| session.prompts > 0)
    }

    /// Whether anything was asked of the agent at all.
    pub(super) fn has_prompted(&self) -> bool {
        self.has_prompted.load(Ordering::SeqCst)
    }

    pub(super) fn mode(&self) -> PermissionMode {
        let policy = self.policy.lock();
        policy
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .mode()
    }

    /// Chooses a model: by the option that stands for it, else as agents had it before there were options.
    pub(super) async fn set_model(
        &self,
        session: &str,
        model: &str,
    ) -> Result<Answer, RequestError> {
        match self.option_for(session, "model") {
            Some(option) => {
                let value = Json::from_value(&model);
                self.set_option(session, &option, &value).await
            }
            None => self.client.set_model(session, model).await,
        }
    }

    /// Says how hard to think, if there is an option for it.
    pub(super) async fn set_effort(
        &self,
        session: &str,
        effort: &str,
    ) -> Result<Answer, RequestError> {
        let Some(option) = self.option_for(session, "thought_level") else {
            let message = "the agent has no option for how hard to think";
            let refusal = Refusal::new(Refusal::NO_METHOD, message);
            return Err(RequestError::Refused(refusal));
        };
        let value = Json::from_value(&effort);
        self.set_option(session, &option, &value).await
    }

    /// Sets an option. The answer has all of them as they are now.
    pub(super) async fn set_option(
        &self,
        session: &str,
        option: &str,
        value: &Json,
    ) -> Result<Answer, RequestError> {
        let answer = self
            .client
            .set_config_option(session, option, value)
            .await?;
        let options = answer.result.token().get("configOptions");
        if let Some(options) = options
            && let Some(known) = self.sessions().get_mut(session)
        {
            let options = lapidary_json::SharedToken::from(options);
            known.config_options = Some(Json::from(options));
        }
        Ok(answer)
    }

    fn option_for(&self, session: &str, category: &str) -> Option<String> {
        let (id, _) = self.sessions().get(session)?.option_for(category)?;
        Some(id)
    }
}

/// The turn is over, however that came.
struct Over<'a>(&'a Stage, &'a str);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over(self.1);
    }
}
