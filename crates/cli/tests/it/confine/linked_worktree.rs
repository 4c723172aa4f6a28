//! A commit in a linked worktree, whose objects and branches are in the repository that it is linked to.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::world::World;
use crate::support::output;

fn git(directory: &Path, home: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(args)
        .current_dir(directory)
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let done = output(git, b"");
    assert!(done.status.success(), "{args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_confined_agent_commits_in_a_linked_worktree_and_writes_nothing_else_of_its_repository() {
    let world = World::with_agent(
        "init; echo new > file
         git -c user.name=a -c user.email=a@example.com add file >&2 || exit 3
         git -c user.name=a -c user.email=a@example.com commit -q -m 'by the agent' >&2 || exit 4
         git tag tagged || exit 5; git stash list || exit 6
         git branch gone && git branch -q -d gone || exit 7
         echo evil > ../main/tracked && exit 8
         say done; success",
    );
    let (main, home) = (world.path("main"), world.path("home"));
    fs::create_dir_all(&main).unwrap();
    fs::create_dir_all(&home).unwrap();
    git(&main, &home, &["init", "-q", "-b", "main"]);
    git(
        &main,
        &home,
        &["commit", "-q", "--allow-empty", "-m", "first"],
    );
    fs::remove_dir(world.path("project")).unwrap();
    git(
        &main,
        &home,
        &["worktree", "add", "-q", "-b", "work", "../project"],
    );
    let told = world.run(&["--confine", "workspace", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(
        git(&main, &home, &["log", "-1", "--format=%s", "work"]),
        "by the agent\n"
    );
    assert!(!main.join("tracked").exists());
    let end = told.end();
    assert!(end["violations"].is_null(), "{end}");

    world.agent("init; echo evil > ../main/.git/hooks/pre-commit; git config core.pager evil; say done; success");
    let told = world.run(&["--confine", "workspace", "go"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    let violations = told.end()["violations"].to_string();
    for file in ["hooks/pre-commit` was created", "config` was changed"] {
        assert!(violations.contains(file), "{violations}");
    }
}
