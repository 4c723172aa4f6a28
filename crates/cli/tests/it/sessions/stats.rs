//! `sessions stats`.

use std::fs;

use lapidary_testkit::recorded::{RecordedHome, header};
use serde_json::json;

use super::{command, object, sessions};
use crate::support::{on_a_terminal, output};
use crate::usage::{assert_harmless, without_colours};

fn home() -> RecordedHome {
    let home = RecordedHome::new();
    home.session("one", "2026-01-05T10:00:00.000Z", &["a", "b", "c"]);
    home.session("two", "2026-01-07T10:00:00.000Z", &["d"]);
    let time = "2026-01-08T10:00:00.000Z";
    let lines = [
        header("three", time, time),
        json!({ "id": "u", "timestamp": time, "type": "user", "content": "hi" }),
        json!({ "id": "g", "timestamp": time, "type": "gemini", "content": "x", "model": "mystery\u{1b}[2J",
            "tokens": { "input": 1000, "output": 0, "cached": 0, "thoughts": 0, "tool": 0, "total": 1000 },
            "toolCalls": [{ "id": "c", "name": "read_file", "status": "error" }] }),
    ];
    let text: String = lines
        .iter()
        .fold(String::new(), |text, line| text + &line.to_string() + "\n");
    home.chat("session-three.jsonl", &text);
    home
}

#[test]
fn a_screen_says_it_all() {
    let ran = sessions(&home(), &["stats", "--format", "text"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let expected = "\
3 sessions, 5 turns, 5 answers, 1 tool call (1 failed)
1,500 tokens: 1,400 read (40 of them cached), 80 written, 20 thought
Cost: $0.0004 at the prices of 2026-07-04 (no price for mystery; 1,000 tokens)
  prices: 2026-07-04, https://ai.google.dev/gemini-api/docs/pricing

  mystery                           1 answer           1,000 tokens         ?
  gemini-2.5-flash                  4 answers            500 tokens   $0.0004

  read_file                         1 call, 1 failed

tokens by day
  2026-01-05 ####################                                    375 $0.0003
  2026-01-06                                                           0
  2026-01-07 #######                                                 125 $0.0001
  2026-01-08 ##################################################### 1,000
";
    assert_eq!(ran.stdout, expected);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_terminal_without_unicode_gets_other_bars() {
    let mut command = command(&home(), &["stats", "--format", "text"]);
    command.env("LANG", "de_DE.ISO-8859-1");
    let home = home();
    command.env("HOME", home.home()).current_dir(home.project());
    let shown = String::from_utf8(output(command, b"").stdout).unwrap();
    assert!(shown.is_ascii(), "{shown}");
    assert!(shown.contains("2026-01-07 ####### "), "{shown}");
}

#[test]
fn a_terminal_gets_no_escapes_of_a_model_name() {
    let home = home();
    for format in ["text", "csv"] {
        let command = command(&home, &["stats", "--format", format]);
        let shown = on_a_terminal(&command, 80).stdout;
        assert!(shown.contains("mystery"), "{shown:?}");
        assert_harmless(&without_colours(&shown));
    }
}

#[test]
fn programs_get_an_object() {
    let home = home();
    let stats = object(&sessions(&home, &["stats"]), "stats");
    assert_eq!(stats["schema"], "lapidary.stats/1");
    assert_eq!(
        (&stats["sessions"], &stats["unpricedTokens"]),
        (&3.into(), &1000.into())
    );
    let one = object(
        &sessions(
            &home,
            &["stats", "--since", "2026-01-06", "--until", "2026-01-07"],
        ),
        "stats",
    );
    assert_eq!((&one["sessions"], &one["turns"]), (&1.into(), &1.into()));
    let one = object(
        &sessions(&home, &["stats", "--model", "mystery", "--all"]),
        "stats",
    );
    assert_eq!(
        (&one["sessions"], &one["tokens"]["input"]),
        (&1.into(), &1000.into())
    );
    assert!(one.get("cost").is_none(), "unknown is not nothing: {one}");
    let none = sessions(&home, &["stats", "--since", "1h", "--format", "text"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert_eq!(
        none.stderr,
        "note: nothing was recorded here, or nothing that was asked for\n"
    );
    let wrong = sessions(&home, &["stats", "--since", "tuesday"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn ones_own_prices_count_first() {
    let home = home();
    let file = home.root().join("prices.toml");
    fs::write(
        &file,
        "as_of = \"2027-01-01\"\n[prices.\"mystery\\u001b[2J\"]\ninput = 5\noutput = 0\n",
    )
    .unwrap();
    let named = ["stats", "--prices", file.to_str().unwrap()];
    let stats = object(&sessions(&home, &named), "stats");
    assert_eq!(
        (&stats["unpricedTokens"], &stats["pricesAsOf"]),
        (&0.into(), &"2027-01-01".into())
    );
    let models = stats["models"].as_array().unwrap();
    assert_eq!(models[0]["cost"], 0.005);

    let folder = home.home().join(".config/lapidary");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("lapidary.toml"),
        "model = \"x\"\n[prices.\"gemini-2.5-flash\"]\ninput = 0\ncached = 0\noutput = 1000000\n",
    )
    .unwrap();
    let stats = object(&sessions(&home, &["stats"]), "stats");
    assert_eq!(stats["cost"], 100.0, "{stats}");

    fs::write(&file, "[prices.x]\ninput = \"much\"\noutput = 1").unwrap();
    let ran = sessions(&home, &named);
    assert_eq!(ran.code, Some(13));
    assert!(
        ran.stderr
            .contains("`prices.\"x\".input` has to be a number that is not negative"),
        "{}",
        ran.stderr
    );
    let ran = sessions(&home, &["stats", "--prices", "no-such-file"]);
    assert_eq!(ran.code, Some(13));
}
