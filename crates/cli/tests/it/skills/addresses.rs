//! Addresses of repositories: which ssh clones them, and that no message or file shows their passwords.

use std::fs;
use std::process::Command;

use super::hostile::{assert_nothing_temporary_is_left, repository};
use super::stage::{Stage, ran};
use crate::support::output;

/// A fake ssh: it logs its call and whether it has a terminal for questions, then serves the repository as the remote side would.
const SSH: &str = r#"#!/bin/sh
if [ "$1" = -G ]; then exit; fi
if (exec </dev/tty) 2>/dev/null; then tty=terminal; else tty=nobody; fi
echo "$0 $tty <$SSH_ASKPASS> $SSH_ASKPASS_REQUIRE" >> "$SSH_LOG"
stat -c %a .. > "$SSH_LOG.mode"
exec git upload-pack "$SSH_REPOSITORY"
"#;

/// A world with an ssh of its own, and a repository behind it.
fn with_ssh() -> Stage {
    let stage = Stage::new();
    repository(&stage);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(stage.path("my-ssh"));
    assert!(output(shell, SSH.as_bytes()).status.success());
    stage
}

fn install(stage: &Stage, url: &str, args: &[&str]) -> Command {
    let mut command = stage.command(&["install", url, "--path", "skills"]);
    command
        .args(args)
        .env("SSH_LOG", stage.path("log"))
        .env("SSH_REPOSITORY", stage.path("repo"));
    command
}

#[test]
fn a_clone_uses_the_users_ssh_without_prompts() {
    let stage = with_ssh();
    let ssh = stage.path("my-ssh");
    let configuration = format!("[core]\n\tsshCommand = {}\n", ssh.display());
    for way in ["GIT_SSH", "GIT_SSH_COMMAND", "core.sshCommand"] {
        let mut command = install(&stage, "ssh://git@nowhere.invalid/x", &["--consent"]);
        if way == "core.sshCommand" {
            stage.write("home/.gitconfig", &configuration);
        } else {
            command.env(way, &ssh);
        }
        let ran = ran(command);
        assert_eq!(ran.code, Some(0), "{way}: {ran:?}");
        let log = fs::read_to_string(stage.path("log")).unwrap();
        let expected = "ROOT/my-ssh nobody <> never\n";
        assert_eq!(stage.anywhere(&log), expected, "{way}");
        fs::remove_file(stage.path("log")).unwrap();
    }
}

#[test]
fn an_ssh_that_hangs_is_given_up_in_time() {
    let stage = Stage::new();
    let mut command = install(
        &stage,
        "git@nowhere.invalid:x",
        &["--consent", "--timeout", "1"],
    );
    command.env("GIT_SSH_COMMAND", "sleep 60; :");
    let ran = ran(command);
    assert_eq!(ran.code, Some(14), "{ran:?}");
    assert_nothing_temporary_is_left(&stage, "a timeout");
}

