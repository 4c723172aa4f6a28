//! What somebody orders, carried out one by one and at the same time: prompts take long, and a permission has to be given meanwhile.
//!
//! The *desk* takes orders and tells what became of each, exactly once; its *hands* carry them out.

mod closings;
mod hands;
mod lanes;
mod openings;
mod replies;
mod results;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lapidary_normalize::Stopped;
use lapidary_vocab::command::Command;
use lapidary_vocab::{Cause, Text};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::sleep;

use self::hands::Hands;
use self::replies::{Early, MOMENT};
use self::results::{Done, Label, Outcome};
use super::Order;
use super::asking::Question;
use super::course::Course;
use super::ending::{Broken, stopped};
use super::halts::{Halt, Phase};
use super::stage::Stage;
use crate::acp::{ConnectionError, Initialized, Process};
use crate::process::Exit;
use crate::run::ending::cancelled;

pub(super) use self::results::refuse_rest;

/// So many orders may be under way. One more is refused.
const MOST: usize = 256;

/// So many interrupts may be under way beside them: whoever has ordered too much wants to end some of it.
const MOST_INTERRUPTS: usize = 16;

/// How long what is under way has to notice that the agent is gone.
const NOTICE: Duration = Duration::from_secs(1);

/// What becomes of orders that the agent's end finds under way.
const TOO_LATE: &str = "the agent was ended before this was done";

/// Takes orders, and tells what became of them.
struct Desk {
    hands: Hands,
    under_way: JoinSet<Outcome>,
    /// What is under way, the oldest first.
    labels: Vec<(Id, Label)>,
    /// Questions that wait for an answer, the oldest first.
    questions: VecDeque<Question>,
    /// The ids of questions that nobody waits for any more though nobody answered them.
    withdrawn: VecDeque<Text>,
    /// Answers that wait for their question.
    early: Vec<Early>,
}

/// From where orders come.
struct Counter<'a> {
    orders: &'a mut mpsc::UnboundedReceiver<Order>,
    is_open: bool,
}

impl Course<'_> {
    /// Carries out what is ordered until nobody orders anything any more, and all that was ordered is done.
    pub(super) async fn carry_out(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        mut questions: Option<mpsc::UnboundedReceiver<Question>>,
        process: &Process,
    ) -> Result<(), Broken> {
        let mut counter = Counter {
            orders,
            is_open: true,
        };
        let mut early = VecDeque::new();
        let ready = self.get_ready(&mut counter, &mut early).await;
        let agent = match ready {
            Ok(agent) => agent,
            Err(broken) => {
                for order in early {
                    Label::of(order.id, &order.name).tell(&self.stage, Err(TOO_LATE.into()));
                }
                return Err(broken);
            }
        };
        let mut desk = Desk::new(self.hands(agent));
        for order in early {
            desk.take(order);
        }
        let ended = self
            .serve(&mut desk, &mut counter, questions.as_mut(), process)
            .await;
        desk.clear();
        ended
    }

    /// Says hello. Until the agent has answered, orders wait; but whoever does not want it any more need not wait for that.
    async fn get_ready(
        &mut self,
        counter: &mut Counter<'_>,
        early: &mut VecDeque<Order>,
    ) -> Result<Initialized, Broken> {
        let stage = Arc::clone(&self.stage);
        let hello = self.initialize();
        tokio::pin!(hello);
        loop {
            // Both can be cancelled without losing anything.
            tokio::select! {
                biased;
                ready = &mut hello => return ready,
                order = counter.orders.recv(), if counter.is_open => match order {
                    None => counter.is_open = false,
                    Some(order) if is_kill(&order) => return Err(killed(order, &stage)),
                    Some(order) => early.push_back(order),
                }
            }
        }
    }

    async fn serve(
        &mut self,
        desk: &mut Desk,
        counter: &mut Counter<'_>,
        mut questions: Option<&mut mpsc::UnboundedReceiver<Question>>,
        process: &Process,
    ) -> Result<(), Broken> {
        loop {
            if !counter.is_open {
                desk.questions.clear(); // nobody will answer them: that is a no
                desk.close_elicitations();
                if desk.under_way.is_empty() && desk.early.is_empty() {
                    return self.is_done();
                }
            }
            let phase = desk.phase();
            // All of these can be cancelled without losing anything.
            tokio::select! {
                biased;
                halt = self.halts.next(phase, &desk.hands.stage) => {
                    self.note_stall();
                    self.wind_down(desk, &halt).await;
                    return Err(halt.into());
                }
                _ = process.gone() => {
                    let was_idle = desk.under_way.is_empty();
                    desk.settle(NOTICE).await;
                    return Err(if was_idle { self.left_by_itself() } else { Broken::Told });
                }
                Some(question) = next(questions.as_deref_mut()) => {
                    desk.asked(question);
                    desk.look_again();
                }
                () = sleep(MOMENT), if !desk.early.is_empty() => desk.look_again(),
                Some(done) = desk.under_way.join_next_with_id() => {
                    desk.done(done);
                    if let Some(ended) = desk.hands.stage.client.connection().ended() {
                        desk.settle(NOTICE).await;
                        return Err(ended.into());
                    }
                }
                order = counter.orders.recv(), if counter.is_open => match order {
                    None => counter.is_open = false,
                    Some(order) if is_kill(&order) => {
                        desk.clear();
                        return Err(killed(order, &desk.hands.stage));
                    }
                    Some(order) => desk.take(order),
                },
            }
        }
    }

    /// Ends all turns, and gives them some time to end.
    async fn wind_down(&mut self, desk: &mut Desk, halt: &Halt) {
        desk.hands.cancel_all();
        let time = if halt.is_urgent {
            Duration::ZERO
        } else {
            self.halts.grace.share()
        };
        tokio::select! {
            () = desk.settle(time) => {}
            () = self.halts.at_once() => {}
        }
        self.is_deaf = !desk.under_way.is_empty();
    }

    /// The agent has ended though nothing was asked of it. What it did before was good, but it cannot be kept any more.
    fn left_by_itself(&self) -> Broken {
        match self.stage.client.connection().ended() {
            Some(
                ended @ ConnectionError::Closed {
                    exit: Some(Exit::Code(1..) | Exit::Signal(_)),
                    ..
                },
            ) => stopped(Cause::AgentCrashed, ended.to_string(), None),
            _ => Broken::Told,
        }
    }

    /// All that was ordered is done. If that was nothing, nothing went wrong.
    fn is_done(&self) -> Result<(), Broken> {
        if let Some(stopped) = self.stage.last_stop() {
            return Err(Broken::Stopped(stopped));
        }
        if self.stage.has_prompted() {
            return self.check_budget();
        }
        Err(Broken::Stopped(Stopped {
            cause: Cause::EndTurn,
            message: String::new(),
            hint: None,
        }))
    }
}

