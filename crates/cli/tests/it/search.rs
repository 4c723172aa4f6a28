//! `sessions search` and `sessions index`, as their users meet them.

mod home;
mod many;

use std::fs;

use serde_json::Value;

use home::Home;

#[test]
fn a_session_is_found_and_the_place_is_marked() {
    let home = Home::new();
    let ran = home.ran(&["search", "ZEBRA", "--format", "text"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = "\
bbbb-2  in the future  Striped animals
    2 read_file: the «zebra» crosses the road

aaaa-1  in the future  Where is the zebra now?
    title: Where is the «zebra» now?
    1 user: Where is the «zebra» now?
";
    // Which of both comes first is the library's to test: the title's does.
    let mut blocks: Vec<_> = ran.stdout.trim_end().split("\n\n").collect();
    assert!(blocks[0].starts_with("aaaa-1"), "{}", ran.stdout);
    blocks.reverse();
    assert_eq!(blocks.join("\n\n"), expected.trim_end());
    assert_eq!(ran.stderr, "");
}

#[test]
fn search_output_validates_against_its_schema() {
    let home = Home::new();
    let ran = home.ran(&["search", "zebra", "-n", "1"]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let schema = crate::support::run(&["schema", "search"]);
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&result)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(result["schema"], "lapidary.search/1");
    assert_eq!(result["total"], 2);
    assert_eq!(result["hits"].as_array().unwrap().len(), 1);
    assert_eq!(result["hits"][0]["matchSnippets"][0]["match"], "zebra");
}

#[test]
fn nothing_found_is_no_error() {
    let home = Home::new();
    let ran = home.ran(&["search", "unicorn", "--format", "text"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(
        ran.stderr,
        "note: nothing found; --all looks in every project\n"
    );
    let empty = Home::empty();
    let ran = empty.ran(&["search", "unicorn", "--all", "--format", "text"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), "note: nothing found\n")
    );
}

#[test]
fn an_invalid_search_is_wrong_usage() {
    let home = Home::new();
    for (args, expected) in [
        (&["search"][..], "required"),
        (&["search", "--", "--"], "`--` has no word"),
        (
            &["search", "-e", "a("],
            "`a(` is not a regular expression: unclosed group",
        ),
        (
            &["search", "x", "--since", "soon"],
            "invalid time `soon`: use a date (`2026-11-01`), an age (`7d`) or `yesterday`",
        ),
        (&["search", "x", "--role", "god"], "'god'"),
        (&["search", "x", "-n", "-1"], "-1"),
        (&["index", "--drop", "--status"], "cannot be used with"),
    ] {
        let ran = home.ran(args);
        assert_eq!(ran.code, Some(2), "{args:?} {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?} {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn no_text_of_a_session_reaches_a_terminal_unfiltered() {
    let home = Home::new();
    let hostile = "\\u001b]0;owned\\u0007 zebra \\u001b[2J\\u009b31m\\nwarning: all is lost";
    home.session(
        "cccc-\\u001b[1m3",
        &[
            &format!(r#"{{"id":"1","type":"user","content":"{hostile}"}}"#),
            &format!(r#"{{"$set":{{"summary":"{hostile}"}}}}"#),
        ],
    );
    for args in [
        &["search", "zebra", "--format", "text"][..],
        &["list", "--format", "text"],
    ] {
        let ran = home.ran(args);
        assert!(ran.stdout.contains("zebra"), "{ran:?}");
        let odd = |text: &str| {
            text.chars()
                .any(|letter| letter.is_control() && letter != '\n')
        };
        assert!(!odd(&ran.stdout) && !odd(&ran.stderr), "{ran:?}");
        assert!(
            !ran.stdout.lines().any(|line| line.starts_with("warning")),
            "{ran:?}"
        );
    }
}

#[test]
fn an_index_of_one_agent_leaves_the_files_of_others_as_they_are() {
    let home = Home::new();
    home.rollout("01a1ecdb-bea2-74a1-ad12-4ebf58f9cad2");
    let index = |args: &[&str]| home.ran(&[&["index"], args].concat()).stdout;
    assert_eq!(
        index(&["--agent", "codex"]),
        "1 file in the index: 1 read, 0 as they were, 0 gone\n"
    );
    assert!(index(&["--status", "--agent", "codex"]).contains("1 of 1 files are in it"));
    assert!(index(&["--status"]).contains("1 of 3 files are in it"));
    assert!(index(&[]).starts_with("3 files in the index: 2 read, 1 as they were, 0 gone"));
    assert_eq!(
        index(&["--agent", "gemini"]),
        "2 files in the index: 0 read, 2 as they were, 0 gone\n"
    );
    assert!(index(&["--status"]).contains("3 of 3 files are in it"));
    let refused = home.ran(&["index", "--agent", "codex", "--drop"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn the_latest_session_of_an_agent_is_shown_from_any_project() {
    let home = Home::new();
    home.rollout("01a1ecdb-bea2-74a1-ad12-4ebf58f9cad1");
    home.rollout("01a1ecdb-bea2-74a1-ad12-4ebf58f9cad2");
    let latest = home.ran(&["show", "latest", "--agent", "codex", "--all"]);
    assert_eq!(latest.code, Some(0), "{latest:?}");
    assert!(latest.stdout.contains("Any zebra?"), "{latest:?}");
    let of_gemini = home.ran(&["show", "latest", "--all"]);
    assert!(!of_gemini.stdout.contains("Any zebra?"), "{of_gemini:?}");
    let listed = home.ran(&["list", "--all", "--agent", "codex"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(listed["agents"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn an_index_changes_nothing_but_the_time_it_takes() {
    let home = Home::new();
    let all = |home: &Home| {
        [
            home.ran(&["list"]),
            home.ran(&["list", "--hidden"]),
            home.ran(&["search", "zebra"]),
            home.ran(&["search", "\"the zebra\"", "--role", "tool"]),
            home.ran(&["search", "-e", "z.b"]),
            home.ran(&["show", "aaaa", "--format", "messages"]),
        ]
    };
    let before = all(&home);
    let ran = home.ran(&["index", "--status"]);
    assert_eq!(
        ran.stderr,
        "note: there is no index; `lapidary sessions index` makes one\n"
    );
    let ran = home.ran(&["index"]);
    assert_eq!(
        ran.stdout, "2 files in the index: 2 read, 0 as they were, 0 gone\n",
        "{ran:?}"
    );
    assert_eq!(all(&home), before);
    let ran = home.ran(&["index", "--status"]);
    assert!(ran.stdout.contains("2 of 2 files are in it"), "{ran:?}");
    assert_eq!(
        home.ran(&["index"]).stdout,
        "2 files in the index: 0 read, 2 as they were, 0 gone\n"
    );
    assert_eq!(
        home.ran(&["index", "--rebuild"]).stdout,
        "2 files in the index: 2 read, 0 as they were, 0 gone\n"
    );
    assert_eq!(home.ran(&["index", "--drop"]).code, Some(0));
    assert_eq!(all(&home), before);
    assert_eq!(
        home.databases(),
        Vec::<String>::new(),
        "nobody makes one unasked"
    );
    let in_gemini: Vec<_> = fs::read_dir(home.gemini())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(in_gemini, ["tmp"], "it does not lie with the sessions");
}

#[test]
fn an_index_that_is_in_the_way_is_one_sentence() {
    let home = Home::new();
    let good = home.ran(&["search", "zebra"]);
    home.ran(&["index"]);
    let database = home.cache().join(&home.databases()[0]);
    fs::write(&database, "this is no database, and long enough to tell").unwrap();
    let ran = home.ran(&["search", "zebra", "--format", "text"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("warning: the index `"),
        "{}",
        ran.stderr
    );
    assert_eq!(home.ran(&["search", "zebra"]), good);
    fs::write(&database, "this is no database, and long enough to tell").unwrap();
    assert_eq!(home.ran(&["search", "zebra", "--no-index"]), good);
    assert!(home.ran(&["index"]).stdout.starts_with("2 files"));
}

#[test]
fn only_the_index_command_reports_an_unwritable_cache() {
    let home = Home::new();
    fs::write(home.cache(), "a file").unwrap();
    let ran = home.ran(&["index"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("cannot use the index"),
        "{}",
        ran.stderr
    );
    let ran = home.ran(&["list", "--format", "text"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

/// A file that may not grow is as good as a full disk, to who writes it.
#[test]
fn a_full_disk_is_no_error_of_a_search() {
    let home = Home::new();
    let good = home.ran(&["search", "zebra"]);
    home.ran(&["index"]);
    for number in 0..40 {
        let words: Vec<String> = (0..2000).map(|word| format!("w{number}x{word}")).collect();
        let words = words.join(" ");
        home.session(
            &format!("dddd-{number}"),
            &[&format!(
                r#"{{"id":"1","type":"user","content":"{words}"}}"#
            )],
        );
    }
    let ran = home.ran_by(
        "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"",
        &["search", "zebra"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let hits = |stdout: &str| serde_json::from_str::<Value>(stdout).unwrap()["hits"].clone();
    assert_eq!(hits(&ran.stdout), hits(&good.stdout));
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        result["warnings"].as_array().map(Vec::len),
        Some(1),
        "{result}"
    );
    assert_eq!(
        hits(&home.ran(&["search", "zebra"]).stdout),
        hits(&good.stdout)
    );
}

/// All bytes of the index: the database and the files beside it.
fn bytes_of_the_index(home: &Home) -> Vec<u8> {
    let mut paths: Vec<_> = fs::read_dir(home.cache())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .iter()
        .flat_map(|path| fs::read(path).unwrap())
        .collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
#[cfg(unix)]
fn the_index_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // The mode of the index does not depend on the umask of the process that creates it.
    let ran = home.ran_by("umask 000; \"$0\" \"$@\"", &["index"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(mode(&home.cache()), 0o700);
    let [name] = &home.databases()[..] else {
        panic!("one index");
    };
    let database = home.cache().join(name);
    assert_eq!(mode(&database), 0o600);
    // An older version or another program may leave an index readable for other users. The next command that uses the index
    // corrects its mode.
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(home.ran(&["search", "zebra"]).code, Some(0));
    assert_eq!(mode(&database), 0o600);
}

#[test]
fn the_index_forgets_a_session_that_was_deleted() {
    let home = Home::new();
    let secret = |id: &str, word: &str| {
        home.session(
            id,
            &[
                &format!(r#"{{"id":"1","type":"user","content":"Tell of the {word}"}}"#),
                r#"{"id":"2","type":"gemini","content":"It was."}"#,
            ],
        );
    };
    secret("cccc-3", "xylophonist");
    secret("dddd-4", "yodelling");
    assert_eq!(home.ran(&["index"]).code, Some(0));
    let before = bytes_of_the_index(&home);
    for told in ["xylophonist", "cccc-3"] {
        assert!(contains(&before, told), "{told} is in the index");
    }
    let ran = home.ran(&["delete", "cccc-3", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    // The lists of words leave out how a word begins like the one before it.
    let after = bytes_of_the_index(&home);
    for told in ["xylophonist", "ylophonist", "cccc-3", "session-cccc3"] {
        assert!(!contains(&after, told), "{told} is still in the index");
    }
    let found = |word: &str| {
        let ran = home.ran(&["search", word]);
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        result["total"].as_u64()
    };
    assert_eq!(found("xylophonist"), Some(0));
    assert_eq!(found("yodelling"), Some(1));
    assert_eq!(found("zebra"), Some(2));
}
