//! `skills check`: why each file that could be a skill is one, or is not.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use lapidary::gemini::skills::{CheckedSkills, LoadCandidate, LoadOutcome, LoadSeverity};
use lapidary::vocab::line;
use lapidary::vocab::skills::{CHECK_SCHEMA, SkillCandidate, SkillCheck, SkillFate, SkillSeverity};

use super::common::{self, SkillsContext, SkillsWorkspace};
use super::problems::SkillProblems;
use super::row::{on_a_line, write_row};
use crate::commands::sessions::SessionsFormat;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Say why each file that could be a skill is loaded, or is not
///
/// Looks where Gemini CLI looks and a little further: files called otherwise, too deep, hidden, in a workspace that is not trusted or an extension that is not active, disabled by which file, overridden by which skill. Sizes are estimates in tokens, by Gemini CLI's own rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills check
  lapidary skills check --strict
  lapidary skills check --format json | jq '.candidates[] | select(.fate != \"loaded\")'

It is an error if a file should be a skill and is not, or if a file of settings cannot be used; \
a warning if a candidate is skipped, overridden or not looked for, or if settings have an unknown key.

Exit codes:
  0   no error; there may be warnings
  3   an error; with --strict also a warning")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: SkillsWorkspace,
    /// Exit with 3 also if there are warnings
    #[arg(long)]
    strict: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let loaded = here.load_skills();
    let check = CheckedSkills::from_manager(&loaded);
    let problems = SkillProblems::collect_problems(&here, &loaded);
    let counts = ProblemCounts::new(&check, &problems);
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &check_report(&check, problems))?,
        SessionsFormat::Text => {
            for error in &problems.errors {
                out.print_message(&format!("error: {error}"));
            }
            for warning in &problems.warnings {
                out.print_message(&format!("warning: {warning}"));
            }
            print_text(&check, out)?;
            counts.write_counts(out)?;
        }
    }
    if counts.errors > 0 || (args.strict && counts.warnings > 0) {
        return Ok(CommandExit::Strict);
    }
    Ok(CommandExit::Success)
}

/// How much is wrong.
struct ProblemCounts {
    errors: usize,
    warnings: usize,
}

impl ProblemCounts {
    fn new(check: &CheckedSkills, problems: &SkillProblems) -> Self {
        let count = |severity: LoadSeverity| {
            let candidates = check.candidates.iter();
            candidates
                .filter(|it| it.severity == Some(severity))
                .count()
        };
        // The overridden candidate reports a conflict once more.
        let conflicts = problems.conflicts;
        Self {
            errors: problems.errors.len() + count(LoadSeverity::Error),
            warnings: problems.warnings.len() - conflicts + count(LoadSeverity::Warning),
        }
    }

    fn write_counts(&self, out: &mut Printer) -> io::Result<()> {
        let told = [(self.errors, "error"), (self.warnings, "warning")];
        let told = told.iter().filter(|(count, _)| *count > 0);
        let told: Vec<_> = told
            .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
            .collect();
        if told.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", told.join(", "))
    }
}

fn check_report(check: &CheckedSkills, problems: SkillProblems) -> SkillCheck {
    SkillCheck {
        schema: CHECK_SCHEMA.to_owned(),
        candidates: check.candidates.iter().map(published_candidate).collect(),
        loaded: check.loaded() as u64,
        listed_tokens: check.listed_tokens,
        switched_off: check.switched_off.clone(),
        errors: problems.errors,
        warnings: problems.warnings,
    }
}

fn published_candidate(found: &LoadCandidate) -> SkillCandidate {
    let shown = |path: &std::path::Path| path.display().to_string();
    let mut told = SkillCandidate {
        path: shown(&found.path),
        tier: common::published_tier(found.tier),
        name: found.name.clone(),
        fate: published_fate(&found.fate),
        severity: found.severity.map(published_severity),
        explanation: fate_explanation(&found.fate),
        disabled_by: Vec::new(),
        overridden_by: None,
        same_file_as: found.same_file_as.as_deref().map(shown),
        links_to: found.links_to.as_deref().map(shown),
        not_yaml: found.not_yaml.clone(),
        listed_tokens: found.tokens.map(|(listed, _)| listed),
        activated_tokens: found.tokens.map(|(_, activated)| activated),
    };
    match &found.fate {
        LoadOutcome::Disabled(by) => {
            told.disabled_by = by.iter().map(|by| shown(&by.file)).collect();
        }
        LoadOutcome::Overridden(by) => told.overridden_by = Some(shown(by)),
        _ => {}
    }
    told
}

