//! A conversation with an agent that speaks ACP: one errand with [`run`], or as many prompts and sessions as somebody likes with
//! [`connect`].
//!
//! Four things go on at the same time, on a thread of their own, and none waits for another:
//!
//! * the *course* opens sessions, gives prompts and ends the agent (`course`, `opening`, `turn`, `orders`);
//! * the *answers* to what the agent asks of us: may it, what is in that file, run this (`answers`, `asking`);
//! * a *watcher* sees each line as it comes and knows what the agent is doing, for the other two (`watcher`);
//! * the *translation* of what both sides said goes to whoever reads it, at the reader's pace (`translation`).

mod answers;
mod asking;
mod course;
mod ending;
mod halts;
mod marks;
mod opening;
mod orders;
mod request;
mod sessions;
mod stage;
mod translation;
mod turn;
mod watcher;

use lapidary_vocab::Json;
use lapidary_vocab::command::Command;
use tokio::sync::mpsc;

pub use asking::{Attendant, Question, Reply};
pub use request::{Errand, ModeWords, Opening, Request};

use crate::run::Run;

/// Runs an errand: one session, one prompt, and how it went. The last event is the one `run_end`.
pub fn run(request: Request, errand: Errand) -> Run {
    let options = request.run.options.clone();
    Run::on_a_thread(options, move |stops, batches| {
        course::run(request, errand, stops, batches)
    })
}

/// Starts an agent and keeps it until it is not wanted any more.
pub fn connect(request: Request) -> Conversation {
    let (sender, orders) = mpsc::unbounded_channel();
    let options = request.run.options.clone();
    let run = Run::on_a_thread(options, move |stops, batches| {
        course::keep(request, orders, stops, batches)
    });
    Conversation {
        run,
        orders: Orders(sender),
    }
}

/// An agent that is kept.
#[derive(Debug)]
pub struct Conversation {
    /// All that happens.
    pub run: Run,
    /// To say what is to be done. When the last clone is dropped, the conversation ends once nothing is going on any more.
    pub orders: Orders,
}

/// Gives orders in a conversation.
#[derive(Debug, Clone)]
pub struct Orders(mpsc::UnboundedSender<Order>);

impl Orders {
    /// Gives an order. It has a `command_result` when it is carried out; one that comes too late has none.
    pub fn give(&self, order: Order) {
        let _ = self.0.send(order);
    }
}

/// Something that is to be done.
#[derive(Debug, Clone)]
pub struct Order {
    /// By what its result can be told.
    pub id: Option<Json>,
    /// What.
    pub command: Command,
}
