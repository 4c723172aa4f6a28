//! The commented file that `config init` writes.

use std::fmt::Write as _;

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigOwner {
    User,
    Project,
}

/// A key with an example of its value and a description, and whether a project's file may have this value.
struct KeyExample {
    key: &'static str,
    value: &'static str,
    about: &'static str,
    is_for_projects: bool,
}

const fn key_example(key: &'static str, value: &'static str, about: &'static str) -> KeyExample {
    KeyExample {
        key,
        value,
        about,
        is_for_projects: true,
    }
}

const fn user_key_example(
    key: &'static str,
    value: &'static str,
    about: &'static str,
) -> KeyExample {
    KeyExample {
        is_for_projects: false,
        ..key_example(key, value, about)
    }
}

/// Every key except `approval_mode`, which is `permission_mode` in Gemini's words.
const EXAMPLES: [KeyExample; 28] = [
    user_key_example(
        "agent",
        "\"gemini\"",
        "Agent that runs without --agent: a known name, or one of [agents.NAME] below.",
    ),
    key_example(
        "model",
        "\"gemini-2.5-pro\"",
        "Model. The agent's own choice if not set.",
    ),
    key_example(
        "system_prompt",
        "\"Answer briefly.\"",
        "Text for the agent before the prompt.",
    ),
    key_example(
        "permission_mode",
        "\"default\"",
        "default asks before edits and commands; plan forbids them. Only your own file may say acceptEdits or bypassPermissions.",
    ),
    user_key_example(
        "allowed_tools",
        "[\"read_file\"]",
        "Tools of Gemini CLI that run without confirmation.",
    ),
    user_key_example(
        "trust_workspace",
        "true",
        "Trust every folder. Better: --trust-workspace for one run.",
    ),
    key_example(
        "on_denied",
        "\"fail\"",
        "Outcome of a run in which a call was denied: auto, warn or fail.",
    ),
    key_example(
        "on_violation",
        "\"stop\"",
        "What to do if the agent makes a call without permission: stop or report.",
    ),
    key_example(
        "confine",
        "\"workspace\"",
        "What the kernel lets the agent write: workspace, read-only or, in your own file, off.",
    ),
    key_example(
        "confinement",
        "\"required\"",
        "A run that the kernel cannot confine fails (required), or is only warned of (wanted).",
    ),
    user_key_example(
        "confine_write",
        "[\"/var/cache/mine\"]",
        "More files and directories that a confined agent can write.",
    ),
    key_example(
        "confine_connect",
        "[443]",
        "The TCP ports that a confined agent can connect to. All of them if not set.",
    ),
    key_example(
        "timeout",
        "\"10m\"",
        "Longest run. A number is seconds; units are ms, s, m, h and d.",
    ),
    key_example(
        "start_timeout",
        "\"1m\"",
        "Longest wait for the agent's first line; 0 for no limit.",
    ),
    key_example(
        "idle_timeout",
        "\"5m\"",
        "Longest silence of the agent; 0 for no limit.",
    ),
    key_example(
        "grace",
        "\"5s\"",
        "Time to end after a cancel or a timeout before the kill.",
    ),
    key_example("max_turns", "50", "Most model turns of a run."),
    key_example(
        "budget",
        "\"tokens=200000,cost=1.50\"",
        "Most usage: tokens, cost (US dollars), tool-calls, turns.",
    ),
    key_example(
        "budget_unknown",
        "\"fail\"",
        "What to do if the agent does not report what the budget limits: fail or warn.",
    ),
    key_example(
        "retries",
        "1",
        "Starts again after a failed start or a rate limit, if nothing was done yet.",
    ),
    key_example("sandbox", "true", "Run in the agent's own sandbox."),
    key_example(
        "include_directories",
        "[]",
        "More directories for the agent's workspace.",
    ),
    key_example("working_dir", "\".\"", "Directory the agent works in."),
    key_example("transport", "\"auto\"", "auto, acp, stream-json or json."),
    key_example("record", "true", "Keep a recording of every run."),
    user_key_example(
        "runs_max_age",
        "\"30d\"",
        "Delete older recordings: h, d, w or m (30 days), or \"unlimited\".",
    ),
    user_key_example(
        "runs_max_size",
        "\"2GiB\"",
        "Most bytes of recordings, the newest first, or \"unlimited\".",
    ),
    key_example(
        "max_output",
        "1073741824",
        "Most bytes the agent may write.",
    ),
];