fn published_fate(fate: &LoadOutcome) -> SkillFate {
    match fate {
        LoadOutcome::Loaded => SkillFate::Loaded,
        LoadOutcome::Disabled(_) => SkillFate::Disabled,
        LoadOutcome::Overridden(_) => SkillFate::Overridden,
        LoadOutcome::LeftOut(_) => SkillFate::LeftOut,
        LoadOutcome::Refused(_) => SkillFate::Refused,
        LoadOutcome::NotLookedFor(_) => SkillFate::NotLookedFor,
    }
}

fn published_severity(severity: LoadSeverity) -> SkillSeverity {
    match severity {
        LoadSeverity::Error => SkillSeverity::Error,
        LoadSeverity::Warning => SkillSeverity::Warning,
    }
}

fn fate_explanation(fate: &LoadOutcome) -> Option<String> {
    match fate {
        LoadOutcome::Loaded => None,
        LoadOutcome::Disabled(by) => {
            let listed = |by: &lapidary::gemini::skills::SkillDisabledBy| {
                format!("`{}` disables `{}`", by.file.display(), by.name)
            };
            Some(by.iter().map(listed).collect::<Vec<_>>().join(", "))
        }
        LoadOutcome::Overridden(by) => {
            Some(format!("`{}` has the same name and counts", by.display()))
        }
        LoadOutcome::LeftOut(why) | LoadOutcome::Refused(why) | LoadOutcome::NotLookedFor(why) => {
            Some(why.clone())
        }
    }
}

fn print_text(check: &CheckedSkills, out: &mut Printer) -> io::Result<()> {
    if let Some(why) = &check.switched_off {
        writeln!(out, "no skill counts: {}\n", on_a_line(why, "  "))?;
    }
    let mut tier = None;
    for found in &check.candidates {
        let here = common::published_tier(found.tier);
        if tier.replace(found.tier) != Some(found.tier) {
            writeln!(out, "{}", here.as_str().replace('_', " "))?;
        }
        print_candidate(found, out)?;
    }
    let loaded = check.loaded();
    let skills = if loaded == 1 { "skill" } else { "skills" };
    writeln!(
        out,
        "{loaded} {skills} loaded, about {} tokens in every prompt",
        check.listed_tokens
    )
}

fn print_candidate(found: &LoadCandidate, out: &mut Printer) -> io::Result<()> {
    let path = found.path.display().to_string();
    let name = found.name.as_deref().unwrap_or(&path);
    let word = match published_fate(&found.fate) {
        SkillFate::LeftOut => "skipped".to_owned(),
        other => other.as_str().replace('_', " "),
    };
    let colour = match found.severity {
        Some(LoadSeverity::Error) if out.colour => AnsiColor::Red.on_default(),
        Some(LoadSeverity::Warning) if out.colour => AnsiColor::Yellow.on_default(),
        _ => Style::new(),
    };
    let name = on_a_line(name, "    ");
    writeln!(out, "  {colour}{word:<14}{colour:#} {name}")?;
    let mut say = |text: &str| write_row(out, "    ", text);
    if found.name.is_some() {
        say(&path)?;
    }
    if let Some(why) = fate_explanation(&found.fate) {
        say(&why)?;
    }
    if let Some(to) = &found.links_to {
        say(&format!("is a link to `{}`", to.display()))?;
    }
    if let Some(same) = &found.same_file_as {
        say(&format!("is the same file as `{}`", same.display()))?;
    }
    if let Some(problem) = &found.not_yaml {
        say(&format!(
            "its front matter was read line by line: {problem}"
        ))?;
    }
    if let Some((listed, activated)) = found.tokens {
        say(&format!(
            "about {listed} tokens listed, {activated} activated"
        ))?;
    }
    Ok(())
}