fn is_kill(order: &Order) -> bool {
    matches!(order.command, Ok(Command::Kill(_)))
}

fn killed(order: Order, stage: &Stage) -> Broken {
    Label::of(order.id, &order.name).tell(stage, Ok(Done::default()));
    Broken::Stopped(cancelled())
}

async fn next(questions: Option<&mut mpsc::UnboundedReceiver<Question>>) -> Option<Question> {
    match questions {
        Some(questions) => questions.recv().await,
        None => std::future::pending().await,
    }
}

impl Desk {
    fn new(hands: Hands) -> Self {
        Self {
            hands,
            under_way: JoinSet::new(),
            labels: Vec::new(),
            questions: VecDeque::new(),
            withdrawn: VecDeque::new(),
            early: Vec::new(),
        }
    }

    fn phase(&self) -> Phase {
        let sessions = self.hands.stage.sessions().ids();
        if sessions.iter().any(|id| self.hands.stage.is_busy(id)) {
            Phase::Turn
        } else {
            Phase::Waiting
        }
    }

    /// What is quick is done at once, what takes time is under way.
    fn take(&mut self, order: Order) {
        let label = Label::of(order.id, &order.name);
        let command = match order.command {
            Err(message) => return label.tell(&self.hands.stage, Err(message.into())),
            Ok(Command::PermissionResponse(response)) => return self.reply(response, label),
            Ok(Command::ElicitationResponse(response)) => return self.fill_in(response, label),
            Ok(command) => command,
        };
        let spare = match command {
            Command::Interrupt(_) => MOST_INTERRUPTS,
            _ => 0,
        };
        if self.under_way.len() >= MOST + spare {
            let refused = format!("{MOST} commands are under way already");
            return label.tell(&self.hands.stage, Err(refused.into()));
        }
        let hands = self.hands.about(&label);
        let task = async move { hands.carry_out(command).await };
        self.labels.push((self.under_way.spawn(task).id(), label));
    }

    /// Something is done.
    fn done(&mut self, done: Result<(Id, Outcome), JoinError>) {
        let (id, outcome) = match done {
            Ok(done) => done,
            Err(error) => (error.id(), Err("it could not be carried out".into())),
        };
        let place = self.labels.iter().position(|(known, _)| *known == id);
        if let Some(place) = place {
            let (_, label) = self.labels.remove(place);
            label.tell(&self.hands.stage, outcome);
        }
    }

    /// Waits for what is under way, but only so long. Can be cancelled.
    async fn settle(&mut self, time: Duration) {
        let settled = async {
            while let Some(done) = self.under_way.join_next_with_id().await {
                self.done(done);
            }
        };
        let _ = tokio::time::timeout(time, settled).await;
    }

    /// Nothing is under way any more: each order has its result, whatever became of it.
    fn clear(&mut self) {
        while let Some(done) = self.under_way.try_join_next_with_id() {
            self.done(done);
        }
        self.under_way.abort_all();
        let early = std::mem::take(&mut self.early).into_iter();
        let labels = std::mem::take(&mut self.labels).into_iter();
        let labels = labels.map(|(_, label)| label);
        for label in labels.chain(early.map(|early| early.label)) {
            label.tell(&self.hands.stage, Err(TOO_LATE.into()));
        }
    }
}
