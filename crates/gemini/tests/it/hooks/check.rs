//! The findings of the hook check, which runs no hook.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use lapidary_gemini::hooks::check::{CheckContext, LintFinding, LintSeverity, check};
use lapidary_testkit::patience::HANG;
use lapidary_testkit::work::{assert_linear, cost};

use super::{USER, WORKSPACE, trusted};
use crate::machine::Machine;

fn findings(machine: &Machine) -> Vec<LintFinding> {
    let search_path = [PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
    let surroundings = CheckContext {
        search_path: &search_path,
        home: &machine.path("home"),
    };
    check(&machine.setup(), surroundings)
}

/// Findings as lines: severity, code, the file's name, the place.
fn told(machine: &Machine) -> Vec<String> {
    let line = |finding: &LintFinding| {
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

/// Checks the findings for one definition of one event. The event is on line 1 of the file, and the definition begins on line 2.
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
        "WRITE_FILE",
        "ls",
        "search_file_content",
    ] {
        // `ls` is in `tracker_list_tasks`' neighbour `tools`, but in no name.
        found("BeforeTool", &hook(matcher, "true"), &[error]);
    }
    // Each of its words is reported.
    found(
        "BeforeTool",
        &hook("WriteFile|Edit", "true"),
        &[error, error],
    );
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
    // It stands in settings of Gemini CLI, which `migrate` does not translate.
    let claude = hint("PreToolUse", "");
    assert!(
        claude.contains("rename it to `BeforeTool`") && !claude.contains("migrate"),
        "{claude}"
    );
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
        r#"{"hooksConfig": {"disabled": "true"}}"#,
        &[
            "warning bad_config settings.json:1:18",
            "note disabled settings.json:1:18",
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
fn an_untrusted_folder_is_reported_beside_all_other_findings() {
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
            (LintSeverity::Error, "dead_matcher"),
            (LintSeverity::Error, "dead_matcher"),
            (LintSeverity::Warning, "untrusted_folder"),
            (LintSeverity::Note, "duplicate_hook"),
        ]
    );
    assert!(
        findings[2]
            .sentence
            .contains("none of the 2 hooks in settings here, not even the one that is not"),
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
fn hooks_of_events_that_cannot_be_blocked_are_not_reported_as_blocking() {
    let sentence = |event: &str| {
        let settings = format!(
            r#"{{"hooks": {{"{event}": [{}]}}}}"#,
            hook("", "no-such-program-here -x")
        );
        let found = findings(&trusted().file(WORKSPACE, &settings));
        found[0].sentence.clone()
    };
    for event in ["BeforeTool", "AfterAgent"] {
        assert!(sentence(event).ends_with("exits with 127, which blocks"));
    }
    for event in ["Notification", "SessionEnd", "PreCompress"] {
        assert!(sentence(event).ends_with("exits with 127"), "{event}");
        found(event, &hook("", "exit 2"), &[]);
    }
}

#[test]
fn our_own_key_of_a_hook_is_known() {
    let guard = r#"{"hooks": [{"type": "command", "command": "true", "failOpen": true}]}"#;
    found("BeforeTool", guard, &[]);
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
    assert_eq!(told(&machine), ["error unusable_file settings.json:1:3"]);
    let found = findings(&machine);
    let sentence = &found[0].sentence;
    assert!(
        sentence.starts_with("`settings.json` is not valid JSON: "),
        "{sentence}"
    );
    assert!(!sentence.contains("line 1 column"), "{sentence}");
    assert!(found[0].hint.is_some());
    let folder = "home/.gemini/extensions/ext";
    let machine = trusted()
        .file(
            &format!("{folder}/gemini-extension.json"),
            r#"{"name": "ext", "version": "1.0.0"}"#,
        )
        .file(&format!("{folder}/hooks/hooks.json"), "{ no");
    assert_eq!(told(&machine), ["error unusable_file hooks.json:1:3"]);
}

#[test]
fn a_finding_in_an_extension_names_its_file() {
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
fn a_finding_behind_megabytes_of_one_line_has_its_place() {
    const LETTERS: usize = 5 << 19;
    let unknown: Vec<String> = (100..900).map(|it| format!("\"X{it}\": []")).collect();
    let before = format!("{{\"other\": \"{}\", \"hooks\": {{", "é".repeat(LETTERS));
    let settings = format!("{before}{}}}}}", unknown.join(","));
    let findings = findings(&trusted().file(WORKSPACE, &settings));
    assert_eq!(findings.len(), 800);
    for (at, finding) in findings.iter().enumerate() {
        let place = finding.place.unwrap();
        let column = before.len() - LETTERS + at * "\"X100\": [],".len() + 1;
        assert_eq!((place.line, place.column), (1, column));
    }
}

/// Counting from the start of the line for each finding would be quadratic.
#[test]
fn the_places_of_many_findings_on_one_line_cost_no_more_than_the_line() {
    assert_linear(100, |count| {
        let unknown: Vec<String> = (0..count).map(|it| format!("\"é{it}\": []")).collect();
        let letters = "é".repeat(count * 300);
        let settings = format!(
            "{{\"o\": \"{letters}\", \"hooks\": {{{}}}}}",
            unknown.join(",")
        );
        let machine = trusted().file(WORKSPACE, &settings);
        cost(|| assert_eq!(findings(&machine).len(), count))
    });
}

fn with_hooks_and_unknown_events(hooks: usize, unknown: usize) -> Machine {
    let one = r#"{"type": "command", "command": "C", "timeout": 5}"#;
    let hooks = (0..hooks).map(|number| one.replace('C', &format!("true {number}")));
    let unknown = (0..unknown).map(|number| format!("\"X{number}\": []"));
    let (hooks, unknown): (Vec<String>, Vec<String>) = (hooks.collect(), unknown.collect());
    let settings = format!(
        "{{\"hooks\": {{\"BeforeTool\": [{{\"matcher\": \"Bash\", \"hooks\": [{}]}}], {}}}}}",
        hooks.join(","),
        unknown.join(",")
    );
    trusted().file(WORKSPACE, &settings)
}

#[test]
fn thousands_of_hooks_are_checked_and_the_first_findings_reported() {
    let findings = findings(&with_hooks_and_unknown_events(10_000, 500));
    assert_eq!(findings.len(), 1001);
    let last = findings.last().unwrap();
    assert_eq!(last.sentence, "there are 19002 more findings");
    assert_eq!(
        last.severity,
        LintSeverity::Error,
        "an error among the rest is one"
    );
}

#[test]
fn many_hooks_cost_no_more_than_each_of_them() {
    assert_linear(300, |count| {
        let machine = with_hooks_and_unknown_events(count, count / 20);
        cost(|| findings(&machine))
    });
}

#[test]
fn unknown_hook_keys_are_found_with_the_nearest_known_key() {
    let settings = r#"{
"hooksConfig": {"disabld": ["g"]},
"hooksConfg": {},
"hooks": {"BeforeTool": [{"matchr": "write_file", "_why": "", "hooks": [
{"type": "command", "command": "echo x", "name": "g", "timout": 5, "env": {}},
{"type": "command", "command": "true", "enabled": false}]}],
"AfterTool": {"sequential": true, "hooks": [], "if": "x"}}}"#;
    let machine = trusted().file(WORKSPACE, settings);
    let unknown: Vec<_> = findings(&machine)
        .into_iter()
        .filter(|finding| finding.code == "unknown_key")
        .map(|finding| {
            assert_eq!(finding.severity, LintSeverity::Warning);
            let place = finding.place.unwrap().to_string();
            let key = finding.sentence.split('`').nth(1).unwrap().to_owned();
            (place, key, finding.hint.unwrap_or_default())
        })
        .collect();
    let expected = [
        ("2:17", "disabld", "did you mean `disabled`?"),
        ("3:1", "hooksConfg", "did you mean `hooksConfig`?"),
        ("4:27", "matchr", "did you mean `matcher`?"),
        ("5:55", "timout", "did you mean `timeout`?"),
        (
            "6:40",
            "enabled",
            "`hooksConfig.disabled` has the names of disabled hooks",
        ),
        ("7:48", "if", ""),
    ];
    let unknown: Vec<_> = unknown
        .iter()
        .map(|(at, key, hint)| (&**at, &**key, &**hint))
        .collect();
    assert_eq!(unknown, expected);
    // The check does not repeat a notice of the settings reader.
    let at = |line: usize| {
        findings(&machine)
            .iter()
            .filter(|it| it.place.is_some_and(|it| it.line == line))
            .count()
    };
    assert_eq!((at(2), at(3)), (1, 1));
}

#[test]
fn complaints_of_the_settings_reader_are_findings() {
    let machine = trusted().file(WORKSPACE, r#"{"hooksConfig": {"enabled": "perhaps"}}"#);
    assert_eq!(told(&machine), ["warning bad_value settings.json:1:18"]);
}

#[test]
fn names_that_javascript_has_uses_for_are_no_events_either() {
    let machine = trusted().file(
        WORKSPACE,
        r#"{"hooks": {"__proto__": [], "constructor": []}}"#,
    );
    let expected = [
        "error unknown_event settings.json:1:12",
        "error unknown_event settings.json:1:29",
    ];
    assert_eq!(told(&machine), expected);
}

/// A pipe without a writer never has any bytes to read.
#[test]
fn a_pipe_is_no_script_and_is_not_waited_for() {
    for (command, expected) in [
        ("./pipe", &["error missing_script settings.json:2:47"][..]),
        ("bash pipe", &[]),
        ("python3 ./pipe", &[]),
    ] {
        let settings = format!(
            "{{\"hooks\": {{\"BeforeTool\": [\n{}]}}}}",
            hook("", command)
        );
        let machine = trusted().file(WORKSPACE, &settings);
        let pipe = machine.project().join("pipe");
        let mut mkfifo = std::process::Command::new("mkfifo");
        assert!(
            mkfifo
                .args(["-m", "755"])
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let (tell, hear) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(told(&machine)));
        let told = hear.recv_timeout(HANG);
        assert_eq!(told.as_deref().unwrap(), expected, "{command}");
    }
}

#[test]
fn a_matcher_of_any_length_is_looked_at_in_bounded_time() {
    for word in ["a|", "nothing_like_it|", "Bash|"] {
        assert_linear(50_000, |length| {
            let matcher = word.repeat(length / word.len()) + "glob";
            let settings = format!(
                "{{\"hooks\": {{\"BeforeTool\": [{}]}}}}",
                hook(&matcher, "true")
            );
            let machine = trusted().file(WORKSPACE, &settings);
            cost(|| {
                let findings = findings(&machine);
                assert!(findings.iter().all(|it| it.sentence.len() < 400), "{word}");
            })
        });
    }
}

#[test]
fn text_that_only_the_user_sees_is_noted_where_that_is_certain() {
    let check = |event: &str, command: &str, expected: &[&str]| {
        let settings = format!(
            "{{\"hooks\": {{\"{event}\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{command}\"}}]}}]}}}}"
        );
        let machine = trusted().file(WORKSPACE, &settings);
        fs::write(machine.project().join("CONTEXT.md"), "# Rules").unwrap();
        fs::write(machine.project().join("answer.json"), "{}").unwrap();
        let codes: Vec<_> = findings(&machine).iter().map(|it| it.code).collect();
        assert_eq!(codes, expected, "{event} {command}");
    };
    for event in ["SessionStart", "BeforeAgent"] {
        check(event, "cat CONTEXT.md", &["shown_only"]);
        check(event, "echo be kind", &["shown_only"]);
        check(event, "cat answer.json", &[]);
        check(event, "cat gone.md", &[]);
        check(event, "cat CONTEXT.md | jq -Rs .", &[]);
        check(event, "echo '{}'", &[]);
    }
    check("AfterTool", "cat CONTEXT.md", &[]);
}
