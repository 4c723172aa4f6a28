//! What hooks have to do with prompts: before one is given, and once the agent is done with it, when they may want it to go on.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use lapidary_vocab::{Cause, Json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::course::Course;
use super::ending::{Broken, stopped};
use super::halts::Phase;
use super::hooks::{Calls, Finished, MOST};
use super::request::Opening;
use super::stage::Stage;
use crate::acp::Prompted;

/// So often a hook may want the agent to go on.
const MOST_ROUNDS: u32 = 100;

/// For so many calls at a time what comes after tools is fired: the next need not wait for one slow hook.
const AT_ONCE: usize = 8;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The agent has nothing left to do.
    Done,
    /// It was refused, cancelled, or came to a limit.
    Otherwise,
}

impl Ended {
    pub(super) fn of(prompted: &Prompted) -> Self {
        let reason = prompted.whole.token().get("stopReason");
        if reason.is_some_and(|reason| reason.is("end_turn")) {
            Self::Done
        } else {
            Self::Otherwise
        }
    }
}

/// A prompt and what has come of it so far.
#[derive(Debug)]
pub(super) struct Rounds {
    prompt: Vec<Json>,
    answer: String,
    count: u32,
}

impl Rounds {
    pub(super) fn new(prompt: &[Json]) -> Self {
        Self {
            prompt: prompt.to_vec(),
            answer: String::new(),
            count: 0,
        }
    }
}

impl Stage {
    /// What is said in place of a prompt, or why it is not.
    pub(super) async fn before_prompt(
        &self,
        session: &str,
        prompt: &[Json],
    ) -> Result<Vec<Json>, String> {
        let Some(firing) = &self.firing else {
            return Ok(prompt.to_vec());
        };
        let _asked = self.being_asked();
        self.watcher.calls(|calls| calls.take_words(session));
        let said = firing.before_prompt(session, prompt).await;
        said.map_err(|reason| format!("a hook blocked the prompt: {reason}"))
    }

    /// What is to be said next, if a hook is not content.
    pub(super) async fn after_prompt(
        &self,
        session: &str,
        rounds: &mut Rounds,
        ended: Ended,
    ) -> Option<Vec<Json>> {
        let firing = self.firing.as_ref()?;
        let _asked = self.being_asked();
        self.tools_are_done(Some(session)).await;
        self.say_what_was_left_out();
        self.say_what_was_cut_off(0, "the turn was cancelled before that");
        if ended != Ended::Done || self.stop_of(session).is_some() {
            return None;
        }
        if rounds.count >= MOST_ROUNDS {
            firing.gives_up(session, rounds.count);
            return None;
        }
        let said = self.watcher.calls(|calls| calls.take_words(session));
        let said = said.unwrap_or_default();
        if !rounds.answer.is_empty() && !said.is_empty() {
            rounds.answer.push('\n');
        }
        rounds.answer.push_str(&said);
        let is_again = rounds.count > 0;
        rounds.count += 1;
        let answer = rounds.answer.clone();
        firing
            .after_prompt(session, &rounds.prompt, answer, is_again)
            .await
    }

    /// Fires what comes after tools as long as anybody listens, for some calls at a time.
    pub(super) async fn after_tools(
        self: Arc<Self>,
        finished: &mut mpsc::UnboundedReceiver<Finished>,
    ) -> Infallible {
        let mut rounds = JoinSet::new();
        loop {
            // Both can be cancelled without losing anything.
            tokio::select! {
                Some(done) = finished.recv(), if rounds.len() < AT_ONCE => {
                    let has_hooks = self.firing.as_ref().is_some_and(|it| it.comes_after(&done));
                    if has_hooks {
                        self.watcher.calls(Calls::is_taken);
                    }
                    rounds.spawn(Arc::clone(&self).after_tool(done, has_hooks));
                }
                Some(_) = rounds.join_next() => {}
                else => std::future::pending().await,
            }
        }
    }

    async fn after_tool(self: Arc<Self>, done: Finished, has_hooks: bool) {
        if has_hooks {
            let is_cut_off = done.ends.is_cancelled();
            self.watcher.calls(|calls| calls.has_begun(is_cut_off));
        }
        if let Some(firing) = &self.firing {
            // Dropping it ends the hooks.
            tokio::select! {
                biased;
                () = done.ends.cancelled() => {}
                stops = firing.after_tool(&done) => if stops {
                    self.is_stopped(done.session());
                    self.cancel(done.session());
                }
            }
        }
        if let Some(waiting) = self.watcher.calls(|calls| calls.waiting()) {
            waiting.send_modify(|waiting| waiting.remove(&done));
        }
    }

