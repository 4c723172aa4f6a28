//! Every command that a document shows runs as it is shown, in a home and a project that are as the document assumes, and prints
//! what the document shows. Agents are stand-ins; the demo is the real one.

mod world;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use lapidary_testkit::shown_commands::{ShownCommand, pages, shown_commands};

use self::world::DocumentWorld;
use crate::support::{Ran, root};

/// Commands that this test does not run, and the test that runs them instead, or runs what they build: dialogues on a terminal,
/// fixed ports, builds, the network. A command is named by its beginning.
const RUN_ELSEWHERE: &[(&str, &str)] = &[
    (
        "lapidary run --agent demo 'what can you do?'",
        "the_readme_shows_the_demo_as_a_terminal_does",
    ),
    (
        "cargo install --locked --path crates/cli",
        "a_command_in_this_process_prints_and_returns_what_the_binary_does",
    ),
    (
        "cargo xtask dist",
        "the_archive_has_binary_completions_pages_and_licences",
    ),
    (
        "npm install target/dist",
        "examples_of_the_typescript_package_and_the_chat_compile_strictly_and_run",
    ),
    (
        "pip install target/dist",
        "examples_of_the_python_package_are_typed_strictly_and_run",
    ),
    (
        "lapidary serve --listen 0.0.0.0:7717 --tls-cert",
        "a_server_with_a_certificate_speaks_tls_beyond_this_machine",
    ),
    (
        "lapidary serve --listen 0.0.0.0:7717 --behind-proxy",
        "behind_a_proxy_the_proxys_host_is_the_servers",
    ),
    (
        "lapidary agents check --online",
        "a_check_online_fails_for_a_card_that_cannot_be_had",
    ),
    (
        "lapidary agents run researcher",
        "inputs_of_a_remote_agent_are_its_prompt_together_with_the_schema",
    ),
    (
        "lapidary skills install",
        "a_clone_uses_the_users_ssh_without_prompts",
    ),
];

/// Options that make a command end, or answer its question. They are added to the command as it is shown.
const ENDS: &[(&str, &str)] = &[
    ("lapidary fleet work --slots", " --drain"),
    ("lapidary sessions continue", " --yes"),
];

/// The same as [`RUN_ELSEWHERE`] for commands that a text names.
const NOT_RUN_BY_NAME: &[(&str, &str)] = &[
    (
        "lapidary serve",
        "a_server_ends_its_runs_when_it_ends_and_knows_them_after_a_restart",
    ),
    (
        "lapidary fleet work",
        "a_cancelled_ticket_ends_its_agent_and_a_drained_worker_ends",
    ),
    (
        "lapidary doctor --agent NAME --prove",
        "an_agent_that_never_begins_proves_nothing_more",
    ),
];

const WRONG_USAGE: i32 = 2;

/// Shown commands that fail, with their exit codes: the document shows the failure, or they need a person's consent.
const FAILING: &[(&str, i32)] = &[
    ("lapidary doctor", 1),
    ("lapidary agents check", 3),
    ("lapidary hooks check --format text", 3),
    ("lapidary run 'tidy up'", 18),
    ("lapidary run --output-schema s.json", 13),
    ("lapidary run --agent ./my-agent", 18),
];

type WorldPreparation = fn(&DocumentWorld);

/// What a command needs beyond a project and agents. A command is named by its page and its beginning.
const SCENES: &[(&str, &str, WorldPreparation)] = &[
    (
        "README.md",
        "lapidary runs open",
        DocumentWorld::with_recorded_runs,
    ),
    (
        "README.md",
        "lapidary hooks check",
        DocumentWorld::with_a_wrong_hook,
    ),
    (
        "docs/agents.md",
        "lapidary agents check",
        DocumentWorld::with_agents,
    ),
    (
        "docs/agents.md",
        "lapidary agents run reviewer",
        DocumentWorld::with_a_reviewer,
    ),
    (
        "docs/confinement.md",
        "lapidary run 'tidy up'",
        DocumentWorld::with_an_agent_that_writes_a_git_hook,
    ),
    (
        "docs/fleet.md",
        "lapidary fleet submit",
        DocumentWorld::with_a_fleet,
    ),
    (
        "docs/fleet.md",
        "lapidary fleet work",
        DocumentWorld::with_a_fleet,
    ),
    (
        "docs/fleet.md",
        "lapidary fleet events",
        DocumentWorld::with_a_ticket_that_has_run,
    ),
    (
        "docs/fleet.md",
        "lapidary fleet patch",
        DocumentWorld::with_a_ticket_that_has_run,
    ),
    (
        "docs/hooks.md",
        "lapidary hooks test BeforeTool --recording",
        DocumentWorld::with_hooks_and_a_run,
    ),
    ("docs/hooks.md", "lapidary hooks", DocumentWorld::with_hooks),
    (
        "docs/hooks-any-agent.md",
        "lapidary run --hooks",
        DocumentWorld::with_hooks,
    ),
    (
        "docs/output-schema.md",
        "",
        DocumentWorld::with_output_schemas,
    ),
    (
        "docs/permissions.md",
        "lapidary run --agent ./my-agent",
        DocumentWorld::with_an_agent_that_does_not_ask,
    ),
    (
        "docs/permissions.md",
        "lapidary policy test",
        DocumentWorld::with_rules,
    ),
    (
        "docs/replay.md",
        "lapidary replay",
        DocumentWorld::with_a_recorded_dialogue,
    ),
    (
        "docs/replay.md",
        "lapidary translate",
        DocumentWorld::with_a_recorded_dialogue,
    ),
    ("docs/runs.md", "", DocumentWorld::with_recorded_runs),
    (
        "docs/sessions.md",
        "lapidary sessions continue",
        DocumentWorld::with_a_session_of_claude,
    ),
    (
        "docs/sessions.md",
        "lapidary sessions list",
        DocumentWorld::with_a_session_that_will_be_deleted,
    ),
    (
        "docs/sessions.md",
        "lapidary sessions stats",
        DocumentWorld::with_sessions_of_claude_and_codex,
    ),
    ("docs/settings.md", "", DocumentWorld::with_wrong_settings),
    ("docs/skills.md", "", DocumentWorld::with_skills),
    (
        "docs/vault.md",
        "lapidary sessions recover",
        DocumentWorld::with_a_hidden_conversation,
    ),
    (
        "docs/vault.md",
        "lapidary sessions vault add",
        DocumentWorld::with_two_sessions,
    ),
    (
        "docs/vault.md",
        "lapidary sessions vault log --agent claude",
        DocumentWorld::with_a_deleted_session_of_claude,
    ),
    (
        "docs/vault.md",
        "lapidary sessions vault",
        DocumentWorld::with_a_lost_session,
    ),
];

