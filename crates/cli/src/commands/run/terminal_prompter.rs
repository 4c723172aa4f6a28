//! Asking the user at the terminal whether the agent may.

mod prompt_text;

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::sync::Arc;

use lapidary::engine::conversation::{PermissionAnswer, PermissionPrompt, PromptAttendant};
use lapidary::render::live::LiveOptions;
use lapidary::vocab::event::DecidedBy;
use lapidary::vocab::{Body, Event, Text};
use tokio::sync::mpsc;

use self::prompt_text::{PromptExtent, ShownPrompt, shown_prompt};
use crate::invocation::Invocation;
use crate::live::terminal;
use crate::system;

/// Lines of the terminal that are reserved for the text around a command or a change.
const LINES_AROUND: usize = 10;

/// How many lines of a command or a change are shown at least and at most before it is cut.
const FEWEST_LINES: usize = 8;
const MOST_LINES: usize = 60;

/// A question whose event does not come is put after so many frames all the same.
const MOST_FRAMES: u32 = 20;

/// How many ids of requests are remembered.
const MOST_REQUESTED: usize = 256;

/// Words that are neither a clear yes nor a reason for a no. The question is put again.
const UNCLEAR: [&str; 12] = [
    "ok",
    "okay",
    "allow",
    "sure",
    "yep",
    "yeah",
    "yes!",
    "please",
    "help",
    "deny",
    "allow once",
    "once",
];

/// Puts permission prompts to the user at the terminal.
pub(super) struct TerminalPrompter {
    invocation: Arc<Invocation>,
    questions: mpsc::UnboundedReceiver<PermissionPrompt>,
    waiting: VecDeque<PermissionPrompt>,
    /// The question on the terminal. An answer is for this one only, even if others come or are withdrawn.
    put: Option<PermissionPrompt>,
    /// Whether a question was withdrawn while it was on the terminal: the next typed line may be meant for that one.
    was_withdrawn: bool,
    /// Whether a yes to the question on the terminal counts only when it is typed again.
    needs_second_yes: bool,
    typed: Option<mpsc::UnboundedReceiver<String>>,
    /// The ids of requests whose events were shown, and with them all events before.
    requested: VecDeque<Text>,
    /// For how many frames the oldest question has waited for its event.
    frames_waited: u32,
    colour: bool,
}

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
enum TypedAnswer {
    Yes,
    Always,
    /// No, with the reason, if one was typed.
    No(Option<String>),
    /// Show everything.
    View,
    Unclear,
}

impl TypedAnswer {
    fn parse(line: &str) -> Self {
        let word = line.trim();
        match word.to_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "a" | "always" => Self::Always,
            "" | "n" | "no" => Self::No(None),
            "v" | "view" => Self::View,
            other if other.chars().count() == 1 || UNCLEAR.contains(&other) => Self::Unclear,
            _ => Self::No(Some(word.to_owned())),
        }
    }
}

/// A new question or a typed line.
pub(super) enum NextPrompt {
    /// A question has come.
    Asked,
    /// A line was typed.
    Typed(String),
}

/// Questions need stderr on a terminal, and a terminal to type on.
pub(super) fn terminal_attendance(
    invocation: &Arc<Invocation>,
) -> Option<(PromptAttendant, TerminalPrompter)> {
    if !invocation.is_stderr_terminal() || system::open_terminal().is_err() {
        return None;
    }
    let (asks, questions) = mpsc::unbounded_channel(); // the agent's open requests are bounded
    let asking = TerminalPrompter {
        questions,
        waiting: VecDeque::new(),
        put: None,
        was_withdrawn: false,
        needs_second_yes: false,
        typed: None,
        requested: VecDeque::new(),
        frames_waited: 0,
        colour: invocation.can_colour(),
        invocation: invocation.clone(),
    };
    Some((PromptAttendant::Somebody(asks), asking))
}

impl TerminalPrompter {
    /// The next question, or a typed line. Cancel-safe.
    pub(super) async fn next(&mut self) -> NextPrompt {
        tokio::select! {
            Some(question) = self.questions.recv() => {
                self.waiting.push_back(question);
                NextPrompt::Asked
            }
            Some(line) = next_line(self.typed.as_mut()) => NextPrompt::Typed(line),
            else => std::future::pending().await,
        }
    }

