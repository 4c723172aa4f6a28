//! `skills list`: the skills that count here.

use std::cmp::Ordering;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use lapidary::gemini::skills::{SkillDefinition, SkillManager, by_name};
use lapidary::vocab::line;
use lapidary::vocab::skills::{LIST_SCHEMA, SkillInfo, SkillList};

use super::common::{self, SkillsContext, SkillsWorkspace};
use super::problems::{SkillProblems, left_out};
use super::row::{on_a_line, write_row};
use crate::commands::sessions::SessionsFormat;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List the skills that Gemini CLI has here, disabled ones too
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills list
  lapidary skills list --all
  lapidary skills list --format json | jq -r '.skills[] | select(.disabled) | .name'

Unlike `gemini skills list`, this writes nothing. What is missing: `lapidary skills check` says why.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: SkillsWorkspace,
    /// Show those too that come with the Gemini CLI installed here
    #[arg(long)]
    all: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let loaded = here.load_skills();
    let shown = loaded.all_skills().iter();
    let mut shown: Vec<_> = shown
        .filter(|skill| args.all || !skill.is_builtin)
        .collect();
    shown.sort_by(|one, other| list_order(one, other));
    let warnings = SkillProblems::collect_problems(&here, &loaded).into_messages();
    let notes = missing_skill_notes(args, &here, &loaded);
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let skills = shown.into_iter().map(skill_info).collect();
            let schema = LIST_SCHEMA.to_owned();
            line::write(
                out,
                &SkillList {
                    schema,
                    skills,
                    warnings,
                    notes,
                },
            )?;
        }
        SessionsFormat::Text => {
            for warning in &warnings {
                out.print_message(&format!("warning: {warning}"));
            }
            print_text(&shown, out)?;
            for note in &notes {
                out.print_note(note)?;
            }
        }
    }
    Ok(CommandExit::Success)
}

/// Notes on skills that a user may miss in the list.
fn missing_skill_notes(args: &Args, here: &SkillsContext, loaded: &SkillManager) -> Vec<String> {
    if let Some(why) = &loaded.sources().switched_off {
        return vec![why.clone()];
    }
    let builtin = args.all.then(|| here.builtin_dir().err()).flatten();
    let builtin =
        builtin.map(|why| format!("the skills that come with Gemini CLI cannot be shown: {why}"));
    left_out(loaded).into_iter().chain(builtin).collect()
}

/// As Gemini CLI sorts them: its own last, then by name.
fn list_order(one: &SkillDefinition, other: &SkillDefinition) -> Ordering {
    let its_own = one.is_builtin.cmp(&other.is_builtin);
    its_own.then_with(|| by_name(&one.name, &other.name))
}

fn skill_info(skill: &SkillDefinition) -> SkillInfo {
    SkillInfo {
        name: skill.name.clone(),
        description: skill.description.clone(),
        location: skill.location.display().to_string(),
        tier: common::published_tier(skill.tier),
        disabled: skill.disabled,
        is_builtin: skill.is_builtin,
        extension_name: skill.extension_name.clone(),
    }
}

fn print_text(skills: &[&SkillDefinition], out: &mut Printer) -> io::Result<()> {
    if skills.is_empty() {
        return writeln!(out, "No skills discovered.");
    }
    let bold = terminal_style(Style::new().bold(), out);
    writeln!(out, "{bold}Discovered Agent Skills:{bold:#}\n")?;
    for skill in skills {
        let (colour, state) = if skill.disabled {
            (AnsiColor::Red, "[Disabled]")
        } else {
            (AnsiColor::Green, "[Enabled]")
        };
        let colour = terminal_style(colour.on_default(), out);
        let builtin = if skill.is_builtin { " [Built-in]" } else { "" };
        let name = on_a_line(&skill.name, "  ");
        writeln!(
            out,
            "{bold}{name}{bold:#} {colour}{state}{colour:#}{builtin}"
        )?;
        write_row(out, "  Description: ", &skill.description)?;
        write_row(
            out,
            "  Location:    ",
            &skill.location.display().to_string(),
        )?;
        writeln!(out)?;
    }
    Ok(())
}

fn terminal_style(style: Style, out: &Printer) -> Style {
    if out.colour { style } else { Style::new() }
}
