//! Directories that a confinement cannot use, kernels without Landlock, and projects that want no confinement.

use std::fs;
use std::os::unix::fs::symlink;

use lapidary::engine::config::Config;
use lapidary::engine::confine::{ConfineMode, ConfinementNeed};
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::LandlockAbi;
use lapidary::vocab::Body;
use lapidary::vocab::event::RunEnd;

use crate::run::world::{Told, World};

/// Tries to write beside the project, and says how that went.
const CURIOUS: &str = r"
    init; user
    if echo x 2>/dev/null > ../outside; then say escaped; else say held; fi
    if echo x 2>/dev/null > inside; then say inside; fi
    success";

fn text(told: &Told) -> String {
    let texts = told.events.iter().filter_map(|it| it["textDelta"].as_str());
    texts.collect()
}

#[test]
fn an_unattended_run_of_gemini_is_confined_unless_an_option_disables_it() {
    let world = World::with_agent(CURIOUS);
    let run = |args: &[&str]| Told::by(world.confining(&[&["run"], args, &["go"]].concat()));
    let told = run(&[]);
    assert_eq!(text(&told), "heldinside", "{told:?}");
    assert_eq!(told.end()["warnings"], serde_json::Value::Null, "{told:?}");
    assert!(!world.path("outside").exists());
    let told = run(&["--confine", "read-only"]);
    assert_eq!(text(&told), "held", "{told:?}");
    let told = run(&["--confine", "off"]);
    assert_eq!(text(&told), "escapedinside", "{told:?}");
}

#[test]
fn a_required_confinement_holds_for_unknown_agents() {
    let world = World::with_agent("exit 1");
    world.program("unknown", "#!/bin/sh\nread line; touch ../outside\n");
    let config = world.path("required.toml");
    let run = |need: &str| {
        fs::write(&config, format!("confinement = '{need}'")).unwrap();
        let config = config.to_str().unwrap();
        let agent = world.path("unknown");
        let args = [
            "run",
            "--config",
            config,
            "--agent",
            agent.to_str().unwrap(),
            "go",
        ];
        drop(Told::by(world.confining(&args)));
        world.path("outside").exists()
    };
    assert!(!run("required"));
    assert!(run("wanted"));
}

