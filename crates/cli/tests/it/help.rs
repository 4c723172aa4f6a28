//! Help texts, manual pages and completions.

use std::fs;
use std::path::Path;

use crate::support::{lapidary, output, program, root, run};

const COMMANDS: [&str; 12] = [
    "run",
    "translate",
    "record",
    "replay",
    "policy",
    "hooks",
    "config",
    "capabilities",
    "doctor",
    "schema",
    "completions",
    "man",
];

/// The commands in the order of `help.txt`.
const PAGES: [&[&str]; 85] = [
    &[],
    &["run"],
    &["connect"],
    &["acp"],
    &["runs"],
    &["runs", "list"],
    &["runs", "show"],
    &["runs", "open"],
    &["runs", "export"],
    &["runs", "delete"],
    &["runs", "prune"],
    &["sessions"],
    &["sessions", "list"],
    &["sessions", "show"],
    &["sessions", "search"],
    &["sessions", "browse"],
    &["sessions", "resume"],
    &["sessions", "continue"],
    &["sessions", "delete"],
    &["sessions", "export"],
    &["sessions", "stats"],
    &["sessions", "prune"],
    &["sessions", "recover"],
    &["sessions", "index"],
    &["sessions", "vault"],
    &["sessions", "vault", "add"],
    &["sessions", "vault", "log"],
    &["sessions", "vault", "verify"],
    &["sessions", "vault", "restore"],
    &["sessions", "vault", "prune"],
    &["translate"],
    &["record"],
    &["replay"],
    &["policy"],
    &["policy", "test"],
    &["policy", "compile"],
    &["hooks"],
    &["hooks", "list"],
    &["hooks", "check"],
    &["hooks", "test"],
    &["hooks", "enable"],
    &["hooks", "disable"],
    &["hooks", "migrate"],
    &["config"],
    &["config", "init"],
    &["config", "show"],
    &["config", "check"],
    &["capabilities"],
    &["doctor"],
    &["skills"],
    &["skills", "list"],
    &["skills", "check"],
    &["skills", "enable"],
    &["skills", "disable"],
    &["skills", "install"],
    &["skills", "link"],
    &["skills", "uninstall"],
    &["agents"],
    &["agents", "list"],
    &["agents", "show"],
    &["agents", "run"],
    &["agents", "check"],
    &["agents", "enable"],
    &["agents", "disable"],
    &["agents", "ack"],
    &["agents", "import"],
    &["mcp"],
    &["serve"],
    &["fleet"],
    &["fleet", "init"],
    &["fleet", "submit"],
    &["fleet", "list"],
    &["fleet", "show"],
    &["fleet", "events"],
    &["fleet", "answer"],
    &["fleet", "cancel"],
    &["fleet", "retry"],
    &["fleet", "patch"],
    &["fleet", "archive"],
    &["fleet", "watch"],
    &["fleet", "work"],
    &["fleet", "gc"],
    &["schema"],
    &["completions"],
    &["man"],
];

/// `crates/cli/tests/it/help.txt` has the expected text of every help page.
#[test]
fn every_help_page_is_as_committed() {
    let mut all = String::new();
    for command in tree() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        assert!(PAGES.contains(&words.as_slice()), "no page: {words:?}");
    }
    for command in PAGES {
        for flag in ["-h", "--help"] {
            let args = [command, &[flag]].concat();
            let ran = run(&args);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
            // A comment of Rust has no escapes: they would be printed.
            let has_escape = ran.stdout.contains("\\ ") || ran.stdout.contains("\\\"");
            assert!(!has_escape, "{args:?}: {}", ran.stdout);
            all.extend(["$ lapidary ", &args.join(" "), "\n"]);
            all.extend(ran.stdout.lines().flat_map(|line| [line.trim_end(), "\n"]));
            all.push('\n');
        }
    }
    let committed = root().join("crates/cli/tests/it/help.txt");
    let expected = fs::read_to_string(&committed).unwrap_or_default();
    if all != expected {
        let printed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("help.txt");
        fs::write(&printed, &all).unwrap();
        panic!(
            "the help has changed: if it is better now, copy {} to {}",
            printed.display(),
            committed.display()
        );
    }
}

/// All commands, those in commands too, as their help names them.
fn tree() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while let Some(command) = all.get(at).cloned() {
        let help = help(&command, &[]);
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty());
        // A line with more indentation continues the line before.
        let listed = listed.filter(|line| !line.starts_with("   "));
        let names = listed.filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            all.push([command.as_slice(), &[name.to_owned()]].concat());
        }
        at += 1;
    }
    assert!(all.len() > 40, "{all:?}");
    all
}

fn help(command: &[String], env: &[(&str, &str)]) -> String {
    let mut asked = lapidary(command.iter().map(String::as_str).chain(["-h"]));
    asked.envs(env.iter().copied());
    String::from_utf8(output(asked, b"").stdout).unwrap()
}

/// A line that is wrapped by hand wraps once more on a narrow terminal, and its rest fills a line of its own.
#[test]
fn paragraphs_fill_their_lines_on_every_terminal() {
    const WIDTH: usize = 80;
    for command in tree() {
        let help = help(&command, &[("COLUMNS", "80")]);
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            let next = pair[1].split(' ').next().unwrap_or_default();
            let fits = pair[0].chars().count() + 1 + next.chars().count() <= WIDTH;
            assert!(
                !(is_prose(pair[0]) && is_prose(pair[1]) && fits),
                "{command:?} breaks a line between {:?} and {:?}",
                pair[0],
                pair[1]
            );
        }
    }
}