    /// Whether the question on the terminal was withdrawn. If so, takes it away.
    pub(super) fn take_withdrawn(&mut self) -> bool {
        let put = self.put.take_if(|question| question.reply.is_closed());
        self.was_withdrawn |= put.is_some();
        put.is_some()
    }

    /// Puts the oldest question, if there is one. Input that was typed before is discarded: it is no answer to it.
    pub(super) fn put_oldest(&mut self) -> io::Result<()> {
        let Some(question) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.frames_waited = 0;
        system::forget_what_was_typed();
        self.typed.take_if(|typed| typed.is_closed()); // Ctrl-D ends one answer, not all
        let typed = self.typed.get_or_insert_with(read_lines);
        while typed.try_recv().is_ok() {}
        self.put = Some(question);
        self.needs_second_yes = std::mem::take(&mut self.was_withdrawn);
        self.show_prompt(prompt_extent(&self.invocation))
    }

    /// Shows the question that is put, and asks.
    fn show_prompt(&self, extent: PromptExtent) -> io::Result<()> {
        let Some(question) = &self.put else {
            return Ok(());
        };
        let prompt = shown_prompt(
            question,
            extent,
            live_options(&self.invocation, self.colour),
        );
        let mut err = self.invocation.stderr_writer();
        write!(err, "{}", prompt.text)?;
        ask_for_answer(&prompt, &self.invocation)
    }

    /// These events were shown.
    pub(super) fn note_shown(&mut self, events: &[Event]) {
        for event in events {
            if let Body::PermissionRequest(request) = &event.body {
                self.requested.push_back(request.request_id.detached());
            }
        }
        let excess = self.requested.len().saturating_sub(MOST_REQUESTED);
        self.requested.drain(..excess);
    }

    /// Whether there is a question to be put: one whose event was shown, and with it everything that led to it. To be asked once a
    /// frame.
    pub(super) fn count_frame(&mut self) -> bool {
        self.waiting.retain(|question| !question.reply.is_closed());
        let Some(oldest) = self.waiting.front() else {
            self.frames_waited = 0;
            return false;
        };
        self.frames_waited += 1;
        self.requested.contains(&oldest.request.request_id) || self.frames_waited > MOST_FRAMES
    }

    /// Takes a typed line as an answer to the question on the terminal. Returns whether it is one.
    pub(super) fn take_answer(&mut self, line: &str) -> io::Result<bool> {
        let Some(question) = &self.put else {
            return Ok(true);
        };
        let prompt = shown_prompt(
            question,
            prompt_extent(&self.invocation),
            live_options(&self.invocation, false),
        );
        let answer = TypedAnswer::parse(line);
        let is_yes = matches!(answer, TypedAnswer::Yes | TypedAnswer::Always);
        if is_yes && std::mem::take(&mut self.needs_second_yes) {
            writeln!(
                self.invocation.stderr_writer(),
                "  The request before this one was withdrawn. If you mean this one, answer again."
            )?;
            return ask_for_answer(&prompt, &self.invocation).map(|()| false);
        }
        let (allowed, is_for_run, why) = match answer {
            TypedAnswer::Yes => (true, false, None),
            TypedAnswer::Always if prompt.always.is_some() => (true, true, None),
            TypedAnswer::No(why) => (false, false, why),
            TypedAnswer::View => return self.show_prompt(PromptExtent::Whole).map(|()| false),
            TypedAnswer::Always | TypedAnswer::Unclear => {
                let choices = if prompt.always.is_some() {
                    "y, a or n"
                } else {
                    "y or n"
                };
                writeln!(
                    self.invocation.stderr_writer(),
                    "  Answer {choices}, or type a reason."
                )?;
                return ask_for_answer(&prompt, &self.invocation).map(|()| false);
            }
        };
        if let Some(always) = prompt.always.filter(|_| is_for_run) {
            writeln!(
                self.invocation.stderr_writer(),
                "  Allowed in this run: {always}"
            )?;
        }
        if let Some(question) = self.put.take() {
            let _ = question.reply.send(PermissionAnswer {
                allowed,
                is_for_run,
                option_id: None,
                reason: why.map(|why| format!("the user denied it: {why}")),
                by: DecidedBy::User,
            }); // it may have been withdrawn just now
        }
        Ok(true)
    }
}

fn ask_for_answer(prompt: &ShownPrompt, invocation: &Invocation) -> io::Result<()> {
    let mut err = invocation.stderr_writer();
    write!(
        err,
        "{}",
        question_line(prompt, terminal::terminal_size(invocation).width)
    )?;
    err.flush()
}

