//! Asking the person at the terminal whether the agent may.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};

use lapidary::drive::talk::{Attendant, Question, Reply};
use lapidary::render::diff::unified;
use lapidary::render::plain::sanitize;
use lapidary::vocab::Text;
use lapidary::vocab::content::{ContentBlock, DiffBlock};
use lapidary::vocab::event::DecidedBy;
use tokio::sync::mpsc;

use crate::system;

/// So much of what the agent wants is shown. The rest is in the recording, and in no hurry.
const LONGEST: usize = 2000;

/// So many files are named.
const MOST_PATHS: usize = 10;

/// Who answers for the user, if somebody sits there.
pub(super) struct Asking {
    questions: mpsc::UnboundedReceiver<Question>,
    waiting: VecDeque<Question>,
    /// The one that stands on the terminal. Only that one is answered, whatever becomes of the others.
    put: Option<Question>,
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
    if !io::stderr().is_terminal() || system::terminal().is_err() {
        return None;
    }
    let (asks, questions) = mpsc::unbounded_channel(); // the agent's open requests are bounded
    let asking = Asking {
        questions,
        waiting: VecDeque::new(),
        put: None,
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

    /// Whether a question stands on the terminal that nobody wants answered any more.
    pub(super) fn is_withdrawn(&mut self) -> bool {
        let put = self.put.take_if(|question| question.reply.is_closed());
        put.is_some()
    }

    /// Puts the oldest question, if there is one. What was typed before it was seen is no answer to it.
    pub(super) fn put(&mut self) -> io::Result<()> {
        let Some(question) = self.waiting.pop_front() else {
            return Ok(());
        };
        system::forget_what_was_typed();
        self.typed.take_if(|typed| typed.is_closed()); // Ctrl-D ends one answer, not all
        let typed = self.typed.get_or_insert_with(read_lines);
        while typed.try_recv().is_ok() {}
        let mut err = io::stderr();
        writeln!(err, "{}", shown(&question))?;
        write!(
            err,
            "allow it? y = yes, n = no, anything else = no, for that reason: "
        )?;
        self.put = Some(question);
        err.flush()
    }

    /// Whether there is a question to be put.
    pub(super) fn is_open(&mut self) -> bool {
        self.waiting.retain(|question| !question.reply.is_closed());
        !self.waiting.is_empty()
    }

    /// Takes an answer to the question that stands there.
    pub(super) fn answer(&mut self, line: &str) {
        let Some(question) = self.put.take() else {
            return;
        };
        let word = line.trim();
        let allowed = matches!(word.to_lowercase().as_str(), "y" | "yes");
        let is_no = matches!(word.to_lowercase().as_str(), "" | "n" | "no");
        let is_reason = !allowed && !is_no;
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

/// What the agent wants, in its own words, which are hostile: first what is judged and granted, then how it puts it.
fn shown(question: &Question) -> String {
    let (request, deed) = (&question.request, &question.deed);
    let kind = &request.tool_kind;
    let title = request.title.as_ref().unwrap_or(&request.tool_name);
    let mut lines = vec![format!(
        "? the agent wants to {kind}: {}",
        one_line(&title.to_str())
    )];
    lines.extend(
        deed.command
            .as_ref()
            .map(|command| format!("  command: {}", bounded(command))),
    );
    let paths = deed.paths.iter().take(MOST_PATHS);
    lines.extend(paths.map(|path| format!("  file: {}", one_line(&path.display().to_string()))));
    if let Some(more @ 1..) = deed.paths.len().checked_sub(MOST_PATHS) {
        lines.push(format!("  and {more} more files"));
    }
    let diffs = request.content.iter().filter_map(|block| match block {
        ContentBlock::Diff(diff) => Some(diff),
        _ => None,
    });
    let changes: Vec<_> = diffs.map(change).collect();
    let is_shown = deed.command.is_some() || !changes.is_empty();
    lines.extend(changes);
    let input = request.tool_input.to_display();
    if !is_shown && input != "{}" {
        lines.push(format!("  {}", bounded(&input)));
    }
    lines.push(format!("  {}", one_line(&question.reason)));
    lines.join("\n")
}

/// The change of a file that is to be approved, as a unified diff.
fn change(diff: &DiffBlock) -> String {
    let path = diff.path.as_ref().map(Text::to_str).unwrap_or_default();
    let old = diff.old_text.as_ref().filter(|text| !text.is_empty());
    let new = diff.new_text.as_ref().map(Text::to_str).unwrap_or_default();
    let change = match &diff.unified {
        Some(unified) => unified.to_string(),
        None => unified(&path, old.map(Text::to_str).as_deref(), &new),
    };
    format!("    {}", bounded(change.trim_end()))
}

/// Something that may have several lines, none of which passes for one of ours. What is not shown is counted.
fn bounded(text: &str) -> String {
    let clean = sanitize(text).replace('\n', "\n    ");
    let shown: String = clean.chars().take(LONGEST).collect();
    match clean.chars().count() - shown.chars().count() {
        0 => shown,
        more => format!("{shown}\n    … and {more} more characters, which are not shown"),
    }
}

fn one_line(text: &str) -> String {
    bounded(&text.replace(['\n', '\r'], " "))
}

/// Reads on a thread of its own, which ends with us: a read of a terminal cannot be given up.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel(); // as fast as somebody types
    let body = move || {
        let Ok(terminal) = system::terminal() else {
            return;
        };
        for line in BufReader::new(terminal).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        let _ = sender.send(String::new()); // Ctrl-D is no answer, and so a no
    };
    let _ = std::thread::Builder::new()
        .name("lapidary-terminal".to_owned())
        .spawn(body);
    lines
}

#[cfg(test)]
mod tests {
    use lapidary::drive::policy::Deed;
    use lapidary::vocab::event::{PermissionRequest, ToolKind};
    use lapidary::vocab::{Json, Text};
    use tokio::sync::oneshot;

    use super::*;

    fn question(command: &str, reason: &str) -> (Question, oneshot::Receiver<Reply>) {
        let (reply, replied) = oneshot::channel();
        let request = PermissionRequest {
            request_id: Text::from("0"),
            tool_name: Text::from(command.to_owned()),
            tool_kind: ToolKind::Execute,
            tool_input: Json::empty_object(),
            tool_use_id: None,
            title: None,
            command: None,
            content: Vec::new(),
            options: Vec::new(),
            reason: None,
            blocked_path: None,
            suggestions: Vec::new(),
        };
        let deed = Deed {
            kind: ToolKind::Execute,
            tool: None,
            title: None,
            command: Some(command.to_owned()),
            paths: Vec::new(),
            is_unclear: false,
            shows_diff: false,
            mcp_server: None,
        };
        let question = Question {
            request,
            session_id: Text::from("s"),
            deed,
            options: None,
            reason: reason.to_owned(),
            reply,
        };
        (question, replied)
    }

    #[test]
    fn an_answer_is_to_the_question_that_stands_there_and_to_no_other() {
        let (_asks, questions) = mpsc::unbounded_channel();
        let (first, gone) = question("ls", "");
        let (second, mut replied) = question("rm -rf x", "");
        let mut asking = Asking {
            questions,
            waiting: VecDeque::from([second]),
            put: Some(first),
            typed: None,
        };
        drop(gone);
        asking.answer("y");
        assert!(replied.try_recv().is_err(), "nobody was asked about it yet");
        assert!(asking.is_open());
        asking.put = asking.waiting.pop_front();
        assert!(!asking.is_withdrawn());
        asking.answer("y");
        assert!(replied.try_recv().unwrap().allowed);
    }

    #[test]
    fn a_question_about_an_edit_shows_the_diff_and_not_the_arguments() {
        let (mut question, _) = question("", "an edit needs permission");
        question.deed.kind = ToolKind::Edit;
        question.deed.command = None;
        question.deed.paths = vec!["/p/a.txt".into()];
        question.request.tool_kind = ToolKind::Edit;
        question.request.title = Some(Text::from("a.txt"));
        question.request.tool_input = Json::from_value(&serde_json::json!({"file_path": "a.txt"}));
        let diff = |old: Option<&'static str>, new: &'static str| {
            ContentBlock::Diff(DiffBlock {
                path: Some(Text::from("a.txt")),
                old_text: old.map(Text::from),
                new_text: Some(Text::from(new)),
                unified: None,
            })
        };
        question.request.content = vec![diff(Some("one\nalpha\n"), "one\nbe\u{1b}[2Jta\n")];
        let edited = shown(&question);
        let head = "? the agent wants to edit: a.txt\n  file: /p/a.txt\n    --- a/a.txt\n    +++ b/a.txt\n";
        assert!(edited.starts_with(head), "{edited}");
        assert!(edited.contains("\n    -alpha\n    +be"), "{edited}");
        assert!(edited.ends_with("\n  an edit needs permission"), "{edited}");
        assert!(!edited.contains(['\u{1b}', '{']), "{edited:?}");
        question.request.content = vec![diff(None, "new\n")];
        assert!(shown(&question).contains("\n    --- /dev/null\n"));
    }

    #[test]
    fn what_is_shown_does_nothing_to_the_terminal_and_hides_nothing() {
        let long = format!("ls \u{1b}[2J\u{7}#{}\nrm -rf x", "a".repeat(LONGEST));
        let (question, _) = question(&long, "\u{1b}]0;pwned\u{7}why");
        let shown = shown(&question);
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
        assert!(
            shown.contains("more characters, which are not shown"),
            "{shown}"
        );
        assert!(shown.contains("why"), "{shown}");
    }
}
