//! What holds for every rule and every action.

use lapidary_engine::config::PermissionMode;
use lapidary_engine::policy::{PermissionEffect, Rules, ToolAction};
use lapidary_vocab::event::ToolKind;
use proptest::prelude::*;

use super::*;

fn any_effect() -> impl Strategy<Value = PermissionEffect> {
    prop::sample::select(PermissionEffect::ALL.to_vec())
}

fn any_mode() -> impl Strategy<Value = PermissionMode> {
    prop::sample::select(PermissionMode::ALL.to_vec())
}

/// Words, blanks and the characters that a shell acts on.
fn any_command() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "git", "diff", "rm", "-rf", "/", "sh", "-c", " ", " ", " ", ";", "&", "&&", "|", "\n",
        "$(", ")", "`", "'", "\"", "\\", ">", "<(", "2>&1", "#", "$x", "\r", "é", "{", "}",
    ]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

fn any_deed() -> impl Strategy<Value = ToolAction> {
    let kinds = ToolKind::KNOWN
        .iter()
        .copied()
        .chain(["invented"])
        .collect::<Vec<_>>();
    let path = prop::sample::select(vec!["a", "src/b", "../c", "/etc/d", ".git/e", "src/../f"]);
    let name = prop::sample::select(vec!["mcp__x__y", "mcp_x_y_z", "glob", "run_shell_command"]);
    (
        prop::sample::select(kinds),
        prop::option::of(any_command()),
        prop::collection::vec(path, 0..3),
        prop::option::of(name),
        prop::option::of(Just("x".to_owned())),
    )
        .prop_map(|(kind, command, paths, tool, mcp_server)| ToolAction {
            command,
            tool: tool.map(str::to_owned),
            mcp_server,
            ..on(ToolKind::from(kind), &paths)
        })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let specs = [
        "*",
        "execute",
        "execute:git *",
        "execute:rm *",
        "execute:*",
        "read,edit:src/**",
        "edit:**",
        "mcp=x",
        "mcp:y*",
        "tool=g*",
        "other",
        "delete",
        "path=/etc/**",
    ];
    let rule = (any_effect(), prop::sample::select(specs.to_vec()));
    prop::collection::vec(rule, 0..6)
        .prop_map(|rules| Rules::new(rules.into_iter().map(|(effect, spec)| flag(effect, spec))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_refusal_in_front_never_allows_more(rules in any_rules(), action in any_deed(), mode in any_mode(), extra in any_rules()) {
        let before = policy(rules.clone(), mode).decide(&action).effect;
        let denials = extra.iter().filter(|rule| rule.then == PermissionEffect::Deny).cloned();
        let stricter = Rules::new(denials).before(rules);
        prop_assert!(policy(stricter, mode).decide(&action).effect >= before);
    }

    #[test]
    fn a_command_that_bash_would_cut_in_two_is_not_allowed(tail in any_command()) {
        let line = format!("git diff {tail}");
        if allowing("execute:git diff *").decide(&run(&line)).effect == PermissionEffect::Allow {
            // Every command that bash would run begins with the allowed text.
            let ran = run_by_bash(&line);
            for command in ran {
                prop_assert!(command.starts_with("git diff"), "{line:?} runs {command:?}");
            }
        }
    }

    #[test]
    fn every_judgement_has_an_effect_and_a_reason(rules in any_rules(), action in any_deed(), mode in any_mode()) {
        let judgement = policy(rules.clone(), mode).judge(&action);
        prop_assert!(!judgement.decision.reason.is_empty());
        for at in &judgement.decided {
            prop_assert!(judgement.matched.contains(at));
        }
        prop_assert_eq!(judgement.decision.rule.is_some(), !judgement.decided.is_empty());
        let unattended = judgement.decision.unattended();
        prop_assert_ne!(unattended.effect, PermissionEffect::Ask);
    }

    #[test]
    fn any_text_is_a_command_line(command in ".*", pattern in "[^\n]*") {
        let rules = [PermissionEffect::Allow, PermissionEffect::Deny].map(|effect| flag(effect, &format!("command=x{pattern}")));
        policy(Rules::new(rules), PermissionMode::Default).decide(&run(&command));
    }
}

/// The simple commands that bash would run. `PATH` leads nowhere, so bash finds no command, and the handler writes down each one
/// with its first argument.
fn run_by_bash(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let script = format!(
        "command_not_found_handle() {{ echo \"$1 $2\" >> told; }}\nPATH=/nowhere\n{line}\n"
    );
    let mut bash = std::process::Command::new("/bin/bash");
    bash.args(["--norc", "--noprofile", "-c", &script])
        .current_dir(folder.path());
    bash.stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    bash.status().unwrap();
    let told = std::fs::read_to_string(told).unwrap_or_default();
    told.lines().map(str::to_owned).collect()
}