macro_rules! documents {
    ($($test:ident: $page:literal;)*) => {
        $(
            #[test]
            fn $test() {
                check($page);
            }
        )*
        const TESTED: &[&str] = &[$($page),*];
    };
}

documents! {
    the_commands_of_the_readme_run: "README.md";
    the_commands_about_agents_run: "docs/agents.md";
    the_commands_about_clients_run: "docs/clients.md";
    the_commands_about_confinement_run: "docs/confinement.md";
    the_commands_about_connections_run: "docs/connect.md";
    the_commands_about_editors_run: "docs/editors.md";
    the_commands_about_fleets_run: "docs/fleet.md";
    the_commands_about_hooks_run: "docs/hooks.md";
    the_commands_about_hooks_of_other_agents_run: "docs/hooks-any-agent.md";
    the_commands_about_mcp_run: "docs/mcp.md";
    the_commands_about_outcomes_run: "docs/outcomes.md";
    the_commands_about_output_schemas_run: "docs/output-schema.md";
    the_commands_about_permissions_run: "docs/permissions.md";
    the_commands_about_replays_run: "docs/replay.md";
    the_commands_about_runs_run: "docs/runs.md";
    the_commands_about_the_server_run: "docs/serve.md";
    the_commands_about_sessions_run: "docs/sessions.md";
    the_commands_about_settings_run: "docs/settings.md";
    the_commands_about_skills_run: "docs/skills.md";
    the_commands_about_the_vault_run: "docs/vault.md";
}

/// The commands of a page that are about this program.
fn commands_of(page: &str) -> Vec<ShownCommand> {
    let mut commands = shown_commands(page);
    commands.retain(|command| {
        let names = ["lapidary", "xtask", "crates/cli"];
        command.is_whole && names.iter().any(|name| command.text.contains(name))
    });
    commands
}

fn is_run_elsewhere(command: &ShownCommand) -> bool {
    let mut elsewhere = RUN_ELSEWHERE.iter();
    elsewhere.any(|(beginning, _)| command.text.starts_with(beginning))
}

