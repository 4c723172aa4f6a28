//! `doctor --install` with an npm of our own: the adapter is there whole, or not at all.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Visit;
use crate::run::world::World;
use crate::support::ended;

/// An npm that puts the program there.
const WORKS: &str = "mkdir -p node_modules/.bin && printf '#!/bin/sh\\n' > node_modules/.bin/claude-agent-acp && chmod 755 node_modules/.bin/claude-agent-acp && echo \"$@\" > ../../../npm-args";

/// A world with an npm that is this script, with `claude`, and with nothing else beside the usual.
fn world(npm: Option<&str>) -> World {
    let world = World::with_agent("");
    fs::create_dir(world.path("bin")).unwrap();
    world.program("bin/claude", "#!/bin/sh\nexit 1\n");
    if let Some(npm) = npm {
        world.program("bin/npm", &format!("#!/bin/sh\n{npm}\n"));
    }
    for tool in ["sh", "mkdir", "chmod", "sleep", "touch"] {
        let found = ["/bin", "/usr/bin"].map(|dir| PathBuf::from(dir).join(tool));
        let found = found.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, world.path("bin").join(tool)).unwrap();
    }
    world
}

fn lapidary(world: &World, args: &[&str]) -> Command {
    let mut command = world.lapidary(args);
    command.env("PATH", world.path("bin"));
    command
}

const INSTALL: [&str; 5] = ["doctor", "--agent", "claude", "--install", "--yes"];

fn left(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path("state/adapters"));
    let names = entries.into_iter().flatten().flatten();
    names
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn an_adapter_is_installed_once_and_found_without_path() {
    let world = world(Some(WORKS));
    let missing = Visit::of(lapidary(
        &world,
        &["run", "--transport", "acp", "--agent", "claude", "go"],
    ));
    assert_eq!(missing.code, Some(10), "{missing:?}");
    let said = format!(
        "error: Claude Code is installed (`{}`), but not its ACP adapter `claude-agent-acp`, through which it speaks ACP (agent_missing)\n\
         hint: run `lapidary doctor --agent claude --install`, which asks first\n",
        world.path("bin/claude").display()
    );
    assert_eq!(missing.stderr, said);
    let unasked = Visit::of(lapidary(&world, &INSTALL[..4]));
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(
        unasked
            .stderr
            .contains("hint: `--yes` installs without asking"),
        "{unasked:?}"
    );
    assert_eq!(left(&world), [""; 0]);

    let installed = Visit::of(lapidary(&world, &INSTALL));
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert_eq!(left(&world), ["claude-agent-acp-0.99.1"]);
    let args = fs::read_to_string(world.path("npm-args")).unwrap();
    assert!(args.contains("--ignore-scripts"), "{args}");
    assert!(
        args.ends_with(" @agentclientprotocol/claude-agent-acp@0.99.1\n"),
        "{args}"
    );
    let again = Visit::of(lapidary(&world, &INSTALL));
    assert!(
        again.code == Some(0) && again.stderr.contains("is there already"),
        "{again:?}"
    );
    let found = Visit::of(lapidary(&world, &["capabilities", "--agent", "claude"]));
    let place = "state/adapters/claude-agent-acp-0.99.1/node_modules/.bin/claude-agent-acp";
    assert!(
        found.stdout.contains(world.path(place).to_str().unwrap()),
        "{found:?}"
    );
}

#[test]
fn an_installation_that_fails_leaves_nothing() {
    for (npm, code, words) in [
        (
            None,
            10,
            "error: cannot find `npm` on PATH\nhint: install Node.js",
        ),
        (
            Some("mkdir -p node_modules/.bin; echo 'npm error code ENOTFOUND' >&2; exit 1"),
            10,
            "error: npm could not install `@agentclientprotocol/claude-agent-acp`: code ENOTFOUND\nhint: check the network",
        ),
        (Some("exit 0"), 10, "it has no program `claude-agent-acp`"),
    ] {
        let world = world(npm);
        let visit = Visit::of(lapidary(&world, &INSTALL));
        assert_eq!(visit.code, Some(code), "{visit:?}");
        assert!(visit.stderr.contains(words), "{visit:?}");
        assert_eq!(left(&world), [""; 0]);
    }
    let world = world(None);
    let visit = Visit::of(lapidary(
        &world,
        &["doctor", "--agent", "goose", "--install"],
    ));
    assert_eq!(visit.code, Some(2), "{visit:?}");
}

#[test]
fn ctrl_c_ends_npm_and_takes_its_files_away() {
    let npm = "mkdir -p node_modules; touch ../../../ready; sleep 600";
    let world = world(Some(npm));
    let mut command = lapidary(&world, &INSTALL);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    world.wait_for("ready");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let ended = ended(child);
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(left(&world), [""; 0]);
    world.assert_nothing_is_left();
}

/// The real npm and the real adapter, of a few hundred megabytes.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "downloads the adapter from npm: run `cargo xtask test --full`"
)]
fn the_real_npm_installs_an_adapter_that_works() {
    let world = World::with_agent("");
    let mut command = world.lapidary(&[&INSTALL[..], &["--prove", "--json"]].concat());
    command.env("HOME", world.path("project"));
    let visit = Visit::of(command);
    assert_eq!(visit.code, Some(0), "{visit:?}");
    let checkup = visit.checkup();
    assert_eq!(checkup["card"]["agentVersion"], "0.99.1", "{checkup}");
}