/// The example of `[[rule]]`, which is a table of its own.
const RULES: &str = r#"
# Permission rules: the first rule that matches decides, then permission_mode.
# kind, tool, mcp, command, path, host and agent narrow a rule; then is allow, deny or ask.
# [[rule]]
# kind = "execute"
# command = "git push *"
# then = "deny"
# reason = "pushing is for people"
"#;

const OWN_TABLES: &str = r#"
# [[rule]]
# kind = "execute"
# command = "cargo test *"
# then = "allow"

# An agent of your own, for --agent mine. It has to speak ACP.
# [agents.mine]
# command = "node /path/to/agent.js --acp"

# A remote agent, for --agent far: its URL, and the place of its token.
# [agents.far]
# url = "wss://agents.example/acp"
# token_file = "/path/to/token"

# Prices in US dollars for a million tokens, for a cost budget.
# [prices."my-model"]
# input = 1.25
# output = 10.0
"#;

/// The file: every key with an example, all of it in comments.
pub(super) fn config_template(owner: ConfigOwner) -> String {
    let mut text = match owner {
        ConfigOwner::User => "# Your configuration of Lapidary. Options on the command line and a project's lapidary.toml go before it.\n",
        ConfigOwner::Project => "# This project's configuration of Lapidary. It comes with the repository, so it can choose and narrow, but grants nothing:\n# what allows more belongs into each user's own file (`lapidary config init --user`).\n",
    }
    .to_owned();
    text += "# `lapidary config show` shows what counts; `lapidary config check` finds mistakes.\n";
    for example in EXAMPLES {
        if owner == ConfigOwner::User || example.is_for_projects {
            let KeyExample {
                key, value, about, ..
            } = example;
            let _ = writeln!(text, "\n# {about}\n# {key} = {value}"); // to memory
        }
    }
    text += RULES;
    if owner == ConfigOwner::User {
        text += OWN_TABLES;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lapidary::engine::config::{Config, KEYS};

    use super::*;

    /// The file with every setting in force.
    fn uncommented(owner: ConfigOwner) -> String {
        let is_setting = |line: &&str| {
            let line = line.trim_start_matches("# ");
            line.starts_with('[')
                || line
                    .split_once(" = ")
                    .is_some_and(|(key, _)| !key.contains(' '))
        };
        let text = config_template(owner);
        let lines: Vec<_> = text.lines().filter(is_setting).collect();
        lines.join("\n").replace("# ", "")
    }

    #[test]
    fn the_init_template_parses_to_the_default_configuration() {
        for owner in [ConfigOwner::User, ConfigOwner::Project] {
            let (config, warnings) =
                Config::from_toml(&config_template(owner), Path::new("/x")).unwrap();
            assert_eq!((config, warnings), (Config::default(), Vec::new()));
        }
    }

    #[test]
    fn every_key_has_an_example_that_is_accepted_where_it_stands() {
        let user = uncommented(ConfigOwner::User);
        let (config, warnings) = Config::from_toml(&user, Path::new("/x/lapidary.toml")).unwrap();
        assert_eq!(warnings, [], "{user}");
        assert_eq!((config.rules.len(), config.agents.len()), (2, 2));
        let missing = KEYS
            .iter()
            .filter(|key| !user.contains(&format!("{key} = ")));
        assert_eq!(missing.collect::<Vec<_>>(), [&"approval_mode"]);
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("lapidary.toml");
        let project = uncommented(ConfigOwner::Project);
        let (_, warnings) = Config::from_project_toml(&project, &file).unwrap();
        assert_eq!(warnings, [], "{project}");
    }
}