#[test]
fn every_command_shows_how_it_is_used() {
    for command in COMMANDS {
        let help = run(&[command, "--help"]).stdout;
        let example = format!("lapidary {command}");
        let shown = help.lines().filter(|line| !line.starts_with("Usage:"));
        assert!(
            shown.into_iter().any(|line| line.contains(&example)),
            "no example of `{command}`:\n{help}"
        );
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let version = run(&["--version"]);
    assert_eq!(version.code, Some(0));
    assert_eq!(
        version.stdout,
        format!("lapidary {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(run(&["help", "man"]).stdout, run(&["man", "--help"]).stdout);
}

#[test]
fn completions_are_scripts_that_name_the_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["translate", "extract-data"] {
            assert!(ran.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).stdout;
        assert!(script.contains("stream-json"), "{shell} knows no values");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        fs::write(&file, script).unwrap();
        let mut syntax = program(shell);
        syntax.arg("-n").arg(&file);
        match syntax.output() {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {checked:?}"),
            // Bash is on every machine that runs these tests; the others need not be.
            Err(error) => assert!(shell != "bash", "{error}"),
        }
    }
}

#[test]
fn manual_pages_are_pages() {
    for command in COMMANDS {
        let page = run(&["man", command]).stdout;
        let title = format!(".TH lapidary-{command} 1");
        assert!(page.lines().any(|line| line.starts_with(&title)), "{page}");
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let page = run(&["man"]).stdout;
    assert!(page.contains(".TH lapidary 1"), "{page}");
}

#[test]
fn commands_in_commands_have_pages_that_say_whose_they_are() {
    let version = concat!("\"lapidary ", env!("CARGO_PKG_VERSION"), "\"");
    for command in tree() {
        let name = [&["lapidary".to_owned()], command.as_slice()].concat();
        let name = name.join("-");
        let mut words = vec!["man"];
        words.extend(command.iter().map(String::as_str));
        let page = run(&words).stdout;
        let title = format!(".TH {name} 1  {version}");
        assert!(page.lines().any(|line| line.trim_end() == title), "{page}");
        let joined = command.join("-");
        if command.len() > 1 {
            assert_eq!(run(&["man", &joined]).stdout, page, "{joined}");
        }
    }
    let page = run(&["man", "hooks", "test"]).stdout;
    for section in ["EVENTS", "EXAMPLES", "EXIT STATUS"] {
        assert!(
            page.contains(&format!(".SH \"{section}\"\n.nf\n  ")),
            "{page}"
        );
    }
    assert!(
        page.contains(".SH NOTES\n.PP\nA hook that exits with 2"),
        "{page}"
    );

    let unknown = run(&["man", "skills", "frob"]);
    assert_eq!(unknown.code, Some(2));
    assert_eq!(
        unknown.stderr,
        "error: there is no command `skills frob`\nhint: there are list, check, enable, disable, install, link, uninstall, help\n"
    );
    assert_eq!(run(&["man", "skills-frob"]).stderr, unknown.stderr);
    let deep = run(&["man", "run", "x"]).stderr;
    assert_eq!(
        deep,
        "error: there is no command `run x`\nhint: `run` has none of its own\n"
    );
}

/// The completions that bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    const ASK: &str = r#"
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _lapidary lapidary "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = program("bash");
    // By way of a file: an argument may have 128 KiB, and the script has more.
    let mut script = tempfile::NamedTempFile::new().unwrap();
    let text = run(&["completions", "bash"]).stdout;
    std::io::Write::write_all(&mut script, text.as_bytes()).unwrap();
    bash.args(["-c", ASK, "bash"])
        .arg(script.path())
        .args(words);
    let said = output(bash, b"");
    let said = String::from_utf8(said.stdout).unwrap();
    said.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_offers_the_names_that_there_are() {
    let events = offered(&["lapidary", "hooks", "test", ""]);
    assert!(
        events.contains(&"BeforeToolSelection".to_owned()),
        "{events:?}"
    );
    assert_eq!(
        offered(&["lapidary", "hooks", "list", "--event", "Session"]),
        ["SessionStart", "SessionEnd"]
    );
    assert_eq!(
        offered(&["lapidary", "schema", "skills-ch"]),
        ["skills-check", "skills-change"]
    );
    for command in ["run", "connect", "doctor"] {
        assert_eq!(offered(&["lapidary", command, "--agent", "dem"]), ["demo"]);
        assert_eq!(
            offered(&["lapidary", command, "--agent", "gem"]),
            ["gemini"]
        );
    }
}

#[test]
fn every_file_here_is_a_module() {
    let folder = root().join("crates/cli/tests/it");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else {
            continue;
        };
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "tests/it/{name} is not a module of main.rs"
        );
    }
}

/// A reader that closes the pipe early is no error, for our own output and for clap's.
#[test]
fn a_pager_may_be_left_early() {
    for args in ["--help", "man translate", "completions zsh", "schema"] {
        let mut shell = program("bash");
        let script = format!("set -o pipefail; \"$0\" {args} | true");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_lapidary")]);
        let ended = output(shell, b"");
        assert!(ended.status.success(), "{args}: {ended:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{args}");
    }
}

/// Two screens of fifty lines: rare options have one line each.
#[test]
fn the_options_of_run_fit_two_screens() {
    let help = run(&["run", "--help"]).stdout;
    assert!(help.lines().count() <= 100, "{}", help.lines().count());
    assert_eq!(help, run(&["run", "-h"]).stdout);
}
