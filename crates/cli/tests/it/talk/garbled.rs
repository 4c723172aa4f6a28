//! Lines of real agents, garbled, and sent again by an agent that ignores the client's lines.

use std::fs;

use lapidary_testkit::mutate::SeededRng;
use serde_json::Value;

use super::scene::{Played, command, in_parallel, staged};
use crate::run::world::Told;
use crate::support::root;

/// Says the lines of a file. It waits for a word of the client here and there, but not for the right one.
const PARROT: &str = r#"
import select
for text in open("../lines", "rb").read().split(b"\n"):
    if select.select([0], [], [], 0.002)[0]:
        os.read(0, 65536)
    line(text)
"#;

#[test]
fn a_run_of_garbled_lines_ends_once_and_leaves_no_process() {
    check_all(60);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn whatever_is_said_in_many_runs_each_ends_once_and_leaves_nothing() {
    check_all(600);
}

fn check_all(runs: usize) {
    let said = all_that_was_said();
    let wrong = in_parallel(runs, |seed| {
        let run = std::panic::catch_unwind(|| check(&said, seed));
        run.is_err().then(|| format!("seed {seed}"))
    });
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The lines of every agent whose words we have.
fn all_that_was_said() -> Vec<Vec<String>> {
    let folder = fs::read_dir(root().join("fixtures/acp-agents")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|name| name == "jsonl"));
    files.sort();
    assert!(files.len() > 10, "the transcripts are there");
    files
        .iter()
        .map(|file| said(&fs::read_to_string(file).unwrap()))
        .collect()
}

fn said(transcript: &str) -> Vec<String> {
    let records = transcript
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let agents = records.filter(|record| record["dir"] == "agent");
    agents
        .map(|record| record["line"].as_str().unwrap().to_owned())
        .collect()
}

fn check(said: &[Vec<String>], seed: usize) {
    let mut dice = SeededRng::new(seed as u64);
    let mut lines: Vec<Vec<u8>> = said[seed % said.len()]
        .iter()
        .map(|line| line.clone().into_bytes())
        .collect();
    for _ in 0..=dice.below(6) {
        garble(&mut lines, &mut dice);
    }
    let then = [
        "",
        "\nfor_ever()",
        "\nos._exit(1)",
        "\nos.kill(os.getpid(), 9)",
    ];
    let world = staged(&format!("{PARROT}{}", then[dice.below(then.len())]));
    fs::write(world.path("lines"), lines.join(&b'\n')).unwrap();
    let args = [
        "--timeout",
        "1.5",
        "--idle-timeout",
        "0.3",
        "--start-timeout",
        "0.6",
        "--grace",
        "0.1",
    ];
    let told = Told::by(command(&world, &args));
    told.end();
    assert!(told.code.is_some(), "{told:?}");
    Played { world, told }.assert_complete();
}

fn garble(lines: &mut Vec<Vec<u8>>, dice: &mut SeededRng) {
    if lines.is_empty() {
        return;
    }
    let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(8) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        2 => lines.swap(one, other),
        3 => {
            let length = dice.below(lines[one].len() + 1);
            lines[one].truncate(length);
        }
        4 => {
            const GARBAGE: [&[u8]; 6] = [
                b"\xff\xfe",
                b"{",
                b"[1]",
                b"null garbage",
                b"\x1b[2J",
                b"{\"id\":0}",
            ];
            lines.insert(one, GARBAGE[dice.below(GARBAGE.len())].to_vec());
        }
        5 if !lines[one].is_empty() => {
            let place = dice.below(lines[one].len());
            lines[one][place] = b" \"{}0"[dice.below(5)];
        }
        6 => {
            let tail = lines.split_off(one);
            lines.splice(0..0, tail);
        }
        _ => {
            let text = String::from_utf8_lossy(&lines[one]).replace("\"id\":", "\"id\":1");
            lines[one] = text.into_bytes();
        }
    }
}
