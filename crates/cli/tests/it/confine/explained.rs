//! A write that was denied is explained once, with the line that allows it.

use std::fs;

use crate::run::world::{Told, World};

#[test]
fn a_denied_write_is_explained_with_the_line_that_allows_it() {
    let complains = [
        // On its stderr, as a program that fails does.
        "echo x > \"$OUTSIDE/file\"; init; say done; success",
        // In the result of a tool.
        "init; call c run_shell_command; answer c \"$(sh -c 'echo x > \"$OUTSIDE/file\"' 2>&1)\"; say done; success",
    ];
    for agent in complains {
        let world = World::with_agent(agent);
        fs::create_dir(world.path("outside")).unwrap();
        let outside = world.path("outside").canonicalize().unwrap();
        let run = |more: &[&str]| {
            let args = [&["run", "--yolo", "--confine", "workspace"], more, &["go"]].concat();
            let mut command = world.lapidary(&args);
            command.env("OUTSIDE", &outside);
            Told::by(command)
        };
        let told = run(&[]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        let warnings = told.end()["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let line = format!("`confine_write = [{outside:?}]`");
        assert!(
            warnings[0].as_str().unwrap().contains(&line),
            "{warnings:?}"
        );
        let config = world.path("allowing.toml");
        fs::write(&config, line.trim_matches('`')).unwrap();
        let told = run(&["--config", config.to_str().unwrap()]);
        assert_eq!(told.end()["warnings"], serde_json::Value::Null, "{told:?}");
        assert!(outside.join("file").exists());
    }
}