#[test]
fn the_workspace_cannot_be_everything() {
    let world = World::with_agent("init; say hello; success");
    let told = world.run(&["-C", "/", "--confine", "workspace", "go"]);
    assert_eq!(told.verdict(), ("bad_config", Some(13)), "{told:?}");
    assert!(
        told.message().contains("`/` is a workspace directory"),
        "{told:?}"
    );
    let told = world.run(&["-C", "/", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let warning = told.end()["warnings"][0].as_str().unwrap();
    assert!(warning.contains("not confined"), "{warning}");
}

#[test]
fn a_workspace_that_is_a_link_is_where_the_link_leads() {
    let world = World::with_agent(CURIOUS);
    symlink("project", world.path("linked")).unwrap();
    let linked = world.path("linked");
    let told = world.run(&[
        "-C",
        linked.to_str().unwrap(),
        "--confine",
        "workspace",
        "go",
    ]);
    assert_eq!(text(&told), "heldinside", "{told:?}");
    assert!(world.path("project/inside").exists());
}

#[test]
fn a_link_of_the_workspace_is_no_way_to_add_a_directory() {
    let world = World::with_agent(CURIOUS);
    symlink("..", world.path("project/up")).unwrap();
    let args = [
        "--include-directories",
        "up",
        "--confine",
        "workspace",
        "go",
    ];
    let told = world.run(&args);
    assert_eq!(text(&told), "heldinside", "{told:?}");
}

#[test]
fn a_link_of_the_workspace_is_no_way_to_write_where_a_cache_or_a_state_should_be() {
    let world = World::with_agent(CURIOUS);
    let run = |variable: &str, directory: &str| {
        let mut command = world.confining(&["run", "--confine", "workspace", "go"]);
        command.env(variable, world.path(directory));
        text(&Told::by(command))
    };
    fs::create_dir_all(world.path("project/cargo/git")).unwrap();
    symlink("../..", world.path("project/cargo/registry")).unwrap();
    assert_eq!(run("CARGO_HOME", "project/cargo"), "heldinside");
    symlink("../made", world.path("project/ccache")).unwrap();
    assert_eq!(run("CCACHE_DIR", "project/ccache"), "heldinside");
    symlink("..", world.path("project/.gemini")).unwrap();
    assert_eq!(run("GEMINI_CLI_HOME", "project"), "heldinside");
    assert!(!world.path("made").exists());
}

#[test]
fn a_state_directory_in_the_workspace_can_be_written_and_one_around_it_cannot_be_read_only() {
    let world = World::with_agent("init; touch .gemini/state || exit 1; say hello; success");
    let mut command = world.lapidary(&["run", "--confine", "read-only", "go"]);
    command.env("GEMINI_CLI_HOME", world.path("project"));
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    fs::create_dir_all(world.path("home/.gemini/project")).unwrap();
    let inside = world.path("home/.gemini/project");
    let told = world.run(&[
        "-C",
        inside.to_str().unwrap(),
        "--confine",
        "read-only",
        "go",
    ]);
    assert_eq!(told.verdict(), ("bad_config", Some(13)), "{told:?}");
    assert!(told.message().contains("cannot be read-only"), "{told:?}");
}

#[test]
fn a_writable_directory_that_is_missing_is_an_error_with_a_hint() {
    let world = World::with_agent(CURIOUS);
    let told = world.run(&["--confine", "workspace", "--confine-write", "nowhere", "go"]);
    assert_eq!(told.verdict(), ("bad_config", Some(13)), "{told:?}");
    assert!(told.message().contains("nowhere"), "{told:?}");
    assert!(
        told.end()["hint"].as_str().unwrap().contains("create it"),
        "{told:?}"
    );
    assert!(!world.path("project/inside").exists());
}

#[test]
fn a_project_can_make_a_confinement_stricter_and_not_looser() {
    let world = World::with_agent(CURIOUS);
    let loose = "confine = 'off'\nconfinement = 'wanted'\nconfine_write = ['..']\n";
    fs::write(world.path("project/lapidary.toml"), loose).unwrap();
    let user = world.path("home/.config/lapidary");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("lapidary.toml"), "confine = 'workspace'\n").unwrap();
    let run = || Told::by(world.confining(&["run", "go"]));
    let told = run();
    assert_eq!(text(&told), "heldinside", "{told:?}");
    for key in ["confine", "confinement", "confine_write"] {
        assert!(told.stderr.contains(key), "{told:?}");
    }
    fs::write(world.path("project/lapidary.toml"), "confine = 'read-only'").unwrap();
    fs::remove_file(world.path("project/inside")).unwrap();
    assert_eq!(text(&run()), "held");
}

/// The end of a run on a kernel that has no newer Landlock than this.
fn on_kernel(world: &World, newest: LandlockAbi, need: ConfinementNeed) -> RunEnd {
    let config = Config {
        confine: Some(ConfineMode::Workspace),
        confinement: Some(need),
        ..Config::default()
    };
    let mut job = Job::gemini(
        &world.host(),
        config,
        PromptText::Text("go".to_owned()),
        "r",
    );
    job.supervisor = job.supervisor.with_landlock_up_to(newest);
    job.records.keep = false;
    let mut run = job.start();
    while let Some(event) = run.blocking_next() {
        if let Body::RunEnd(end) = event.body {
            return end;
        }
    }
    panic!("a run has an end")
}

#[test]
fn without_landlock_a_run_is_refused_if_confinement_is_required_and_warned_of_if_it_is_wanted() {
    let world = World::with_agent(CURIOUS);
    let end = on_kernel(&world, LandlockAbi::NONE, ConfinementNeed::Required);
    assert_eq!(
        (end.cause.as_str(), end.exit_code),
        ("sandbox", 13),
        "{end:?}"
    );
    assert!(!world.path("project/inside").exists(), "nothing ran");
    let end = on_kernel(&world, LandlockAbi::NONE, ConfinementNeed::Wanted);
    assert_eq!(end.cause.as_str(), "end_turn", "{end:?}");
    assert_eq!(end.warnings.len(), 1, "{end:?}");
    assert!(end.warnings[0].contains("no Landlock"), "{end:?}");
    assert!(world.path("outside").exists());
}

#[test]
fn an_old_landlock_confines_as_far_as_it_can_and_says_what_it_cannot() {
    let world = World::with_agent(
        r#"init; mkdir -p a b; touch a/file; mv a/file b/file && echo moved > moved
         python3 -I -S -c 'import os; os.truncate("../victim", 1)'; echo x > ../outside; say hello; success"#,
    );
    for (abi, is_moved, is_whole) in [
        (LandlockAbi::FILES, true, false),
        (LandlockAbi::RENAMES, true, false),
        (LandlockAbi::TRUNCATION, true, true),
    ] {
        fs::write(world.path("victim"), "as it was").unwrap();
        let end = on_kernel(&world, abi, ConfinementNeed::Wanted);
        assert_eq!(end.cause.as_str(), "end_turn", "{end:?}");
        assert!(!world.path("outside").exists(), "{abi}");
        // `mv` copies a file that it cannot rename.
        assert_eq!(world.path("project/moved").exists(), is_moved, "{abi}");
        let victim = fs::read_to_string(world.path("victim")).unwrap();
        assert_eq!(victim == "as it was", is_whole, "{abi}");
        let is_warned = end.warnings.iter().any(|it| it.contains("truncated"));
        assert_eq!(is_warned, !is_whole, "{end:?}");
        let end = on_kernel(&world, abi, ConfinementNeed::Required);
        assert_eq!(end.cause.as_str() == "end_turn", is_whole, "{end:?}");
        fs::remove_file(world.path("project/moved")).unwrap();
    }
}
