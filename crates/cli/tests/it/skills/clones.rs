//! Repositories and servers that try to use up the disk and memory of the machine.

use std::fs;
use std::process::Command;
use std::time::Duration;

use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::git::{self, CloneError, CloneLimits, CloneRequest};
use lapidary::engine::process::Supervisor;
use tokio_util::sync::CancellationToken;

use super::hostile::assert_nothing_temporary_is_left;
use super::stage::{Stage, ran};

/// A command in place of ssh: it writes 40 MB without content to stderr, and then its memory limit.
const LOUD: &str =
    r#"sh -c 'head -c 40000000 /dev/zero | tr "\0" x >&2; echo >&2; ulimit -v >&2; exit 1'"#;

#[test]
fn git_output_takes_no_disk_and_bounded_memory() {
    let stage = Stage::new();
    let install = stage.command(&["install", "ssh://127.0.0.1/x", "--consent"]);
    let mut command = Command::new("sh");
    // No file may be larger than 1 MiB.
    command.args(["-c", "ulimit -f 2048; exec \"$@\"", "sh"]);
    command.arg(install.get_program()).args(install.get_args());
    command.current_dir(stage.world.project()).env_clear();
    command.envs(stage.world.environment("http://127.0.0.1:9"));
    command.env("GIT_SSH_COMMAND", LOUD);
    let ran = ran(command);
    assert_eq!(ran.code, Some(13), "{ran:?}");
    let said = ran.stderr.replace('x', "");
    assert!(said.lines().any(|line| line.trim() == "2097152"), "{said}");
    assert_nothing_temporary_is_left(&stage, "a flood");
}

/// A hundred thousand files that are one.
const BOMB: &str = r"
git init -q . && it=$(git hash-object -w --stdin </dev/null) && kind=blob && mode=100644
for level in 1 2 3 4 5; do
    it=$(for name in 0 1 2 3 4 5 6 7 8 9; do printf '%s %s %s\t%s\n' $mode $kind $it $name; done | git mktree)
    kind=tree; mode=040000
done
git update-ref HEAD $(git -c user.name=a -c user.email=a@example.org commit-tree -m first $it)
";

#[test]
fn a_repository_of_more_files_than_it_has_bytes_is_given_up() {
    let stage = Stage::new();
    let (repo, into) = (stage.path("repo"), stage.path("into"));
    fs::create_dir(&repo).unwrap();
    fs::create_dir(&into).unwrap();
    let mut made = Command::new("sh");
    made.args(["-c", BOMB]).current_dir(&repo);
    assert!(made.status().unwrap().success());
    let environment = stage.world.environment("http://127.0.0.1:9");
    let request = CloneRequest {
        url: &format!("file://{}", repo.display()),
        into: &into,
        environment: &SearchEnvironment::from_vars(environment, &into),
        supervisor: &Supervisor::at(env!("CARGO_BIN_EXE_lapidary")),
        deadline: Duration::from_secs(30),
        limits: CloneLimits {
            entries: 500,
            ..CloneLimits::default()
        },
        cancel: &CancellationToken::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let refused = runtime.unwrap().block_on(git::clone(&request)).unwrap_err();
    assert!(matches!(refused, CloneError::TooMuch { .. }), "{refused}");
}
