//! Typing errors in settings and arguments, and the messages about them.

use super::*;

/// Words that stderr has.
#[track_caller]
fn said(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
}

#[test]
fn misspelt_keys_are_named_by_list_and_check() {
    let settings = r#"{"hooksConfig":{"disabld":["g"]},"hooks":{"BeforeTool":[{"matchr":"write_file","hooks":[{"type":"command","command":"echo x","name":"g","timout":5}]}]}}"#;
    let world = World::new().with(SETTINGS, settings);
    let ran = world.run(&["check"]);
    assert_eq!(ran.code, Some(0), "they are warnings");
    let report = object(&ran, "hooks-check");
    let codes = report["findings"].as_array().unwrap().iter();
    let codes: Vec<_> = codes.map(|it| it["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["unknown_key"; 3], "{report}");
    let shown = world.shown(&["check", "--format", "text"]);
    assert!(
        shown.contains("  hint: did you mean `matcher`?\n"),
        "{shown}"
    );
    assert!(shown.ends_with("\n3 warnings\n"), "{shown}");
    assert_eq!(world.run(&["check", "--strict"]).code, Some(3));

    let meant =
        "`hooksConfig.disabld`: is not a key that Gemini CLI knows; did you mean `disabled`?";
    let list = world.run(&["list"]);
    let notices = object(&list, "hooks")["notices"].clone();
    assert_eq!(notices.as_array().unwrap().len(), 1, "{notices}");
    assert!(notices[0].as_str().unwrap().ends_with(meant), "{notices}");
    said(&world.run(&["list", "--format", "text"]), 0, meant);
}

/// With such a list no hook runs, and Gemini CLI does not start.
#[test]
fn a_list_of_trusted_folders_that_cannot_be_read_is_an_error() {
    let world = World::new()
        .with(SETTINGS, TWO_HOOKS)
        .with("home/.gemini/trustedFolders.json", "{");
    let ran = told(world.command(&["check"]));
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    let report = object(&ran, "hooks-check");
    let findings = report["findings"].as_array().unwrap();
    let is_named = |it: &Value| it["code"] == "left_out_file" && it["severity"] == "error";
    assert!(findings.iter().any(is_named), "{report}");
}

#[test]
fn a_word_without_a_right_letter_means_nothing() {
    let settings = TWO_HOOKS.replace("guard", "a");
    let world = World::new().with(SETTINGS, &settings);
    for name in ["x", ""] {
        let ran = world.run(&["disable", name]);
        assert!(!ran.stderr.contains("did you mean"), "{}", ran.stderr);
    }
}

#[test]
fn a_strict_check_of_sound_hooks_is_a_success() {
    let world = World::new().with(SETTINGS, TWO_HOOKS);
    assert_eq!(world.run(&["check", "--strict"]).code, Some(0));
}

/// Gemini CLI 0.61 complains about it and takes it for a list of one.
#[test]
fn a_single_name_in_place_of_a_list_is_mended() {
    let settings = TWO_HOOKS.replacen(
        "{\n",
        "{\n  \"hooksConfig\": { \"disabled\": \"guard\" }, // off\n",
        1,
    );
    let world = World::new().with(SETTINGS, &settings);
    let report = object(&world.run(&["check"]), "hooks-check");
    assert_eq!(report["findings"][0]["code"], "bad_config", "{report}");
    assert_eq!(report["findings"][0]["severity"], "warning", "{report}");
    assert_eq!(
        object(&world.run(&["list"]), "hooks")["hooks"][0]["enabled"],
        false
    );

    let on = object(&world.run(&["enable", "guard"]), "hooks-change");
    assert_eq!(
        (&on["applied"], on.get("remarks")),
        (&json!(true), None),
        "{on}"
    );
    assert_eq!(
        object(&world.run(&["list"]), "hooks")["hooks"][0]["enabled"],
        true
    );
    let text = world.read(SETTINGS);
    assert!(
        text.contains("\"disabled\": []") && text.contains("// off"),
        "{text}"
    );

    let world = World::new().with(SETTINGS, &settings);
    let off = object(&world.run(&["disable", "true 2"]), "hooks-change");
    assert_eq!(off["applied"], true);
    let hooks = object(&world.run(&["list"]), "hooks")["hooks"].clone();
    assert_eq!(
        (&hooks[0]["enabled"], &hooks[1]["enabled"]),
        (&json!(false), &json!(false))
    );
}

#[test]
fn names_that_are_close_are_offered_and_each_is_listed_once() {
    let twice = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "a", "name": "guard"}, {"type": "command", "command": "b"}]}],
        "AfterTool": [{"hooks": [{"type": "command", "command": "a", "name": "guard"}]}]}}"#;
    let world = World::new().with(SETTINGS, twice);
    said(
        &world.run(&["disable", "GUARD"]),
        13,
        "hint: did you mean `guard`?\n",
    );
    said(
        &world.run(&["disable", "nobody"]),
        13,
        "hint: there are guard, b\n",
    );
    said(
        &world.run(&["list", "--event", "BeforeTol"]),
        2,
        "did you mean `BeforeTool`?",
    );
    said(
        &world.run(&["list", "--event", "PreToolUse"]),
        2,
        "here it is `BeforeTool`",
    );
}

