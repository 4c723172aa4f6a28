//! The agent itself: where it is, whether it starts, which version it is.

use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use super::DoctorTarget;
use super::ask::{ProgramAnswer, ask_program};
use crate::detect::AgentVersion;
use crate::detect::{
    self, FoundProgram, NotFound, PlaceRefusal, RejectedPlace, SearchEnvironment,
    parse_version_output,
};
use crate::gemini_cli;
use crate::process::{Command, Exit};

const UPDATE: &str = "update it with `npm install -g @google/gemini-cli`";

/// Whether it is installed, and the other installations.
pub(super) fn installed_check(
    environment: &SearchEnvironment,
    detected: &Result<FoundProgram, NotFound>,
) -> Check {
    let check = |state, message: String| Check::new(CheckName::Agent, state, message);
    let found = match detected {
        Ok(found) => found,
        Err(missing) => {
            let is_named = missing.tried.iter().any(is_named);
            let message = if is_named {
                missing.to_string()
            } else {
                "Gemini CLI was not found".to_owned()
            };
            let news = missing.tried.iter().filter(|it| is_news(it));
            return check(CheckState::Problem, message)
                .remedy(missing.hint())
                .details(news.map(rejected_place_text))
                .details(empty_places(&missing.tried));
        }
    };
    let message = format!("Gemini CLI at `{}`, {}", found.path.display(), found.how);
    let news = found.tried.iter().filter(|tried| is_news(tried));
    let others = detect::others(environment, found);
    check(CheckState::Ok, message)
        .details(news.map(rejected_place_text))
        .details(others.iter().map(also_found_text))
}

/// An empty place is not worth a detail.
fn is_news(tried: &RejectedPlace) -> bool {
    tried.refused != PlaceRefusal::Missing
}

/// How many places have no such file, in one line: a list of twenty helps no reader.
fn empty_places(all: &[RejectedPlace]) -> Option<String> {
    let missing = |how: &detect::SearchReason| {
        let is_missing =
            |it: &&RejectedPlace| it.refused == PlaceRefusal::Missing && it.how == *how;
        all.iter().filter(is_missing).count()
    };
    let (on_path, usual) = (
        missing(&detect::SearchReason::Path),
        missing(&detect::SearchReason::CommonPlace),
    );
    let is_empty = on_path + usual == 0;
    (!is_empty).then(|| {
        format!("looked in {on_path} directories of PATH and {usual} where npm, pnpm, bun, Volta and Homebrew install")
    })
}

/// Whether a variable names this place.
fn is_named(tried: &RejectedPlace) -> bool {
    matches!(tried.how, detect::SearchReason::Variable(_))
}

fn rejected_place_text(tried: &RejectedPlace) -> String {
    format!("tried `{}`: {}", tried.path.display(), tried.refused)
}

fn also_found_text(other: &FoundProgram) -> String {
    let version = other
        .version
        .as_ref()
        .map(|version| format!(" ({version})"));
    let version = version.unwrap_or_default();
    format!(
        "also at `{}`{version}, {}: not used",
        other.path.display(),
        other.how
    )
}

/// Whether it starts, and the version that it prints.
pub(super) async fn start_check(
    patient: &DoctorTarget<'_>,
    found: &FoundProgram,
) -> (Check, Option<AgentVersion>) {
    let mut command = Command::new(&found.path, patient.directory);
    command
        .args(["--version"])
        .envs(patient.environment.vars.clone())
        .envs([("GEMINI_CLI_NO_RELAUNCH", "true")]);
    let answer = ask_program(
        patient.supervisor,
        command,
        patient.scratch,
        patient.patience,
    )
    .await;
    let problem = |message: String| Check::new(CheckName::Start, CheckState::Problem, message);
    match answer {
        Err(error) => {
            let check = problem(format!("`{} --version`: {error}", found.path.display()));
            (check.remedy("run that yourself to see what happens"), None)
        }
        Ok(answer) if answer.exit == Some(Exit::Code(0)) => {
            let version = parse_version_output(&answer.stdout);
            let message = "it starts, and ends when asked for its version";
            let check = Check::new(CheckName::Start, CheckState::Ok, message);
            (check.took(answer.took), version)
        }
        Ok(answer) => {
            let check = problem(format!(
                "`{} --version` {}",
                found.path.display(),
                ended_text(&answer)
            ));
            let check = check.details(last_words(&answer)).took(answer.took);
            (check.remedy("run that yourself to see what happens"), None)
        }
    }
}

fn ended_text(answer: &ProgramAnswer) -> String {
    match answer.exit {
        Some(Exit::Code(code)) => format!("ended with exit code {code}"),
        Some(Exit::Signal(number)) => format!("was ended by signal {number}"),
        None => "was lost".to_owned(),
    }
}

/// The last lines that it complained in.
fn last_words(answer: &ProgramAnswer) -> Vec<String> {
    const LINES: usize = 3;
    const LETTERS: usize = 200;
    let text = String::from_utf8_lossy(&answer.stderr);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let cut = |line: &&str| line.chars().take(LETTERS).collect();
    last.iter().map(cut).collect()
}

/// Which version it is, and whether that is one to work with.
pub(super) fn version_check(found: &FoundProgram, printed: Option<&AgentVersion>) -> Check {
    let Some(version) = printed.or(found.version.as_ref()) else {
        let message = "neither its package nor the program says which version it is";
        return Check::new(CheckName::Version, CheckState::Warning, message);
    };
    let check = |state, message: String| Check::new(CheckName::Version, state, message);
    if !version.has(gemini_cli::STREAM_JSON) {
        let message =
            format!("{version} cannot stream: there is one answer at the end, and no tool calls");
        return check(CheckState::Warning, message).remedy(UPDATE);
    }
    if !version.has(gemini_cli::RESUME) {
        let message = format!("{version} cannot resume sessions");
        return check(CheckState::Warning, message).remedy(UPDATE);
    }
    match &found.version {
        Some(package) if package != version => {
            let message = format!("it says {version}, its package {package}");
            check(CheckState::Warning, message).remedy("install it again")
        }
        _ => check(CheckState::Ok, version.to_string()),
    }
}
