//! `hooks list`: the hooks of a workspace.

use std::io::{self, Write as _};
use std::time::Duration;

use lapidary::gemini::hooks::{
    Hook, HookEntry, HookEvent, HookRegistry, HookSource, LeftOut, event_meant,
};
use lapidary::gemini::settings::SettingsScope;
use lapidary::render::plain::{one_line, reveal};
use lapidary::vocab::hooks::{HookInfo, HookList, HookScope, LIST_SCHEMA, LeftOutHook};
use lapidary::vocab::line;

use super::common::{HooksContext, HooksFormat, HooksWorkspace};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List the hooks of a workspace, and the entries that do not count
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks list
  lapidary hooks list --event BeforeTool
  lapidary hooks list --format json | jq -r '.hooks[] | select(.enabled | not) | .name'

Hooks of an event are in the order in which they run: those of system defaults, the user's, the \
workspace's, the system's, and those of extensions. Every hook that is skipped has a reason.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: HooksWorkspace,
    /// Only those of an event
    #[arg(long, value_name = "EVENT", value_parser = parse_event)]
    event: Option<HookEvent>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<HooksFormat>,
}

/// Reads the name of an event.
fn parse_event(name: &str) -> Result<HookEvent, String> {
    name.parse().map_err(|_| event_meant(name))
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = HooksContext::open(&args.workspace, &out.invocation)?;
    let mut registry = HookRegistry::from_setup(&place.setup);
    registry
        .hooks
        .sort_by_key(|entry| (entry.hook.event, entry.hook.source.priority()));
    if let Some(event) = args.event {
        registry.hooks.retain(|entry| entry.hook.event == event);
        registry.left_out.retain(|left| !is_of_another(left, event));
    }
    match HooksFormat::or_usual(args.format, out.is_terminal) {
        HooksFormat::Json => line::write(out, &hook_list(&place, registry))?,
        HooksFormat::Text => print_text(&place, &registry, args.event, out)?,
    }
    Ok(CommandExit::Success)
}

/// Whether a skipped definition is of a known event, and not of this one.
pub(super) fn is_of_another(left: &LeftOut, event: HookEvent) -> bool {
    let named = left
        .place
        .get(1)
        .and_then(|name| name.parse::<HookEvent>().ok());
    named.is_some_and(|named| named != event)
}

fn hook_list(place: &HooksContext, registry: HookRegistry) -> HookList {
    HookList {
        notices: place.settings_notices(&registry),
        schema: LIST_SCHEMA.to_owned(),
        workspace: place.setup.workspace.display().to_string(),
        trusted: place.setup.is_trusted(),
        hooks: registry.hooks.iter().map(hook_info).collect(),
        left_out: registry.left_out.into_iter().map(left_out).collect(),
        switched_off_by: path_texts(&registry.switched_off_by),
        warnings: registry.warnings,
    }
}

