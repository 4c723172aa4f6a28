//! `agents import`: agent files of other formats, converted.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::gemini::agents::{
    ImportError, ImportedAgent, import_claude, import_toml, project_agents, user_agents,
};
use lapidary::gemini::file;
use lapidary::vocab::agents::{AgentAction, ChangedAgent};

use super::change::{AgentChangeFormat, ChangeOutcome};
use super::common::{AgentScopeArg, AgentsContext, Workspace, untrusted_warning};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Convert agent files of Claude, or the TOML of older versions of Gemini CLI
///
/// The converted files never allow more than the originals: a tool that has no counterpart is dropped, and so is one that the original limits to some arguments. All that was dropped is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents import --from-claude ~/.claude/agents/*.md
  lapidary agents import --from-toml .gemini/agents/reviewer.toml --scope workspace
  lapidary agents import --from-claude reviewer.md --dry-run

A file that is there is not overwritten without --force. If one file cannot be converted, none is written.")]
pub(crate) struct Args {
    /// Agent files of Claude
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "from_toml")]
    from_claude: Vec<PathBuf>,
    /// TOML files of Gemini CLI 0.24
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from_toml: Vec<PathBuf>,
    /// For whom
    #[arg(long, value_enum, default_value_t = AgentScopeArg::User)]
    scope: AgentScopeArg,
    /// Overwrite files that are there
    #[arg(long)]
    force: bool,
    /// Print the converted files, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    workspace: Workspace,
    #[command(flatten)]
    output: AgentChangeFormat,
}

/// A converted agent, and the file that it came from.
struct Conversion<'a> {
    from: &'a Path,
    agent: ImportedAgent,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
    let mut conversions = Vec::new();
    for path in &args.from_claude {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let agent = import_claude(&read_source(path)?, &stem)
            .map_err(|error| import_failure(path, &error))?;
        conversions.push(Conversion { from: path, agent });
    }
    for path in &args.from_toml {
        let agents =
            import_toml(&read_source(path)?).map_err(|error| import_failure(path, &error))?;
        conversions.extend(
            agents
                .into_iter()
                .map(|agent| Conversion { from: path, agent }),
        );
    }
    let directory = target_directory(&here, args.scope)?;
    let mut outcome = ChangeOutcome::new(AgentAction::Import);
    if args.dry_run {
        for Conversion { from, agent } in &conversions {
            writeln!(
                out,
                "# {}\n{}",
                from.display(),
                lapidary::render::plain::sanitize(&agent.text)
            )?;
        }
    } else {
        check_free(args, &directory, &conversions)?;
        for Conversion { agent, .. } in &conversions {
            let path = directory.join(format!("{}.md", agent.name));
            write_definition(&path, &agent.text).map_err(Failure::internal)?;
            outcome.note_written_file(&path);
        }
    }
    note_conversions(&conversions, &directory, args, &mut outcome);
    if args.scope == AgentScopeArg::Workspace {
        outcome.change.remarks.extend(untrusted_warning(&here));
    }
    args.output.print_outcome(&outcome, out)
}

fn note_conversions(
    conversions: &[Conversion<'_>],
    directory: &Path,
    args: &Args,
    outcome: &mut ChangeOutcome,
) {
    for Conversion { from, agent } in conversions {
        let path = directory.join(format!("{}.md", agent.name));
        let word = if args.dry_run {
            "would become"
        } else {
            "became"
        };
        outcome
            .words
            .push(format!("`{}` {word} `{}`", from.display(), path.display()));
        outcome
            .words
            .extend(agent.dropped.iter().map(|dropped| format!("  {dropped}")));
        outcome.change.agents.push(ChangedAgent {
            name: agent.name.clone(),
            imported_from: Some(from.display().to_string()),
            dropped: agent.dropped.clone(),
        });
    }
}

fn read_source(path: &Path) -> Result<String, Failure> {
    let text = file::text(path)
        .map_err(|error| Failure::bad_input(anyhow!("`{}` {error}", path.display())))?;
    text.ok_or_else(|| Failure::bad_input(anyhow!("there is no `{}`", path.display())))
}

fn import_failure(path: &Path, error: &ImportError) -> Failure {
    Failure::bad_input(anyhow!("`{}` {error}", path.display()))
}

/// The directory that agents of a scope are in. A link in a workspace may lead out of it: nothing is written there.
fn target_directory(here: &AgentsContext, scope: AgentScopeArg) -> Result<PathBuf, Failure> {
    let (base, directory) = match scope {
        AgentScopeArg::User => (&here.setup.home.home, user_agents(&here.setup)),
        AgentScopeArg::Workspace => (&here.setup.workspace, project_agents(&here.setup)),
    };
    let nearest = directory
        .ancestors()
        .find(|step| step.symlink_metadata().is_ok());
    let real = nearest.and_then(|step| step.canonicalize().ok());
    let is_inside = base
        .canonicalize()
        .is_ok_and(|base| real.is_some_and(|real| real.starts_with(base)));
    if !is_inside {
        let failure = anyhow!(
            "`{}` points outside `{}`: nothing is written there",
            directory.display(),
            base.display()
        );
        return Err(Failure::bad_input(failure));
    }
    Ok(directory)
}

/// Two conversions with one name, or an existing file, stop the import before the first file is written.
fn check_free(
    args: &Args,
    directory: &Path,
    conversions: &[Conversion<'_>],
) -> Result<(), Failure> {
    let mut names = std::collections::HashSet::new();
    for Conversion { from, agent } in conversions {
        if !names.insert(&agent.name) {
            let failure = anyhow!(
                "two of the files become `{}`: `{}` is one",
                agent.name,
                from.display()
            );
            return Err(
                Failure::bad_input(failure).with_hint("import them one by one, and rename one")
            );
        }
        let path = directory.join(format!("{}.md", agent.name));
        if !args.force && path.symlink_metadata().is_ok() {
            let failure = anyhow!("`{}` is there already: nothing is written", path.display());
            return Err(Failure::bad_input(failure).with_hint("--force overwrites it"));
        }
    }
    Ok(())
}

/// Writes a file whole: beside its place first, then into it. A link there is replaced, not followed.
fn write_definition(path: &Path, text: &str) -> anyhow::Result<()> {
    let directory = path.parent().context("an agent file is in a directory")?;
    let cannot = || format!("cannot write `{}`", path.display());
    std::fs::create_dir_all(directory).with_context(cannot)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).with_context(cannot)?;
    file.write_all(text.as_bytes()).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}
