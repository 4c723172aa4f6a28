//! Which run is meant.

use super::Shelf;

const FIRST: &str = "20261117T080000-aaaa";
const SECOND: &str = "20261117T080001-bbbb";

fn shelf() -> Shelf {
    Shelf::new()
        .with(FIRST, "2026-11-17T08:00:00.000Z")
        .with(SECOND, "2026-11-17T08:00:01.000Z")
}

#[test]
fn the_beginning_of_an_id_and_latest_name_a_run_wherever_nothing_is_deleted() {
    let shelf = shelf();
    std::fs::write(shelf.world.path("project/rules.toml"), "").unwrap();
    let run = ["runs", "show", "--format", "result"];
    let translate = ["translate", "--format", "result"];
    let export = ["runs", "export", "--to", "result"];
    for args in [&run[..], &translate, &export] {
        for named in ["20261117T080000", SECOND, "latest"] {
            let ran = shelf.run(&[args, &[named]].concat());
            assert_eq!(ran.code, Some(0), "{named}: {ran:?}");
            assert!(ran.stdout.contains("Hello there."), "{named}: {ran:?}");
        }
    }
    let replayed = shelf.run(&["replay", "--fast", "20261117T080000"]);
    assert_eq!(replayed.stdout, super::STREAM);
    let tested = shelf.run(&["policy", "test", "rules.toml", "--against", "latest"]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
}

#[test]
fn an_ambiguous_id_names_the_candidates_and_an_unknown_one_the_way_to_the_list() {
    let shelf = shelf();
    let told = |args: &[&str]| {
        let ran = shelf.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(13), ""), "{ran:?}");
        ran.stderr
    };
    let ambiguous = format!(
        "error: 2 recorded runs begin or end with `2026`: `{SECOND}`, `{FIRST}`\nhint: type more of the id\n"
    );
    for args in [
        &["runs", "show", "2026"][..],
        &["translate", "2026"],
        &["replay", "2026"],
    ] {
        assert_eq!(told(args), ambiguous);
    }
    assert_eq!(
        told(&["runs", "show", "nosuch"]),
        "error: no recorded run has the id `nosuch`\nhint: `lapidary runs list` shows the ids\n"
    );
    assert!(told(&["replay", "nosuch"]).starts_with("error: there is no recording `nosuch`\n"));
    assert!(told(&["translate", "nosuch"]).starts_with("error: cannot read `nosuch`"));
}

#[test]
fn a_file_of_that_name_wins_over_a_run() {
    let shelf = shelf();
    std::fs::write(shelf.world.path("project/2026"), "no run").unwrap();
    let ran = shelf.run(&["replay", "2026"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "no run"));
}

/// Runs a shell that has read its completion script; None, which is printed, if the shell is not installed.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn in_shell(runs: &Shelf, shell: &str, args: &[&str], words: &str) -> Option<String> {
    let script = runs.run(&["completions", shell]).stdout;
    let lapidary = runs.world.lapidary(&[]);
    let path = std::env::var_os("PATH").unwrap();
    if !std::env::split_paths(&path).any(|place| place.join(shell).is_file()) {
        eprintln!("skipped: `{shell}` is not installed, so its completion script was not run");
        return None;
    }
    let mut command = std::process::Command::new(shell);
    command.args(args).arg(lapidary.get_program()).arg(words);
    for (name, value) in lapidary.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let ran = crate::support::output(command, script.as_bytes());
    assert!(ran.status.success(), "{ran:?}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn bash_completes_the_ids_of_runs() {
    let shelf = shelf();
    let ask = r#"
        eval "$(cat)"
        COMP_WORDS=("$0" $1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _lapidary_ids "$0" "${COMP_WORDS[COMP_CWORD]}" ""
        printf '%s\n' "${COMPREPLY[@]}""#;
    let typed = |words: &str| in_shell(&shelf, "bash", &["--norc", "-c", ask], words).unwrap();
    assert_eq!(typed("runs show 2026"), format!("{SECOND}\n{FIRST}\n"));
    assert_eq!(typed("replay 20261117T080000"), format!("{FIRST}\n"));
    assert_eq!(
        typed("runs show --format text 2026"),
        format!("{SECOND}\n{FIRST}\n")
    );
    assert!(typed("runs show --fo").contains("--format"));
    assert!(typed("runs sh").contains("show"));
}

#[test]
fn zsh_completes_the_ids_of_runs() {
    let shelf = shelf();
    // Stubs of zsh's completion system: `_describe` prints the candidates that it gets.
    let ask = r#"
        compdef() { : }
        _describe() { print -rl -- "${(@P)argv[-1]}" }
        _arguments() { return 1 }
        eval "$(cat)"
        words=("$0" ${(s: :)1} ""); CURRENT=$#words; _lapidary; true"#;
    let Some(typed) = in_shell(&shelf, "zsh", &["-f", "-c", ask], "runs show") else {
        return;
    };
    let ids: Vec<_> = typed
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(ids, [SECOND, FIRST], "{typed}");
}

#[test]
fn fish_completes_the_ids_of_runs() {
    let shelf = shelf();
    let ask = r#"set -x PATH (dirname $argv[1]) $PATH
        cat | source
        complete -C "lapidary $argv[2] ""#;
    let Some(typed) = in_shell(&shelf, "fish", &["--no-config", "-c", ask], "runs show") else {
        return;
    };
    // Files are offered as well: a recording can be named by its path.
    let described = typed.lines().filter_map(|line| line.split_once('\t'));
    let ids: Vec<_> = described.map(|(id, _)| id).collect();
    assert_eq!(ids, [SECOND, FIRST], "{typed}");
}

#[test]
fn the_scripts_of_zsh_and_fish_ask_for_ids() {
    let shelf = shelf();
    let zsh = shelf.run(&["completions", "zsh"]).stdout;
    let body = zsh.split("_lapidary() {\n").nth(1).unwrap();
    let asks = body.find("complete-ids -- ").unwrap();
    assert!(asks < body.find("_arguments").unwrap(), "{body}");
    let fish = shelf.run(&["completions", "fish"]).stdout;
    assert!(fish.ends_with("complete -c lapidary -k -a '(__lapidary_ids)'\n"));
}