fn check(page: &str) {
    let known = documented_codes();
    let mut wrong = Vec::new();
    for command in commands_of(page) {
        if is_run_elsewhere(&command) {
            continue;
        }
        let problem = catch_unwind(|| {
            let world = DocumentWorld::new();
            let mut scenes = SCENES.iter();
            let scene = scenes.find(|(its_page, beginning, _)| {
                *its_page == page && command.text.starts_with(beginning)
            });
            if let Some((.., prepare)) = scene {
                prepare(&world);
            }
            let ran = run(&world, &command);
            problem(&world, &command, &ran, &known)
        });
        let problem = problem.unwrap_or_else(|_| Some("it panics or does not end".to_owned()));
        let place = format!("{page}:{}: {}", command.line, command.text);
        wrong.extend(problem.map(|problem| format!("{place}\n{problem}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn run(world: &DocumentWorld, command: &ShownCommand) -> Ran {
    if command.text.starts_with("lapidary serve") {
        return world.run_server(&command.text);
    }
    let mut ends = ENDS.iter();
    let end = ends.find(|(beginning, _)| command.text.starts_with(beginning));
    let line = format!("{}{}", command.text, end.map_or("", |(_, end)| end));
    world.run(&line, is_on_a_terminal(command))
}

/// Shown output is that of a terminal. A run would ask there, and what the documents show of runs is on stderr.
fn is_on_a_terminal(command: &ShownCommand) -> bool {
    let is_a_run = ["lapidary run ", "lapidary translate"];
    let is_a_run = is_a_run.iter().any(|it| command.text.starts_with(it));
    !command.output.is_empty() && !is_a_run
}

/// The commands that the text of the pages names, such as `lapidary runs list`. A name without arguments may be wrong usage.
#[test]
fn the_commands_that_a_text_names_run() {
    let world = DocumentWorld::new();
    world.with_everything_that_a_text_names();
    let known = documented_codes();
    let pages = pages();
    let commands = pages.iter().flat_map(|page| shown_commands(page));
    let named = commands.filter(|it| !it.is_whole && it.text.starts_with("lapidary "));
    // `bash|zsh` is a choice, and `…` stands for more.
    let mut named: BTreeSet<_> = named
        .filter(|command| !command.text.contains(['…', '$']) && !is_run_elsewhere(command))
        .filter_map(|command| command.text.split('|').next().map(str::to_owned))
        .collect();
    named.retain(|text| {
        !NOT_RUN_BY_NAME
            .iter()
            .any(|(name, _)| text.starts_with(name))
    });
    let mut wrong = Vec::new();
    for text in &named {
        let code = catch_unwind(AssertUnwindSafe(|| world.run(text, false).code));
        let is_known = code.as_ref().is_ok_and(|code| {
            code.is_some_and(|code| code == WRONG_USAGE || known.contains(&code))
        });
        if !is_known {
            wrong.push(format!("{text}: {code:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(named.len() > 40, "commands are named: {named:#?}");
}

/// The reason for which a command did not go as it is shown.
fn problem(
    world: &DocumentWorld,
    command: &ShownCommand,
    ran: &Ran,
    known: &[i32],
) -> Option<String> {
    let mut failing = FAILING.iter();
    let failing = failing.find(|(beginning, _)| command.text.starts_with(beginning));
    let expected = failing.map_or(0, |(_, code)| *code);
    assert!(known.contains(&expected), "{expected} is not documented");
    let printed = format!("{}{}", ran.stdout, ran.stderr);
    if ran.code != Some(expected) {
        let last = printed.lines().rev().take(3).collect::<Vec<_>>();
        return Some(format!(
            "exit code {:?}, not {expected}: {last:?}",
            ran.code
        ));
    }
    let printed: Vec<_> = printed.lines().map(|line| world.stable(line)).collect();
    let shown = command.output.iter().filter(|line| is_compared(line));
    let missing = shown.filter(|line| !printed.contains(&world.stable(line)));
    let missing: Vec<_> = missing.map(String::as_str).collect();
    let is_missing = !missing.is_empty();
    is_missing.then(|| format!("not printed: {missing:#?}, but\n{}", printed.join("\n")))
}

/// Whether a shown line is the same everywhere: `…` stands for any text, and ages change.
fn is_compared(line: &str) -> bool {
    !line.contains('…') && !line.contains(" ago ") && !line.contains("Just now")
}

/// The exit codes that `docs/outcomes.md` knows, without that of wrong usage.
fn documented_codes() -> Vec<i32> {
    let page = fs::read_to_string(root().join("docs/outcomes.md")).unwrap();
    let (_, table) = page.split_once("| exit code | causes |").unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let codes = cells.flat_map(|cell| cell.split(','));
    let mut codes: Vec<i32> = codes.map(|code| code.trim().parse().unwrap()).collect();
    codes.retain(|code| *code != WRONG_USAGE);
    codes
}

#[test]
fn each_document_with_commands_has_its_test() {
    for page in pages() {
        let has_commands = !commands_of(&page).is_empty();
        assert_eq!(has_commands, TESTED.contains(&page.as_str()), "{page}");
    }
}

#[test]
fn each_command_that_runs_elsewhere_is_shown_and_its_test_exists() {
    let shown: Vec<_> = pages().iter().flat_map(|page| commands_of(page)).collect();
    let mut sources = String::new();
    read_sources(&root().join("crates/cli/tests/it"), &mut sources);
    for (beginning, _) in RUN_ELSEWHERE {
        let is_shown = shown.iter().any(|it| it.text.starts_with(beginning));
        assert!(is_shown, "no document shows `{beginning}`");
    }
    for (_, test) in RUN_ELSEWHERE.iter().chain(NOT_RUN_BY_NAME) {
        assert!(sources.contains(&format!("fn {test}()")), "no test {test}");
    }
    let scenes = SCENES.iter().map(|(_, beginning, _)| beginning);
    let ends = ENDS.iter().map(|(beginning, _)| beginning);
    for beginning in FAILING.iter().map(|(it, _)| it).chain(scenes).chain(ends) {
        let is_shown = shown.iter().any(|it| it.text.starts_with(beginning));
        assert!(is_shown, "no document shows `{beginning}`");
    }
}

fn read_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|it| it == "rs") {
            *sources += &fs::read_to_string(path).unwrap();
        }
    }
}
