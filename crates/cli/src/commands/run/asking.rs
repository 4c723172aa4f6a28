//! Asking the person at the terminal whether the agent may.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};

use lapidary::drive::talk::{Attendant, Question, Reply};
use lapidary::render::plain::sanitize;
use lapidary::vocab::event::DecidedBy;
use tokio::sync::mpsc;

use crate::system;

/// So much of what the agent wants is shown. The rest is in the recording, and in no hurry.
const LONGEST: usize = 2000;

/// Who answers for the user, if somebody sits there.
pub(super) struct Asking {
    questions: mpsc::UnboundedReceiver<Question>,
    waiting: VecDeque<Question>,
    typed: Option<mpsc::UnboundedReceiver<String>>,
}

/// What is to be done next.
pub(super) enum Next {
    /// A question has come.
    Asked,
    /// A line was typed.
    Typed(String),
}

/// Questions need somebody who can see them and somebody who can type.
pub(super) fn attended() -> Option<(Attendant, Asking)> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let (asks, questions) = mpsc::unbounded_channel(); // the agent's open requests are bounded
    let asking = Asking {
        questions,
        waiting: VecDeque::new(),
        typed: None,
    };
    Some((Attendant::Somebody(asks), asking))
}

impl Asking {
    /// The next question, or what was typed. Can be cancelled.
    pub(super) async fn next(&mut self) -> Next {
        tokio::select! {
            Some(question) = self.questions.recv() => {
                self.waiting.push_back(question);
                Next::Asked
            }
            Some(line) = next_line(self.typed.as_mut()) => Next::Typed(line),
            else => std::future::pending().await,
        }
    }

    /// Whether an answer is awaited. Questions that were withdrawn are none.
    pub(super) fn is_open(&mut self) -> bool {
        self.waiting.retain(|question| !question.reply.is_closed());
        !self.waiting.is_empty()
    }

    /// Puts the oldest question. What was typed before it was seen is no answer to it.
    pub(super) fn put(&mut self) -> io::Result<()> {
        let Some(question) = self.waiting.front() else {
            return Ok(());
        };
        system::forget_what_was_typed();
        let typed = self.typed.get_or_insert_with(read_lines);
        while typed.try_recv().is_ok() {}
        let mut err = io::stderr();
        writeln!(err, "{}", shown(question))?;
        write!(
            err,
            "allow it? y = yes, n = no, anything else = no, for that reason: "
        )?;
        err.flush()
    }

    /// Takes an answer to the oldest question.
    pub(super) fn answer(&mut self, line: &str) {
        let Some(question) = self.waiting.pop_front() else {
            return;
        };
        let word = line.trim();
        let allowed = matches!(word, "y" | "Y" | "yes");
        let is_reason = !allowed && !matches!(word, "" | "n" | "N" | "no");
        let _ = question.reply.send(Reply {
            allowed,
            option_id: None,
            reason: is_reason.then(|| format!("the user denied it: {word}")),
            by: DecidedBy::User,
        }); // it may have been withdrawn just now
    }
}

async fn next_line(typed: Option<&mut mpsc::UnboundedReceiver<String>>) -> Option<String> {
    match typed {
        Some(typed) => typed.recv().await,
        None => None,
    }
}

/// What the agent wants, in its own words, which are hostile.
fn shown(question: &Question) -> String {
    let request = &question.request;
    let input = request.tool_input.to_display();
    let input: String = sanitize(&input).chars().take(LONGEST).collect();
    let name = sanitize(&request.tool_name.to_str()).replace('\n', " ");
    let input = match input.as_str() {
        "{}" => String::new(),
        input => format!("\n  {}", input.replace('\n', "\n  ")),
    };
    format!(
        "? the agent wants to {}: {name}{input}\n  {}",
        request.tool_kind, question.reason
    )
}

/// Reads on a thread of its own, which ends with us: a read of a terminal cannot be given up.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel(); // as fast as somebody types
    let body = move || {
        let Ok(terminal) = system::stdin() else {
            return;
        };
        for line in BufReader::new(terminal).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    let _ = std::thread::Builder::new()
        .name("lapidary-terminal".to_owned())
        .spawn(body);
    lines
}
