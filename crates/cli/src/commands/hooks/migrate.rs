//! `hooks migrate`: hooks of Claude Code in the settings of Gemini CLI.

use std::io::Write as _;

use anyhow::anyhow;
use lapidary::gemini::hooks::migrate::{ClaudeHooks, MigrateError, TranslatedDefinition};
use lapidary::gemini::settings::{EditError, Settings};
use lapidary::vocab::hooks::{AddedHook, CHANGE_SCHEMA, HookAction, HookChange};
use lapidary::vocab::line;
use serde_json::{Map, Value};

use super::change::{not_changed, warn_of_trust};
use super::common::{HooksContext, HooksFormat, HooksWorkspace, WritableScope};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::render::plain::one_line;

/// Add the hooks of another agent to the workspace's settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks migrate --from-claude --dry-run
  lapidary hooks migrate --from-claude

Reads .claude/settings.json and .claude/settings.local.json of the workspace, and adds what is \
missing to .gemini/settings.json: what is there stays, comments too, and a second time changes \
nothing. Seconds become milliseconds, events, tools and matchers get the names that Gemini CLI has \
for them. What has no translation is named.")]
pub(crate) struct Args {
    /// From Claude Code
    #[arg(long, required = true)]
    from_claude: bool,
    /// Only say what would be added
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    workspace: HooksWorkspace,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<HooksFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = HooksContext::open(&args.workspace, &out.invocation)?;
    if !place.has_own_settings() {
        let error = anyhow!(
            "`{}` is your home: Gemini CLI has no workspace settings there",
            place.setup.workspace.display()
        );
        return Err(Failure::bad_input(error).with_hint("name a workspace with --project"));
    }
    let claude = ClaudeHooks::read(&place.setup.workspace);
    let claude = claude.map_err(|error| nothing_to_migrate(error, &place))?;
    let path = place.settings_file(WritableScope::Workspace);
    let added = if args.dry_run {
        would_add(&claude, &place)?
    } else {
        add_definitions(&claude, &place)?
    };
    warn_of_trust(&place);
    let change = HookChange {
        schema: CHANGE_SCHEMA.to_owned(),
        action: HookAction::Migrate,
        name: None,
        applied: !args.dry_run && !added.is_empty(),
        changed: (!added.is_empty())
            .then(|| path.display().to_string())
            .into_iter()
            .collect(),
        added: added.iter().flat_map(added_hooks).collect(),
        skipped: claude.skipped.iter().map(ToString::to_string).collect(),
        remarks: claude.remarks.clone(),
    };
    match HooksFormat::or_usual(args.format, out.is_terminal) {
        HooksFormat::Json => line::write(out, &change)?,
        HooksFormat::Text => print_text(&change, &added, out)?,
    }
    Ok(CommandExit::Success)
}

/// The hint says that the user's own Claude hooks are not migrated, if there are any.
fn nothing_to_migrate(error: MigrateError, place: &HooksContext) -> Failure {
    let home = place.environment.home.as_deref();
    let own = home.map(|home| home.join(".claude").join("settings.json"));
    let own = own.filter(|path| ClaudeHooks::has_hooks(path));
    let is_nothing = matches!(error, MigrateError::NoSettings(_));
    let failure = Failure::bad_input(error);
    match own.filter(|_| is_nothing) {
        Some(path) => failure.with_hint(format!(
            "`{}` has hooks for every workspace, which are not migrated; copied to `.claude/settings.json` here they are",
            path.display()
        )),
        None => failure,
    }
}

