//! Asks before another author's instructions become part of a prompt.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::anyhow;
use lapidary::gemini::skills::{InstallMode, SkillDefinition, SkillPackage};
use lapidary::render::plain::reveal;

use super::stop::StopListener;
use crate::failure::Failure;
use crate::invocation::Invocation;

const WARNING: &str = "Agent skills inject specialized instructions and domain-specific knowledge into the agent's system prompt. This can change how the agent interprets your requests and interacts with your environment. Review the skill definitions at the location(s) provided below to ensure they meet your security standards.";

/// How often the wait for an answer checks for a signal to end.
const LOOK: Duration = Duration::from_millis(50);

/// How many letters of a description are shown.
const LONGEST: usize = 500;

/// How many names one sentence lists.
const MOST_NAMED: usize = 20;

/// The skills that the user is asked to consent to.
pub(super) struct ConsentQuestion<'a> {
    pub(super) invocation: &'a Arc<Invocation>,
    pub(super) package: &'a SkillPackage,
    /// Its source, without a password.
    pub(super) source: &'a str,
    pub(super) target: &'a Path,
    pub(super) way: InstallMode,
}

impl ConsentQuestion<'_> {
    /// Describes the skills, and asks. True if the user agrees.
    pub(super) fn obtain_consent(
        &self,
        is_given_already: bool,
        stop: &StopListener,
    ) -> Result<bool, Failure> {
        if is_given_already {
            self.invocation
                .print_message("You have consented to the following:");
        }
        self.describe_skills();
        if is_given_already {
            return Ok(true);
        }
        if !self.invocation.can_ask() {
            let failure = Failure::usage(anyhow!("cannot ask for confirmation without a terminal"));
            return Err(failure.with_hint("look at the skills, then say --consent"));
        }
        self.say_replaced();
        ask_to_continue(stop, self.invocation).map_err(Failure::from)
    }

    /// Gemini CLI says it when it has been done.
    fn say_replaced(&self) {
        let mut names = self.package.replaced(self.target);
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        let mut said: Vec<_> = names.into_iter().map(in_short).collect();
        if more > 0 {
            said.push(format!("and {more} more"));
        }
        if !said.is_empty() {
            self.invocation.print_message(&format!(
                "note: replaces what is there already: {}",
                said.join(", ")
            ));
        }
    }

    fn describe_skills(&self) {
        let (doing, label) = match self.way {
            InstallMode::Copy => ("Installing", "Install"),
            InstallMode::Link => ("Linking", "Link"),
        };
        self.invocation.print_message(&format!(
            r#"{doing} agent skill(s) from "{}"."#,
            self.source
        ));
        self.invocation.print_message("");
        let doing = doing.to_lowercase();
        self.invocation
            .print_message(&format!("The following agent skill(s) will be {doing}:"));
        self.invocation.print_message("");
        for skill in &self.package.skills {
            let (name, about) = (in_short(&skill.name), in_short(&skill.description));
            self.invocation
                .print_message(&format!("  * {name}: {about}"));
            let location = in_line(&skill.location.display().to_string());
            self.invocation.print_message(&format!(
                "    (Source: {location}){}",
                item_count_text(skill)
            ));
            self.invocation.print_message("");
        }
        self.invocation
            .print_message(&format!("{label} Destination: {}", self.target.display()));
        self.invocation.print_message("");
        self.invocation.print_message(WARNING);
    }
}

/// Foreign text on one line, with all that is hidden in it: a further line could pass for one of ours, and the model reads hidden words.
fn in_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    reveal(&words.join(" ")).into_owned()
}

/// The same, cut so that it does not push our own text off the screen.
fn in_short(text: &str) -> String {
    let line = in_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn item_count_text(skill: &SkillDefinition) -> String {
    match fs::read_dir(skill.directory()) {
        Ok(entries) => format!(" ({} items in directory)", entries.count()),
        Err(_) => " (Could not count items in directory)".to_owned(),
    }
}

/// Only yes or an empty line is yes, as in Gemini CLI; the end of the input is no, and so is a signal to end.
fn ask_to_continue(stop: &StopListener, invocation: &Arc<Invocation>) -> io::Result<bool> {
    let mut stderr = invocation.stderr_writer();
    write!(stderr, "Do you want to continue? [Y/n]: ")?;
    stderr.flush()?;
    let (sender, answers) = mpsc::channel();
    // Reading cannot be given up, so that another thread does it. It ends with us.
    let invocation = invocation.clone();
    let reader = std::thread::Builder::new().spawn(move || sender.send(read_answer(&invocation)));
    reader?;
    loop {
        if stop.is_wanted() {
            let _ = writeln!(stderr);
            return Ok(false);
        }
        match answers.recv_timeout(LOOK) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        }
    }
}

fn read_answer(invocation: &Invocation) -> io::Result<bool> {
    let line = invocation.read_line()?;
    let answer = line.trim().to_lowercase();
    Ok(!line.is_empty() && matches!(answer.as_str(), "" | "y" | "yes"))
}