    /// Waits until what comes after the tools of a session, or of all, has come.
    async fn tools_are_done(&self, session: Option<&str>) {
        if let Some(waiting) = self.watcher.calls(|calls| calls.waiting()) {
            let mut waiting = waiting.subscribe();
            let _ = waiting.wait_for(|waiting| waiting.is_over(session)).await;
        }
    }

    fn say_what_was_cut_off(&self, more: usize, why: &str) {
        let cut_off = self.watcher.calls(Calls::take_cut_off);
        if let Some(firing) = &self.firing {
            firing.not_after(cut_off.unwrap_or_default() + more, why);
        }
    }

    fn say_what_was_left_out(&self) {
        let left_out = self.watcher.calls(Calls::take_left_out);
        if let (Some(firing), Some(left_out)) = (&self.firing, left_out) {
            let why = format!(
                "more than {MOST} calls were waiting for theirs, or too much of what they said"
            );
            firing.not_after(left_out, &why);
        }
    }

    /// Nobody wants to hear hooks any more. Those that run are ended, and those that have not begun are counted.
    pub(super) async fn hooks_are_over(&self, waiting: Option<mpsc::UnboundedReceiver<Finished>>) {
        let Some(firing) = &self.firing else { return };
        firing.end().await;
        self.say_what_was_left_out();
        let mut rest = self.watcher.calls(Calls::take_taken).unwrap_or_default();
        if let Some(mut waiting) = waiting {
            while let Ok(done) = waiting.try_recv() {
                rest += usize::from(firing.comes_after(&done));
            }
        }
        self.say_what_was_cut_off(rest, "the run ended before that");
    }
}

impl Course<'_> {
    /// Gives a prompt, and whatever hooks want to be said after it.
    pub(super) async fn turn(&mut self, session: &str, prompt: &[Json]) -> Result<(), Broken> {
        let mut rounds = Rounds::new(prompt);
        let mut next = self.before_prompt(session, prompt).await?;
        loop {
            let ended = self.say(session, &next).await?;
            let stage = Arc::clone(&self.stage);
            let again = async { Ok(stage.after_prompt(session, &mut rounds, ended).await) };
            let again = self.step(Phase::Turn, again).await?;
            if let Some(why) = self.stage.stop_of(session) {
                return Err(Broken::Stopped(why));
            }
            match again {
                Some(more) => next = self.before_prompt(session, &more).await?,
                None => return self.check_budget(),
            }
        }
    }

    async fn before_prompt(&mut self, session: &str, prompt: &[Json]) -> Result<Vec<Json>, Broken> {
        let stage = Arc::clone(&self.stage);
        let said = async { Ok(stage.before_prompt(session, prompt).await) };
        let said = self.step(Phase::Turn, said).await?;
        said.map_err(|why| stopped(Cause::PermissionDenied, why, None))
    }

    /// Hooks hear of a session that begins.
    pub(super) async fn begin_session(
        &mut self,
        session: &str,
        opening: &Opening,
    ) -> Result<(), Broken> {
        let source = match opening {
            Opening::New => "startup",
            Opening::Again(_) | Opening::Latest => "resume",
        };
        let stage = Arc::clone(&self.stage);
        let begins = async {
            let _asked = stage.being_asked();
            if let Some(firing) = &stage.firing {
                firing.session_begins(session, source).await;
            }
            Ok(())
        };
        self.step(Phase::Waiting, begins).await // the agent is ready
    }

    /// Waits until what comes after tools has come. False if somebody wants everything to end before that.
    async fn tools_are_done(&mut self) -> bool {
        let stage = Arc::clone(&self.stage);
        tokio::select! {
            biased;
            _ = self.halts.next(Phase::Waiting, &stage) => false,
            () = stage.tools_are_done(None) => true,
        }
    }

    /// Hooks hear that sessions end: as long as they like if all went well, and else no longer than the agent itself would have.
    pub(super) async fn end_sessions(&mut self, done: &Result<(), Broken>) {
        let stage = Arc::clone(&self.stage);
        let Some(firing) = &stage.firing else { return };
        let mut ends = pin!(async {
            for session in firing.sessions() {
                firing.session_ends(&session).await;
            }
        });
        if done.is_ok() && self.tools_are_done().await {
            tokio::select! {
                biased;
                _ = self.halts.next(Phase::Waiting, &stage) => {}
                () = &mut ends => return,
            }
        }
        if done.as_ref().err().is_none_or(Broken::is_impatient) {
            stage.watcher.calls(|calls| calls.cut_off_all());
        }
        // Whoever waits for a tool's hooks might have no time left for a session's.
        let ends = async { tokio::join!(stage.tools_are_done(None), ends) };
        let time = self.halts.grace.share();
        tokio::select! {
            biased;
            () = self.halts.at_once() => {}
            _ = timeout(time, ends) => {}
        }
    }
}