/// Adds the definitions to the settings file, which is locked meanwhile. Returns the added ones.
fn add_definitions(
    claude: &ClaudeHooks,
    place: &HooksContext,
) -> Result<Vec<TranslatedDefinition>, Failure> {
    let path = place.settings_file(WritableScope::Workspace);
    let mut added = Vec::new();
    let scope = WritableScope::Workspace.settings_scope();
    let edited = place.setup.edit::<MigrateRefusal>(scope, &path, |file| {
        let mut hooks = hooks_object(file.get(&["hooks"]))?;
        added = claude.merge_into(&mut hooks).map_err(MigrateRefusal::Odd)?;
        if !added.is_empty() {
            file.set(&["hooks"], Value::Object(hooks))?;
        }
        Ok(())
    });
    edited.map_err(|refusal| refusal.into_failure(&path))?;
    Ok(added)
}

/// The definitions that would be added to the current file.
fn would_add(
    claude: &ClaudeHooks,
    place: &HooksContext,
) -> Result<Vec<TranslatedDefinition>, Failure> {
    let path = place.settings_file(WritableScope::Workspace);
    let settings = Settings::read(&place.setup.home, &place.setup.workspace);
    let file = settings
        .files
        .into_iter()
        .find(|file| file.scope == WritableScope::Workspace.settings_scope());
    let content = match file.map(|file| file.content) {
        None => Map::new(),
        Some(Ok(content)) => content,
        Some(Err(error)) => {
            return Err(Failure::bad_input(anyhow!("`{}` {error}", path.display())));
        }
    };
    let added = hooks_object(content.get("hooks"))
        .and_then(|mut hooks| claude.merge_into(&mut hooks).map_err(MigrateRefusal::Odd));
    added.map_err(|refusal| refusal.into_failure(&path))
}

/// Why hooks cannot be added.
enum MigrateRefusal {
    Odd(String),
    Edit(EditError),
}

impl From<EditError> for MigrateRefusal {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}

impl MigrateRefusal {
    fn into_failure(self, path: &std::path::Path) -> Failure {
        match self {
            Self::Edit(error) => not_changed(error),
            Self::Odd(sentence) => {
                Failure::bad_input(anyhow!("{sentence} in `{}`", path.display()))
                    .with_hint("mend the file first; nothing was changed")
            }
        }
    }
}

fn hooks_object(hooks: Option<&Value>) -> Result<Map<String, Value>, MigrateRefusal> {
    match hooks {
        None => Ok(Map::new()),
        Some(Value::Object(hooks)) => Ok(hooks.clone()),
        Some(_) => Err(MigrateRefusal::Odd("`hooks` is not an object".to_owned())),
    }
}

fn added_hooks(definition: &TranslatedDefinition) -> Vec<AddedHook> {
    let hook = |hook: &Map<String, Value>| AddedHook {
        event: definition.event.to_string(),
        matcher: definition.matcher.clone(),
        command: hook
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        timeout_ms: hook.get("timeout").and_then(Value::as_u64),
    };
    definition.hooks.iter().map(hook).collect()
}

fn print_text(
    change: &HookChange,
    added: &[TranslatedDefinition],
    out: &mut Printer,
) -> Result<(), Failure> {
    let mut event = None;
    for definition in added {
        if event.replace(definition.event) != Some(definition.event) {
            writeln!(out, "{}", definition.event)?;
        }
        let value = format!("{:#}", definition.to_value());
        for line in value.lines() {
            writeln!(out, "  + {}", one_line(line))?;
        }
    }
    out.flush()?;
    for skipped in &change.skipped {
        out.print_message(&format!("warning: not migrated: {skipped}"));
    }
    for remark in &change.remarks {
        out.print_message(&format!("warning: {remark}"));
    }
    let count = change.added.len();
    let hooks = if count == 1 { "hook" } else { "hooks" };
    out.print_note(&match (count, change.applied) {
        (0, _) => "there is nothing to add".to_owned(),
        (_, true) => format!(
            "{count} {hooks} added to {}; look at them, and at the names of tools in your scripts",
            change.changed.join(", ")
        ),
        (_, false) => format!(
            "{count} {hooks} would be added to {}",
            change.changed.join(", ")
        ),
    })?;
    Ok(())
}