/// The line behind which the answer is typed: whole, or in short where it would not fit.
fn question_line(prompt: &ShownPrompt, width: u16) -> String {
    let (can_always, is_cut) = (prompt.always.is_some(), prompt.is_cut);
    let always = if can_always {
        " / [a]lways in this run"
    } else {
        ""
    };
    let view = if is_cut { " / [v]iew all" } else { "" };
    let whole = format!("Allow? [y]es{always} / [n]o{view} (or type a reason): ");
    if whole.len() < usize::from(width) {
        return whole;
    }
    let always = if can_always { "/a" } else { "" };
    let view = if is_cut { "/v" } else { "" };
    format!("Allow? y{always}/n{view}: ")
}

/// As much of a command or a change as fits the terminal.
fn prompt_extent(invocation: &Invocation) -> PromptExtent {
    let height = usize::from(terminal::terminal_size(invocation).height);
    let lines = height.saturating_sub(LINES_AROUND);
    PromptExtent::Lines(lines.clamp(FEWEST_LINES, MOST_LINES))
}

/// How the terminal shows a command or a change.
fn live_options(invocation: &Invocation, colour: bool) -> LiveOptions {
    LiveOptions {
        size: terminal::terminal_size(invocation),
        colour,
        marks: terminal::locale_marks(invocation),
    }
}

async fn next_line(typed: Option<&mut mpsc::UnboundedReceiver<String>>) -> Option<String> {
    match typed {
        Some(typed) => typed.recv().await,
        None => None,
    }
}

