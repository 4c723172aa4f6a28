//! What is found without running anything.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use lapidary_home::hooks::check::{Finding, Severity, Surroundings, check};

use super::{USER, WORKSPACE, trusted};
use crate::machine::Machine;

fn findings(machine: &Machine) -> Vec<Finding> {
    let search_path = [PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
    let surroundings = Surroundings {
        search_path: &search_path,
        home: &machine.path("home"),
    };
    check(&machine.setup(), surroundings)
}

/// Findings as lines: severity, code, the file's name, the place.
fn told(machine: &Machine) -> Vec<String> {
    let line = |finding: &Finding| {
        let file = finding
            .path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let place = finding
            .place
            .map(|place| format!(":{place}"))
            .unwrap_or_default();
        format!("{} {} {file}{place}", finding.severity, finding.code)
    };
    findings(machine).iter().map(line).collect()
}

/// What is found in one definition of one event, the first line of which is line 1.
#[track_caller]
fn found(event: &str, definition: &str, expected: &[&str]) {
    let settings = format!("{{\"hooks\": {{\"{event}\": [\n{definition}\n]}}}}");
    let machine = trusted().file(WORKSPACE, &settings);
    assert_eq!(told(&machine), expected, "{definition}");
}

fn hook(matcher: &str, command: &str) -> String {
    format!(
        r#"{{"matcher": "{matcher}", "hooks": [{{"type": "command", "command": "{command}"}}]}}"#
    )
}

#[test]
fn a_sound_hook_is_no_finding() {
    for matcher in [
        "",
        "*",
        "write_file",
        "write_file|replace",
        "^mcp_.*",
        "mcp_x",
        ".*",
        "(read|write)_file",
    ] {
        found("BeforeTool", &hook(matcher, "true"), &[]);
    }
    found("SessionStart", &hook("resume", "true"), &[]);
    found("PreCompress", &hook("auto", "echo no >&2; exit 2"), &[]);
}

#[test]
fn matchers_that_never_match_are_found_with_what_was_meant() {
    let error = "error dead_matcher settings.json:2:2";
    for matcher in [
        "shell_execute",
        "Bash",
        "Edit|Write",
        "WRITE_FILE",
        "ls",
        "search_file_content",
    ] {
        // `ls` is in `tracker_list_tasks`' neighbour `tools`, but in no name.
        found("BeforeTool", &hook(matcher, "true"), &[error]);
    }
    found(
        "BeforeTool",
        &hook("write_file|Bash", "true"),
        &["warning dead_matcher settings.json:2:2"],
    );
    found(
        "BeforeTool",
        &hook("write_fil(", "true"),
        &["error bad_matcher settings.json:2:2"],
    );
    found(
        "BeforeTool",
        &hook("frobnicate", "true"),
        &["warning unknown_tool settings.json:2:2"],
    );
    found(
        "BeforeTool",
        &hook("^file$", "true"),
        &["warning unknown_tool settings.json:2:2"],
    );
    for matcher in ["startup|resume", "Startup", "begin"] {
        found("SessionStart", &hook(matcher, "true"), &[error]);
    }
    found(
        "SessionEnd",
        &hook("logout", "true"),
        &["warning dead_matcher settings.json:2:2"],
    );
    found(
        "BeforeAgent",
        &hook("x", "true"),
        &["warning ignored_matcher settings.json:2:2"],
    );
}

#[test]
fn hints_say_what_to_write() {
    let hint = |event: &str, matcher: &str| {
        let settings = format!(
            "{{\"hooks\": {{\"{event}\": [{}]}}}}",
            hook(matcher, "true")
        );
        let machine = trusted().file(WORKSPACE, &settings);
        findings(&machine)[0].hint.clone().unwrap()
    };
    assert_eq!(
        hint("BeforeTool", "shell_execute"),
        "write `run_shell_command`"
    );
    assert_eq!(hint("BeforeTool", "Grep"), "write `grep_search`");
    assert_eq!(
        hint("SessionStart", "startup|resume"),
        "write one definition for each word, or leave the matcher out"
    );
    assert_eq!(hint("SessionStart", "Startup"), "did you mean `startup`?");
    assert!(hint("PreToolUse", "").contains("`BeforeTool`"));
    assert_eq!(hint("beforetool", ""), "did you mean `BeforeTool`?");
    assert!(hint("Frobnicate", "").starts_with("there are BeforeTool, AfterTool"));
    assert!(hint("TaskCompleted", "").contains("nothing like it"));
}

#[test]
fn types_timeouts_and_shapes_are_found_where_they_stand() {
    let with = |fields: &str| format!("{{\"hooks\": [{{\"command\": \"true\", {fields}}}]}}");
    found(
        "BeforeTool",
        &with(r#""type": "Command""#),
        &["error bad_type settings.json:2:12"],
    );
    found(
        "BeforeTool",
        &with(r#""type": "command", "timeout": 30"#),
        &["warning short_timeout settings.json:2:51"],
    );
    found(
        "BeforeTool",
        &with(r#""type": "command", "timeout": 999"#),
        &["warning short_timeout settings.json:2:51"],
    );
    found(
        "BeforeTool",
        &with(r#""type": "command", "timeout": 1000"#),
        &[],
    );
    found(
        "BeforeTool",
        &with(r#""type": "command", "timeout": -1"#),
        &["error no_timeout settings.json:2:51"],
    );
    found(
        "BeforeTool",
        &with(r#""type": "command", "timeout": 99999999999"#),
        &["error no_timeout settings.json:2:51"],
    );
    found(
        "BeforeTool",
        r#"{"command": "true"}"#,
        &["error bad_definition settings.json:2:1"],
    );
    found(
        "PreToolUse",
        "",
        &["error unknown_event settings.json:1:12"],
    );
}

#[test]
fn keys_written_twice_are_found_where_they_are_lost() {
    let settings = "{\n\"hooks\": {},\n\"hooks\": {\n\"BeforeTool\": [],\n\"BeforeTool\": []},\n\"ui\": {\"a\": 1, \"a\": 2}}";
    let machine = trusted().file(WORKSPACE, settings);
    assert_eq!(
        told(&machine),
        [
            "error duplicate_key settings.json:2:1",
            "error duplicate_key settings.json:4:1"
        ]
    );
}

#[test]
fn switches_are_found_with_the_file_that_has_them() {
    let hooks = format!(r#"{{"hooks": {{"BeforeTool": [{}]}}}}"#, hook("", "true"));
    let check = |user: &str, expected: &[&str]| {
        let machine = trusted().file(WORKSPACE, &hooks).file(USER, user);
        let findings = findings(&machine);
        assert!(
            findings
                .iter()
                .all(|finding| finding.path == machine.path(USER)),
            "{user}"
        );
        assert_eq!(told(&machine), expected, "{user}");
    };
    check(
        r#"{"hooksConfig": {"enabled": false}}"#,
        &["warning all_disabled settings.json:1:18"],
    );
    check(
        r#"{"hooksConfig": {"disabled": ["true", "nobody"]}}"#,
        &[
            "note disabled settings.json:1:31",
            "note disabled_unknown settings.json:1:39",
        ],
    );
    check(
        r#"{"hooks": {"enabled": false}}"#,
        &["error old_key settings.json:1:12"],
    );
    check(
        r#"{"hooks": {"enabled": true}}"#,
        &["warning old_key settings.json:1:12"],
    );
    check(
        r#"{"hooks": {"disabled": ["true"]}}"#,
        &["error old_key settings.json:1:12"],
    );
    check(
        r#"{"hooks": {"notifications": true}}"#,
        &["warning old_key settings.json:1:12"],
    );
}

#[test]
fn an_untrusted_folder_is_said_and_all_else_is_found_all_the_same() {
    let settings = format!(
        r#"{{"hooks": {{"BeforeTool": [{}]}}}}"#,
        hook("Bash", "true")
    );
    let machine = Machine::new()
        .file(WORKSPACE, &settings)
        .file(USER, &settings);
    let findings = findings(&machine);
    let codes: Vec<_> = findings
        .iter()
        .map(|finding| (finding.severity, finding.code))
        .collect();
    assert_eq!(
        codes,
        [
            (Severity::Error, "dead_matcher"),
            (Severity::Error, "dead_matcher"),
            (Severity::Warning, "untrusted_folder"),
            (Severity::Note, "duplicate_hook"),
        ]
    );
    assert!(
        findings[2]
            .sentence
            .contains("none of the 2 hooks in settings here, not even the 1 that are not"),
        "{}",
        findings[2].sentence
    );
}

#[test]
fn scripts_that_are_missing_or_cannot_be_started_are_found() {
    let check = |command: &str, expected: &[&str]| {
        let settings = format!(r#"{{"hooks": {{"BeforeTool": [{}]}}}}"#, hook("", command));
        let machine = trusted()
            .file(WORKSPACE, &settings)
            .file("home/code/project/hooks/plain.sh", "echo\n")
            .file("home/code/project/hooks/ready.sh", "#!/bin/sh\necho\n");
        let ready = machine.path("home/code/project/hooks/ready.sh");
        fs::set_permissions(ready, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(told(&machine), expected, "{command}");
    };
    let missing = ["error missing_script settings.json:1:73"];
    check("./hooks/ready.sh", &[]);
    check("$GEMINI_PROJECT_DIR/hooks/ready.sh --flag", &[]);
    check("\\\"${CLAUDE_PROJECT_DIR}\\\"/hooks/ready.sh", &[]);
    check("hooks/gone.sh", &missing);
    check("X=1 hooks/gone.sh | cat", &missing);
    check("bash hooks/gone.sh", &missing);
    check("python3 -u hooks/gone.py", &missing);
    check("hooks/", &missing);
    check(
        "hooks/plain.sh",
        &["error not_executable settings.json:1:73"],
    );
    check("sh hooks/plain.sh", &[]);
    check("~/nothing.sh", &missing);
    check(
        "no-such-program-here -x",
        &["warning missing_program settings.json:1:73"],
    );
    check("$(which x) hooks/gone.sh", &[]);
    check("$UNKNOWN/gone.sh", &[]);
    check("sh -c 'hooks/gone.sh'", &[]);
}

#[test]
fn scripts_whose_first_line_cannot_start_them_are_found() {
    let check = |script: &str, expected: &[&str]| {
        let settings = format!(
            r#"{{"hooks": {{"AfterTool": [{}]}}}}"#,
            hook("", "./hooks/run")
        );
        let machine = trusted()
            .file(WORKSPACE, &settings)
            .file("home/code/project/hooks/run", script)
            .file("home/code/project/hooks/plain", "");
        let run = machine.path("home/code/project/hooks/run");
        fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(told(&machine), expected, "{script:?}");
    };
    let bad = ["error bad_interpreter run:1:1"];
    check("#!/bin/sh\r\necho\r\n", &bad);
    check("#!/usr/bin/env sh\r\necho\r\n", &bad);
    check("#!/opt/none/python\nprint()\n", &bad);
    check("#! /bin\n", &bad);
    check("#!hooks/plain\n", &bad);
    check(
        "#!/usr/bin/env -S no-such-program-here -u\n",
        &["warning bad_interpreter run:1:1"],
    );
    check("#!/bin/sh\necho\r\n", &[]);
    check("#! /bin/sh -e\necho\n", &[]);
    check("#!/usr/bin/env sh\necho\n", &[]);
    check("#!\necho\n", &[]);
    check("echo\r\n", &[]);
}

#[test]
fn commands_that_exit_with_one_are_suspected_as_scripts_are() {
    let check = |event: &str, command: &str, expected: &[&str]| {
        let settings = format!(r#"{{"hooks": {{"{event}": [{}]}}}}"#, hook("", command));
        let machine = trusted().file(WORKSPACE, &settings);
        assert_eq!(told(&machine), expected, "{event} {command}");
    };
    let found = ["warning exit_one settings.json:1:73"];
    check("BeforeTool", "exit 1", &found);
    check("BeforeTool", "echo no; exit 1", &found);
    check("BeforeTool", "echo no >&2; exit 2", &[]);
    check("AfterTool", "echo no; exit 1", &[]);
}

#[test]
fn scripts_that_say_no_in_silence_are_suspected() {
    let check = |event: &str, script: &str, expected: &[&str]| {
        let settings = format!(
            r#"{{"hooks": {{"{event}": [{}]}}}}"#,
            hook("", "sh ./guard.sh")
        );
        let machine = trusted()
            .file(WORKSPACE, &settings)
            .file("home/code/project/guard.sh", script);
        assert_eq!(told(&machine), expected, "{script}");
    };
    check(
        "BeforeTool",
        "#!/bin/sh\n[ -e x ] && exit 2\n",
        &["warning silent_exit guard.sh:2:13"],
    );
    check("BeforeTool", "#!/bin/sh\necho no >&2\nexit 2\n", &[]);
    check(
        "BeforeTool",
        "#!/bin/sh\nexit 1\n",
        &["warning exit_one guard.sh:1:1"],
    );
    check(
        "BeforeTool",
        "#!/bin/sh\ntouch log\n",
        &["note never_speaks guard.sh:1:1"],
    );
    check("AfterTool", "#!/bin/sh\ntouch log\n", &[]);
    check("BeforeTool", "#!/bin/sh\0exit 2", &[]);
}

#[test]
fn files_that_cannot_be_used_are_errors() {
    let machine = trusted().file(USER, "{ no");
    assert_eq!(told(&machine), ["error unusable_file settings.json"]);
    let folder = "home/.gemini/extensions/ext";
    let machine = trusted()
        .file(
            &format!("{folder}/gemini-extension.json"),
            r#"{"name": "ext", "version": "1.0.0"}"#,
        )
        .file(&format!("{folder}/hooks/hooks.json"), "{ no");
    assert_eq!(told(&machine), ["error unusable_file hooks.json"]);
}

#[test]
fn what_is_found_in_an_extension_stands_in_its_file() {
    let folder = "home/.gemini/extensions/ext";
    let hooks = format!(
        "{{\n\"hooks\": {{\"BeforeTool\": [\n{}]}}}}",
        hook("Bash", "${extensionPath}/gone.sh")
    );
    let machine = trusted()
        .file(
            &format!("{folder}/gemini-extension.json"),
            r#"{"name": "ext", "version": "1.0.0"}"#,
        )
        .file(&format!("{folder}/hooks/hooks.json"), &hooks);
    assert_eq!(
        told(&machine),
        [
            "error dead_matcher hooks.json:3:2",
            "error missing_script hooks.json:3:51"
        ]
    );
}

/// Settings may be as long as programs write them, and all on one line.
#[test]
fn what_stands_behind_megabytes_of_one_line_has_its_place() {
    const LETTERS: usize = 5 << 19;
    let unknown: Vec<String> = (100..900).map(|it| format!("\"X{it}\": []")).collect();
    let before = format!("{{\"other\": \"{}\", \"hooks\": {{", "é".repeat(LETTERS));
    let settings = format!("{before}{}}}}}", unknown.join(","));
    let machine = trusted().file(WORKSPACE, &settings);
    let start = std::time::Instant::now();
    let findings = findings(&machine);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!(findings.len(), 800);
    for (at, finding) in findings.iter().enumerate() {
        let place = finding.place.unwrap();
        let column = before.len() - LETTERS + at * "\"X100\": [],".len() + 1;
        assert_eq!((place.line, place.column), (1, column));
    }
}

#[test]
fn thousands_of_hooks_are_looked_at_in_bounded_time() {
    let one = r#"{"type": "command", "command": "C", "timeout": 5}"#;
    let hooks: Vec<String> = (0..10_000)
        .map(|number| one.replace('C', &format!("true {number}")))
        .collect();
    let unknown: Vec<String> = (0..500)
        .map(|number| format!("\"X{number}\": []"))
        .collect();
    let settings = format!(
        "{{\"hooks\": {{\"BeforeTool\": [{{\"matcher\": \"Bash\", \"hooks\": [{}]}}], {}}}}}",
        hooks.join(","),
        unknown.join(",")
    );
    let machine = trusted().file(WORKSPACE, &settings);
    let start = std::time::Instant::now();
    let findings = findings(&machine);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!(findings.len(), 1001);
    let last = findings.last().unwrap();
    assert_eq!(last.sentence, "there are 19002 more findings");
    assert_eq!(
        last.severity,
        Severity::Error,
        "an error among the rest is one"
    );
}