#[test]
fn a_password_in_an_address_is_never_said_and_stays_nowhere() {
    let stage = with_ssh();
    let ssh = stage.path("my-ssh");
    let url = "ssh://me:s3cr%40t@nowhere.invalid/x";
    let is_safe = |said: &str| !said.contains("s3cr") && said.contains("://***@");
    let mut done = install(&stage, url, &["--consent"]);
    let done = ran({
        done.env("GIT_SSH", &ssh);
        done
    });
    assert_eq!(done.code, Some(0), "{done:?}");
    let asked = r#"Installing agent skill(s) from "ssh://***@nowhere.invalid/x"."#;
    assert!(
        is_safe(&done.stderr) && done.stderr.contains(asked),
        "{done:?}"
    );
    let stored = stage.files("home");
    assert!(!format!("{stored:?}").contains("s3cr"), "{stored:?}");

    let mut nothing = stage.command(&["install", url, "--path", "empty", "--consent"]);
    nothing
        .env("GIT_SSH", &ssh)
        .env("SSH_LOG", stage.path("log"));
    let nothing = ran({
        nothing.env("SSH_REPOSITORY", stage.path("repo"));
        nothing
    });
    assert_eq!(nothing.code, Some(13));
    assert!(is_safe(&nothing.stderr), "{nothing:?}");
    for (url, code) in [
        ("http://me:s3cr%40t@127.0.0.1:1/x", 13),
        ("https://s3cr3t@127.0.0.1:1/x", 13),
        ("git://me:s3cret@127.0.0.1:1/x", 13),
        ("HTTPS://me:s3cret@127.0.0.1:1/x", 13),
        ("https://me:2024/s3cret@127.0.0.1:1/x.git", 13),
    ] {
        let failed = stage.run(&["install", url, "--consent"]);
        assert_eq!(failed.code, Some(code), "{failed:?}");
        assert!(is_safe(&failed.stderr), "{failed:?}");
    }
    for (url, shown) in [
        ("https:me:s3cret@h/x", "https:***@h/x"),
        ("me:s3cret@h:x", "***@h:x"),
        (
            "http://127.0.0.1:1/x?private_token=s3cret",
            "http://127.0.0.1:1/x?private_token=***",
        ),
    ] {
        let failed = stage.run(&["install", url, "--consent"]);
        assert_eq!(failed.code, Some(13), "{failed:?}");
        let is_safe = !failed.stderr.contains("s3cr") && failed.stderr.contains(shown);
        assert!(is_safe, "{failed:?}");
    }
    let usage = stage.run(&["install", "x", "https://me:s'3cret@host/x"]);
    assert_eq!(usage.code, Some(2));
    assert!(
        !usage.stderr.contains("3cret") && usage.stderr.contains("https://***@host/x"),
        "{usage:?}"
    );
}

/// Waits for the question on a terminal, lists the cloned files and the mode of their directory, and answers no.
const WHILE_ASKED: &str = r"import os, pty, subprocess, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
shown = b''
while b'[Y/n]: ' not in shown: shown += os.read(terminal, 4096)
subprocess.run('cd $TMPDIR/lapidary-skill-* && stat -c %a . && cd source && find . -mindepth 1 | sort', shell=True)
os.write(terminal, b'n\n')
try:
    while os.read(terminal, 4096): pass
except OSError: pass
os.waitpid(pid, 0)";

#[test]
fn a_clone_is_private_and_contains_no_password() {
    let stage = with_ssh();
    let url = "ssh://me:s3cret@nowhere.invalid/x";
    let asked = install(&stage, url, &[]);
    let mut python = Command::new("python3");
    python
        .args(["-c", WHILE_ASKED])
        .arg(asked.get_program())
        .args(asked.get_args())
        .current_dir(stage.world.project())
        .env_clear()
        .envs(stage.world.environment(""))
        .env("GIT_SSH", stage.path("my-ssh"))
        .env("SSH_LOG", stage.path("log"))
        .env("SSH_REPOSITORY", stage.path("repo"));
    let ran = output(python, b"");
    let fetched = String::from_utf8_lossy(&ran.stdout);
    let expected = "700\n./skills\n./skills/x\n./skills/x/SKILL.md\n./skills/x/run.sh\n";
    assert_eq!(fetched, expected, "{ran:?}");
    let meanwhile = fs::read_to_string(stage.path("log.mode")).unwrap();
    assert_eq!(meanwhile, "700\n");
}

#[test]
fn a_failed_fetch_and_a_source_without_skills_have_different_errors() {
    let stage = Stage::new();
    stage.write("project/empty/notes", "x");
    for (source, words) in [
        ("nope", "error: cannot read `nope`: No such file"),
        (
            "git://127.0.0.1:1/x",
            "error: `git://127.0.0.1:1/x` cannot be cloned: `git://` is not supported\nhint: addresses begin with https://",
        ),
        ("empty", "error: No valid skills found in empty."),
    ] {
        let ran = stage.run(&["install", source, "--consent"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}