#[test]
fn a_list_of_one_event_says_that_there_are_none_of_it() {
    let world = World::new().with(SETTINGS, TWO_HOOKS);
    let ran = world.run(&["list", "--event", "AfterTool", "--format", "text"]);
    assert_eq!(ran.stdout, "");
    said(&ran, 0, "note: there are no `AfterTool` hooks here\n");
}

#[test]
fn a_hook_that_can_never_run_is_marked_in_the_list() {
    let world = World::new().with(SETTINGS, &TWO_HOOKS.replace("write_file", "Write"));
    let why = "no tool is called `Write`: it never matches, and case counts";
    let list = object(&world.run(&["list"]), "hooks");
    assert_eq!(list["hooks"][0]["neverRuns"], why);
    let shown = world.shown(&["list", "--format", "text"]);
    assert!(
        shown.contains(&format!("\n      Gemini CLI never runs it: {why}\n")),
        "{shown}"
    );
}

#[test]
fn settings_that_are_no_json_are_found_with_the_place() {
    let world = World::new().with(SETTINGS, "{\n,}");
    let shown = world.shown(&["check", "--format", "text"]);
    let start = "project/.gemini/settings.json:2:1: error: `settings.json` is not valid JSON: ";
    assert!(shown.starts_with(start), "{shown}");
    assert!(
        shown.contains("\n  hint: correct the file there"),
        "{shown}"
    );
}

#[test]
fn severities_have_colours_on_a_terminal() {
    let world = World::new().with(SETTINGS, &TWO_HOOKS.replace("write_file", "Write"));
    let project = world.path("project").display().to_string();
    let home = world.path("home").display().to_string();
    let args = ["hooks", "check", "-C", &project];
    let vars = [("HOME", &*home), ("TERM", "xterm"), TRUST];
    let (shown, _) = on_a_terminal(&args, &vars, b"");
    assert!(
        shown.contains("\u{1b}[31merror\u{1b}[0m")
            || shown.contains("\u{1b}[1m\u{1b}[31merror\u{1b}[0m"),
        "{shown:?}"
    );
}

#[test]
fn counts_of_one_are_said_in_words() {
    let one = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}"#;
    let world = World::new().with(
        SETTINGS,
        &format!("{one}, \"hooksConfig\": {{\"enabled\": false}}}}"),
    );
    let shown = world.shown(&["check", "--format", "text"]);
    assert!(shown.contains("switches off the only hook\n"), "{shown}");
    let world = World::new().with(SETTINGS, &format!("{one}}}"));
    let ran = told(world.command(&["check", "--format", "text"]));
    assert!(
        ran.stdout
            .contains("does not run the only hook in settings here\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_migration_names_each_event_once_and_the_hooks_of_the_home() {
    let claude = r#"{"hooks": {"SessionStart": [{"matcher": "startup|resume", "hooks": [{"type": "command", "command": "x"}]}]}}"#;
    let world = World::new().with("project/.claude/settings.json", claude);
    let ran = world.run(&["migrate", "--from-claude", "--dry-run", "--format", "text"]);
    let headings = ran.stdout.lines().filter(|line| *line == "SessionStart");
    assert_eq!(headings.count(), 1, "{}", ran.stdout);
    said(&ran, 0, "is shown to you, not to the model");

    let world = World::new().with("home/.claude/settings.json", claude);
    let ran = world.run(&["migrate", "--from-claude"]);
    let own = world.path("home/.claude/settings.json");
    said(
        &ran,
        13,
        &format!("hint: `{}` has hooks for every workspace", own.display()),
    );
}