fn path_texts(paths: &[std::path::PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn hook_info(entry: &HookEntry) -> HookInfo {
    let hook = &entry.hook;
    HookInfo {
        event: hook.event.to_string(),
        name: hook.display_name().to_owned(),
        description: hook.description.clone(),
        command: hook.command.clone(),
        matcher: hook.matcher.clone(),
        timeout_ms: u64::try_from(hook.deadline().as_millis()).unwrap_or(u64::MAX),
        sequential: hook.sequential,
        fail_open: hook.fail_open,
        enabled: entry.enabled,
        never_runs: hook.never_runs(),
        disabled_by: path_texts(&entry.disabled_by),
        source: hook.source.as_str().to_owned(),
        scope: hook.scope.map(published_scope),
        extension: match &hook.source {
            HookSource::Extension(name) => Some(name.clone()),
            _ => None,
        },
        path: hook.origin.display().to_string(),
        keys: hook.place.clone(),
    }
}

fn published_scope(scope: SettingsScope) -> HookScope {
    match scope {
        SettingsScope::SystemDefaults => HookScope::SystemDefaults,
        SettingsScope::User => HookScope::User,
        SettingsScope::Workspace => HookScope::Workspace,
        SettingsScope::System => HookScope::System,
    }
}

fn left_out(left: LeftOut) -> LeftOutHook {
    LeftOutHook {
        what: left.what,
        path: left.origin.display().to_string(),
        keys: left.place,
        reason: left.why,
    }
}

fn print_text(
    place: &HooksContext,
    registry: &HookRegistry,
    wanted: Option<HookEvent>,
    out: &mut Printer,
) -> Result<(), Failure> {
    let mut event = None;
    for entry in &registry.hooks {
        if event.replace(entry.hook.event) != Some(entry.hook.event) {
            writeln!(out, "{}", entry.hook.event)?;
        }
        print_hook(entry, out)?;
    }
    for left in &registry.left_out {
        let at = if left.place.is_empty() {
            String::new()
        } else {
            format!(" {}", left.place.join("."))
        };
        let where_it_is = format!("{}{at}", left.origin.display());
        writeln!(
            out,
            "-  {}: {}\n     {}",
            one_line(&left.what),
            one_line(&left.why),
            one_line(&where_it_is)
        )?;
    }
    out.flush()?;
    print_remarks(place, registry);
    if registry.hooks.is_empty() && (wanted.is_some() || registry.left_out.is_empty()) {
        out.print_note(&match wanted {
            Some(event) => format!("there are no `{event}` hooks here"),
            None => "there are no hooks here".to_owned(),
        })?;
    }
    Ok(())
}

fn print_remarks(place: &HooksContext, registry: &HookRegistry) {
    for path in &registry.switched_off_by {
        place.invocation.print_message(&format!(
            "warning: `{}` switches off all hooks",
            path.display()
        ));
    }
    if !place.setup.is_trusted()
        && registry
            .left_out
            .iter()
            .any(|left| left.why.contains("trusted"))
    {
        place.invocation.print_message(
            "warning: this folder is not trusted: Gemini CLI runs no hooks of any settings here, your own included",
        );
        place.invocation.print_message(
            "hint: trust it in Gemini CLI, or set GEMINI_CLI_TRUST_WORKSPACE=true for one run",
        );
    }
    for warning in registry.other_warnings() {
        place
            .invocation
            .print_message(&format!("warning: Gemini CLI says: {warning}"));
    }
    for notice in place.settings_notices(registry) {
        place
            .invocation
            .print_message(&format!("warning: {notice}"));
    }
    if let Some(announcement) = registry.announcement() {
        place
            .invocation
            .print_message(&format!("note: {announcement}"));
    }
}

fn print_hook(entry: &HookEntry, out: &mut Printer) -> io::Result<()> {
    let hook = &entry.hook;
    let mark = if entry.enabled { ' ' } else { '-' };
    let matcher = match hook.matcher.as_deref().map(str::trim) {
        None | Some("" | "*") => String::new(),
        Some(matcher) => format!("  for {}", one_line(matcher)),
    };
    let sequential = if hook.sequential {
        "  one after the other"
    } else {
        ""
    };
    writeln!(
        out,
        "  {mark} {}{matcher}{sequential}  [{}, {}]",
        one_line(&reveal(hook.display_name())),
        one_line(&hook_origin(hook)),
        time_text(hook.deadline())
    )?;
    if hook.display_name() != hook.command {
        writeln!(out, "      {}", one_line(&reveal(&hook.command)))?;
    }
    for path in &entry.disabled_by {
        writeln!(
            out,
            "      disabled by {}",
            one_line(&path.display().to_string())
        )?;
    }
    if let Some(why) = hook.never_runs() {
        writeln!(out, "      Gemini CLI never runs it: {}", one_line(&why))?;
    }
    Ok(())
}

/// A time in the unit that it was probably meant in.
fn time_text(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

/// The source of a hook, in a word or two.
fn hook_origin(hook: &Hook) -> String {
    match (&hook.source, hook.scope) {
        (HookSource::Extension(name), _) => format!("extension {name}"),
        (_, Some(of)) => published_scope(of).as_str().replace('_', " "),
        (source, None) => source.as_str().to_owned(),
    }
}