/// Reads on a thread of its own, which ends with us: a read of a terminal cannot be given up.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel(); // unbounded: a person types slowly
    let body = move || {
        let Ok(terminal) = system::open_terminal() else {
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
    use lapidary::engine::policy::ToolAction;
    use lapidary::render::live::{MarkSet, TerminalSize};
    use lapidary::vocab::Json;
    use lapidary::vocab::content::{ContentBlock, DiffBlock};
    use lapidary::vocab::event::{PermissionRequest, ToolKind};
    use tokio::sync::oneshot;

    use super::*;

    fn question(
        command: &str,
        reason: &str,
    ) -> (PermissionPrompt, oneshot::Receiver<PermissionAnswer>) {
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
        let action = ToolAction {
            command: Some(command.to_owned()),
            ..ToolAction::new(ToolKind::Execute)
        };
        let question = PermissionPrompt {
            request,
            session_id: Text::from("s"),
            action,
            options: None,
            reason: reason.to_owned(),
            reply,
        };
        (question, replied)
    }

    fn asking(question: PermissionPrompt) -> TerminalPrompter {
        let (_, questions) = mpsc::unbounded_channel();
        TerminalPrompter {
            questions,
            waiting: VecDeque::new(),
            put: Some(question),
            was_withdrawn: false,
            needs_second_yes: false,
            invocation: Arc::new(Invocation::from_process()),
            typed: None,
            requested: VecDeque::new(),
            frames_waited: 0,
            colour: false,
        }
    }

    const PLAIN: LiveOptions = LiveOptions {
        size: TerminalSize {
            width: 80,
            height: 24,
        },
        colour: false,
        marks: MarkSet::Unicode,
    };

    fn prompt(question: &PermissionPrompt) -> ShownPrompt {
        shown_prompt(question, PromptExtent::Lines(20), PLAIN)
    }

    #[test]
    fn a_title_cannot_pass_for_a_line_of_ours_on_a_narrow_terminal() {
        let spoof = format!("{}Allow? [y]es / [n]o: ", "x ".repeat(30));
        for width in 8..90 {
            let (mut asked, _reply) = question("ls", &spoof);
            asked.request.title = Some(Text::from(spoof.clone()));
            let size = TerminalSize { width, height: 24 };
            let options = LiveOptions { size, ..PLAIN };
            let shown = shown_prompt(&asked, PromptExtent::Lines(20), options);
            for line in shown.text.lines() {
                let is_ours = line.starts_with("? ") || line.starts_with("  ");
                assert!(is_ours, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn a_yes_that_may_be_meant_for_a_withdrawn_question_is_asked_for_again() {
        let (first, reply) = question("ls", "");
        let mut prompter = asking(first);
        drop(reply);
        assert!(prompter.take_withdrawn());
        let (second, mut reply) = question("rm -rf src", "");
        prompter.waiting.push_back(second);
        prompter.put_oldest().unwrap();
        assert!(!prompter.take_answer("y").unwrap());
        assert!(reply.try_recv().is_err());
        assert!(prompter.take_answer("y").unwrap());
        assert!(reply.try_recv().unwrap().allowed);
        // The question after it is as any other.
        let (third, mut reply) = question("ls", "");
        prompter.waiting.push_back(third);
        prompter.put_oldest().unwrap();
        assert!(prompter.take_answer("y").unwrap());
        assert!(reply.try_recv().unwrap().allowed);
    }

    #[test]
    fn the_question_fits_a_narrow_terminal() {
        let (asked, _reply) = question("ls", "");
        let mut prompt = prompt(&asked);
        assert_eq!(
            question_line(&prompt, 80),
            "Allow? [y]es / [a]lways in this run / [n]o (or type a reason): "
        );
        assert_eq!(question_line(&prompt, 40), "Allow? y/a/n: ");
        prompt.always = None;
        prompt.is_cut = true;
        assert_eq!(question_line(&prompt, 40), "Allow? y/n/v: ");
    }

    #[test]
    fn a_question_waits_for_what_led_to_it_but_not_for_ever() {
        let (asked, _reply) = question("ls", "");
        let request = asked.request.clone();
        let mut asking = asking(asked);
        asking.waiting.extend(asking.put.take());
        assert!(!asking.count_frame());
        let line =
            r#"{"event":"text","text":"hi","kind":"text","id":"r-0","seq":0,"provider":"acp"}"#;
        let mut event = Event::from_json(line).unwrap();
        asking.note_shown(std::slice::from_ref(&event));
        assert!(!asking.count_frame());
        event.body = Body::PermissionRequest(Box::new(request));
        asking.note_shown(&[event]);
        assert!(asking.count_frame());
        asking.requested.clear();
        let waited = (0..=MOST_FRAMES).filter(|_| !asking.count_frame()).count();
        assert!(waited > 10 && asking.count_frame(), "{waited}");
    }

    #[test]
    fn an_answer_is_to_the_question_that_stands_there_and_to_no_other() {
        let (first, gone) = question("ls", "");
        let (second, mut replied) = question("rm -rf x", "");
        let mut asking = asking(first);
        asking.waiting.push_back(second);
        drop(gone);
        assert!(asking.take_answer("y").unwrap());
        assert!(replied.try_recv().is_err(), "nobody was asked about it yet");
        asking.requested.push_back(Text::from("0"));
        assert!(asking.count_frame());
        asking.put = asking.waiting.pop_front();
        assert!(!asking.take_withdrawn());
        assert!(asking.take_answer("y").unwrap());
        assert!(replied.try_recv().unwrap().allowed);
    }

    #[test]
    fn typed_text_answers_a_prompt_or_leaves_it_open() {
        let reply = |typed: &str| {
            let (question, mut replied) = question("ls", "");
            let is_answered = asking(question).take_answer(typed).unwrap();
            let reply = replied.try_recv().ok();
            assert_eq!(is_answered, reply.is_some(), "{typed}");
            reply.map(|reply| (reply.allowed, reply.is_for_run, reply.reason))
        };
        for (typed, expected) in [
            ("y", Some((true, false, None))),
            (" Yes ", Some((true, false, None))),
            ("a", Some((true, true, None))),
            ("Always", Some((true, true, None))),
            ("n", Some((false, false, None))),
            ("", Some((false, false, None))),
            ("v", None),
            ("ok", None),
            ("x", None),
            ("é", None),
        ] {
            assert_eq!(reply(typed), expected, "{typed}");
        }
        let why = Some("the user denied it: use the other file".to_owned());
        assert_eq!(reply("use the other file"), Some((false, false, why)));
    }

    #[test]
    fn always_is_not_taken_for_a_reason_where_it_is_not_offered() {
        let (mut question, mut replied) = question("ls", "");
        question.action.is_unclear = true;
        assert_eq!(prompt(&question).always, None);
        assert!(!asking(question).take_answer("always").unwrap());
        assert!(replied.try_recv().is_err());
    }

    #[test]
    fn a_prompt_shows_the_command_and_what_always_means() {
        let (question, _) = question("git push", "the mode `default` asks");
        assert_eq!(
            prompt(&question).text,
            "? The agent wants to run a command: git push\n  │ $ git push\n  Why this is asked: the mode `default` asks\n  \
             Always would allow: the command `git push`\n"
        );
    }

    #[test]
    fn a_prompt_about_an_edit_shows_the_diff_and_not_the_arguments() {
        let (mut question, _) = question("", "an edit needs permission");
        question.action.kind = ToolKind::Edit;
        question.action.command = None;
        question.action.paths = vec!["/p/a.txt".into()];
        question.request.tool_kind = ToolKind::Edit;
        question.request.title = Some(Text::from("a.txt"));
        question.request.tool_input = Json::from_value(&serde_json::json!({"file_path": "a.txt"}));
        let diff = |old: Option<&'static str>, new: &'static str| {
            ContentBlock::Diff(DiffBlock {
                path: Some(Text::from("/p/a.txt")),
                old_text: old.map(Text::from),
                new_text: Some(Text::from(new)),
                unified: None,
            })
        };
        question.request.content = vec![diff(Some("one\nalpha\n"), "one\nbe\u{1b}[2Jta\n")];
        let edited = prompt(&question).text;
        let head =
            "? The agent wants to edit a file: a.txt\n  file: /p/a.txt\n  │ @@ -1,2 +1,2 @@\n";
        assert!(edited.starts_with(head), "{edited}");
        assert!(edited.contains("\n  │ -alpha\n  │ +be"), "{edited}");
        assert!(
            edited.contains("Always would allow: edits of `/p/a.txt`"),
            "{edited}"
        );
        assert!(edited.contains("+be\\u{1b}[2Jta"), "{edited}");
        assert!(!edited.contains(['\u{1b}', '"']), "{edited:?}");
        question.request.content = vec![diff(None, "new\n")];
        assert!(prompt(&question).text.contains("\n  │ --- /dev/null\n"));
    }

    #[test]
    fn a_prompt_hides_no_word_of_a_command() {
        let spoof = "ls \u{1b}]0; touch pwned; echo \u{7}\u{200b}";
        let shown = "ls \\u{1b}]0; touch pwned; echo \\u{7}\\u{200b}";
        let (mut question, _) = question(spoof, "why");
        question.request.title = Some(Text::from(spoof));
        question.action.paths = vec!["/p/a\u{1b}]0;b\u{7}".into()];
        assert_eq!(
            prompt(&question).text.replace("\n    ", " "),
            format!(
                "? The agent wants to run a command: {shown}\n  file: /p/a\\u{{1b}}]0;b\\u{{7}}\n  │ $ {shown}\n  \
                 Why this is asked: why\n  Always would allow: the command `{shown}`\n"
            )
        );
        question.action.command = None;
        question.request.tool_input = Json::from_value(&serde_json::json!({"text": spoof}));
        assert!(
            prompt(&question).text.contains("touch pwned"),
            "{question:?}"
        );
    }

    #[test]
    fn a_prompt_shows_both_ends_of_a_long_path() {
        let (mut question, _) = question("", "");
        question.action.command = None;
        question.action.paths = vec![format!("/p/{}/authorized_keys", "x".repeat(400)).into()];
        let shown = prompt(&question).text.replace("\n    ", "");
        assert!(shown.contains("file:/p/xxx"), "{shown}");
        assert!(shown.contains("xxx/authorized_keys\n"), "{shown}");
    }

    #[test]
    fn a_prompt_strips_terminal_escapes_and_counts_the_lines_it_cuts() {
        let long = format!(
            "ls \u{1b}[2J\u{7}#{}\n{}",
            "a".repeat(500),
            "x\n".repeat(30)
        );
        let (question, _) = question(&long, "\u{1b}]0;pwned\u{7}why");
        let cut = prompt(&question);
        assert!(!cut.text.contains(['\u{1b}', '\u{7}']), "{cut:?}");
        assert!(
            cut.is_cut && cut.text.contains("17 more lines; `v` shows everything"),
            "{cut:?}"
        );
        assert!(cut.text.contains("why"), "{cut:?}");
        let whole = shown_prompt(&question, PromptExtent::Whole, PLAIN);
        assert!(
            !whole.is_cut && whole.text.matches('a').count() > 500,
            "{whole:?}"
        );
        let lines = whole.text.lines().filter(|line| *line == "  │   x").count();
        assert_eq!(lines, 30);
    }
}
