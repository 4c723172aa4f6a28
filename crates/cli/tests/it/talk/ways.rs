//! Generated ways to write a denied file or to run a denied program, through a real run: none of them is done.

use std::fs;

use lapidary_testkit::ways::{CallWay, ToolAction, ways};
use serde_json::{Value, json};

use super::scene::{Played, command, in_parallel, staged};
use crate::run::world::Told;

const RULES: &[&str] = &[
    "--yolo",
    "--deny",
    "edit:secret.txt",
    "--deny",
    "execute:touch *",
];

/// An agent that reports each way, asks for permission, and does the allowed ways.
const ASKS: &str = r#"
import subprocess
p = prompted()
ways = json.loads(open("../ways.json").read().replace("CWD", os.getcwd()))
for number, way in enumerate(ways):
    id = f"c{number}"
    for at, told in enumerate(way["told"]):
        update("tool_call" if at == 0 else "tool_call_update", toolCallId=id, **told)
    ask(number, "session/request_permission", toolCall={"toolCallId": id, **way["asked"]}, options=OPTIONS)
    may = reply(number).get("result", {}).get("outcome", {}).get("optionId") == "yes"
    if may and way["line"]:
        subprocess.run(["bash", "-c", way["line"]], stdin=subprocess.DEVNULL)
    elif may:
        open("secret.txt", "w").close()
    update("tool_call_update", toolCallId=id, status="completed" if may else "failed")
done(p)
"#;

/// An agent that asks about a harmless call, and does the way under the same id.
const LIES: &str = r#"
p = prompted()
ways = json.loads(open("../ways.json").read().replace("CWD", os.getcwd()))
way = ways[0]
harmless = {"toolCallId": "c", "title": "Do it", "kind": "read", "rawInput": {"path": "a.txt"}}
ask(0, "session/request_permission", toolCall=harmless, options=OPTIONS)
reply(0)
update("tool_call_update", toolCallId="c", **way["asked"])
update("tool_call_update", toolCallId="c", status="completed")
hear("never")
"#;

/// An agent that does not ask.
const DOES_NOT_ASK: &str = r#"
p = prompted()
ways = json.loads(open("../ways.json").read().replace("CWD", os.getcwd()))
way = ways[0]
for at, told in enumerate(way["told"] + [way["asked"]]):
    update("tool_call" if at == 0 else "tool_call_update", toolCallId="c", **told)
update("tool_call_update", toolCallId="c", status="completed")
hear("never")
"#;

/// An agent that asks about a harmless edit, and does other actions through the client.
const LIES_TO_US: &str = r#"
p = prompted()
path = os.path.abspath("secret.txt")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "edit", "locations": [{"path": os.path.abspath("a.txt")}]}, options=OPTIONS); reply(0)
number = 1
for path in [path, os.path.abspath("src/../secret.txt"), os.path.abspath("link")]:
    asked(number, "fs/write_text_file", path=path, content="x"); number += 1
ways = json.loads(open("../ways.json").read().replace("CWD", os.getcwd()))
for way in ways:
    if way["line"]:
        asked(number, "terminal/create", command="bash", args=["-c", way["line"]]); number += 1
done(p)
"#;

fn listed(ways: &[CallWay]) -> String {
    let listed = ways.iter().map(|way| {
        let line = match &way.action {
            ToolAction::Write => Value::Null,
            ToolAction::Run(line) => json!(line),
        };
        json!({"told": way.told, "asked": way.asked, "line": line})
    });
    listed.collect::<Value>().to_string()
}

fn played(scene: &str, ways: &[CallWay], args: &[&str]) -> Played {
    let world = staged(scene);
    fs::write(world.path("ways.json"), listed(ways)).unwrap();
    fs::create_dir(world.path("project/src")).unwrap();
    std::os::unix::fs::symlink("secret.txt", world.path("project/link")).unwrap();
    let told = Told::by(command(&world, args));
    Played { world, told }
}

#[track_caller]
fn assert_nothing_was_done(played: &Played) {
    for name in ["secret.txt", "made.txt"] {
        let path = played.world.path("project").join(name);
        assert!(!path.exists(), "{name} was made: {:?}", played.told.end());
    }
}

#[test]
fn none_of_five_hundred_ways_that_are_asked_about_is_done() {
    let ways = ways(500, 4);
    let played = played(ASKS, &ways, RULES);
    assert_eq!(played.told.verdict(), ("end_turn", Some(0)));
    assert_nothing_was_done(&played);
    for (number, way) in ways.iter().enumerate() {
        let answer = played.answer(number);
        assert_eq!(answer["outcome"]["optionId"], "no", "{way:?}");
    }
}

#[test]
fn no_way_through_the_client_is_done_by_an_agent_that_lies() {
    let played = played(LIES_TO_US, &ways(100, 5), RULES);
    assert_eq!(played.told.verdict(), ("end_turn", Some(0)));
    assert_nothing_was_done(&played);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
    assert!((1..20).all(|number| played.answer(number)["code"].is_i64()));
}

/// Plays each way in a run of its own, and says which ones are no violation.
fn unnoticed(scene: &str, ways: &[CallWay]) -> Vec<String> {
    in_parallel(ways.len(), |at| {
        let way = std::slice::from_ref(&ways[at]);
        let args = [RULES, &["--on-violation", "stop"]].concat();
        let played = played(scene, way, &args);
        let is_noticed = played.told.verdict() == ("permission_denied", Some(18))
            && played.told.end()["violations"].is_array();
        (!is_noticed).then(|| format!("{way:?}: {}", played.told.end()))
    })
}

#[test]
fn a_way_that_is_not_asked_about_is_a_violation() {
    let wrong = unnoticed(DOES_NOT_ASK, &ways(12, 6));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn no_way_that_is_not_asked_about_goes_unnoticed() {
    let wrong = unnoticed(DOES_NOT_ASK, &ways(150, 7));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the arguments of a way state its action clearly.
fn is_clear(way: &CallWay) -> bool {
    let input = way.asked["rawInput"].to_string();
    match &way.action {
        ToolAction::Write => {
            let names = ["{\"path\":", "{\"file_path\":", "{\"output_path\":"];
            let is_named = names.iter().any(|name| input.starts_with(name));
            is_named
                && ["edit", "EDIT", "write"]
                    .iter()
                    .any(|kind| way.asked["kind"] == *kind)
        }
        ToolAction::Run(line) => {
            input.contains("touch") && !line.contains("sh") && !line.contains("<<")
        }
    }
}

#[test]
fn a_call_that_is_another_than_was_allowed_is_a_violation() {
    let ways: Vec<_> = ways(2000, 8).into_iter().filter(is_clear).collect();
    let (written, run): (Vec<_>, Vec<_>) = ways
        .into_iter()
        .partition(|way| way.action == ToolAction::Write);
    let ways: Vec<_> = written
        .into_iter()
        .take(3)
        .chain(run.into_iter().take(3))
        .collect();
    assert!(ways.len() > 3, "{ways:?}");
    let wrong = unnoticed(LIES, &ways);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
