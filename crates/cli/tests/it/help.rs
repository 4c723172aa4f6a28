//! What the command says about itself.

use std::fs;
use std::path::Path;

use crate::support::{output, program, root, run};

const COMMANDS: [&str; 11] = [
    "run",
    "translate",
    "record",
    "replay",
    "policy",
    "hooks",
    "capabilities",
    "doctor",
    "schema",
    "completions",
    "man",
];

/// All help texts as they are printed. `crates/cli/tests/it/help.txt` is what we want them to be.
#[test]
fn help_is_what_it_is_meant_to_be() {
    let mut all = String::new();
    for command in [
        &[][..],
        &["run"],
        &["translate"],
        &["record"],
        &["replay"],
        &["policy"],
        &["policy", "test"],
        &["hooks"],
        &["hooks", "list"],
        &["hooks", "check"],
        &["hooks", "test"],
        &["hooks", "enable"],
        &["hooks", "disable"],
        &["hooks", "migrate"],
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
        &["schema"],
        &["completions"],
        &["man"],
    ] {
        for flag in ["-h", "--help"] {
            let args = [command, &[flag]].concat();
            let ran = run(&args);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
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

/// A reader that has had enough is no error, for what we print ourselves and for what clap prints.
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
