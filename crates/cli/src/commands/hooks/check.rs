//! `hooks check`: mistakes in the definitions of hooks.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use lapidary::gemini::hooks::check::{CheckContext, LintFinding, LintSeverity, check};
use lapidary::vocab::hooks::{CHECK_SCHEMA, HookCheck, HookFinding, HookSeverity};
use lapidary::vocab::line;

use super::common::{HooksContext, HooksFormat, HooksWorkspace};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::render::plain::one_line;

/// Check hooks as they are written, without running any
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks check
  lapidary hooks check --format json | jq '.findings[] | select(.severity == \"error\")'

Looks at every hook of settings and extensions, those that do not count here too: events that do \
not exist, matchers that match nothing, timeouts in seconds, a misspelt `type`, keys written twice, \
scripts that are missing or not executable, what switches hooks off, and scripts that seem to exit \
with 2 in silence, which Gemini CLI treats as permission.

Exit codes:
  0   no error; there may be warnings
  3   an error; with --strict also a warning")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: HooksWorkspace,
    /// Exit with 3 also if there is only a warning
    #[arg(long)]
    strict: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<HooksFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = HooksContext::open(&args.workspace, &out.invocation)?;
    let environment = &place.environment;
    let search_path = environment.vars.get(std::ffi::OsStr::new("PATH"));
    let search_path: Vec<PathBuf> = search_path
        .map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default();
    let surroundings = CheckContext {
        search_path: &search_path,
        home: environment
            .home
            .as_deref()
            .unwrap_or(&place.setup.home.home),
    };
    let findings = check(&place.setup, surroundings);
    let count = |severity| {
        findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count() as u64
    };
    let (errors, warnings) = (count(LintSeverity::Error), count(LintSeverity::Warning));
    match HooksFormat::or_usual(args.format, out.is_terminal) {
        HooksFormat::Json => line::write(
            out,
            &HookCheck {
                schema: CHECK_SCHEMA.to_owned(),
                workspace: place.setup.workspace.display().to_string(),
                errors,
                warnings,
                findings: findings.into_iter().map(published_finding).collect(),
            },
        )?,
        HooksFormat::Text => print_text(&findings, out)?,
    }
    let is_wrong = errors > 0 || args.strict && warnings > 0;
    Ok(if is_wrong {
        CommandExit::Strict
    } else {
        CommandExit::Success
    })
}

fn published_finding(finding: LintFinding) -> HookFinding {
    let number = |number: usize| number as u64;
    HookFinding {
        severity: match finding.severity {
            LintSeverity::Error => HookSeverity::Error,
            LintSeverity::Warning => HookSeverity::Warning,
            LintSeverity::Note => HookSeverity::Note,
        },
        code: finding.code.to_owned(),
        path: finding.path.display().to_string(),
        line: finding.place.map(|place| number(place.line)),
        column: finding.place.map(|place| number(place.column)),
        subject: finding.subject,
        message: finding.sentence,
        hint: finding.hint,
    }
}

fn print_text(findings: &[LintFinding], out: &mut Printer) -> io::Result<()> {
    for finding in findings {
        let place = finding
            .place
            .map(|place| format!(":{place}"))
            .unwrap_or_default();
        let path = one_line(&finding.path.display().to_string());
        let subject = one_line(&finding.subject);
        let sentence = one_line(&finding.sentence);
        let is_named = sentence.contains(&format!("`{subject}`"));
        let about = if is_named {
            String::new()
        } else {
            format!("`{subject}`: ")
        };
        let (word, style) = (
            finding.severity,
            severity_style(finding.severity, out.colour),
        );
        writeln!(
            out,
            "{path}{place}: {style}{word}{style:#}: {about}{sentence}"
        )?;
        if let Some(hint) = &finding.hint {
            writeln!(out, "  hint: {}", one_line(hint))?;
        }
    }
    if findings.is_empty() {
        return out.print_note("nothing is wrong with the hooks here");
    }
    writeln!(out, "{}", findings_summary(findings))
}

/// How many findings there are of each kind: `2 errors, 1 warning`.
fn findings_summary(findings: &[LintFinding]) -> String {
    let counted = [
        LintSeverity::Error,
        LintSeverity::Warning,
        LintSeverity::Note,
    ]
    .map(|severity| {
        let count = findings.iter().filter(|it| it.severity == severity).count();
        match count {
            0 => None,
            1 => Some(format!("1 {severity}")),
            _ => Some(format!("{count} {severity}s")),
        }
    });
    let counted: Vec<_> = counted.into_iter().flatten().collect();
    counted.join(", ")
}

fn severity_style(severity: LintSeverity, colour: bool) -> Style {
    if !colour {
        return Style::new();
    }
    match severity {
        LintSeverity::Error => AnsiColor::Red.on_default().bold(),
        LintSeverity::Warning => AnsiColor::Yellow.on_default(),
        LintSeverity::Note => AnsiColor::Cyan.on_default(),
    }
}
