//! Agents that kill the hook that guards them, stop it, or wait until its time is up.

use serde_json::{Value, json};

use super::{DONE, matching, play};

/// A hook that may take so many milliseconds.
fn hasty(matcher: &str, command: &str, milliseconds: u32) -> Value {
    let mut hook = matching(matcher, command);
    hook["hooks"][0]["timeout"] = milliseconds.into();
    hook["hooks"][0]["name"] = "guard".into();
    hook
}

fn fail_open(mut hook: Value) -> Value {
    hook["hooks"][0]["failOpen"] = true.into();
    hook
}

/// The agent finds the hook's process, and kills it.
const KILLS: &str = r#"
p = prompted()
ask(0, "fs/write_text_file", path=os.path.abspath("a.txt"), content="x")
while not os.path.exists("pid"):
    time.sleep(0.01)
os.kill(int(open("pid").read()), signal.SIGKILL)
reply(0)
done(p)
"#;

const WRITES: &str = r#"
p = prompted()
ask(0, "fs/write_text_file", path=os.path.abspath("a.txt"), content="x"); reply(0)
done(p)
"#;

/// Leaves its process id for the agent, which kills it.
const LEAVES_PID: &str = "echo $$ > pid.new; mv pid.new pid; exec sleep 60";

/// The same for a child of the shell: the shell itself ends with an exit code, and without a message.
const LEAVES_CHILD: &str =
    "exec 2>/dev/null; sleep 60 & echo $! > pid.new; mv pid.new pid; wait $!";

#[track_caller]
fn check(scene: &str, hook: &Value, why: Option<&str>) {
    let hooks = json!({"BeforeTool": [hook]});
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let answer = played.answer(0);
    let is_written = played.world.path("project/a.txt").exists();
    match why {
        Some(why) => {
            let reason = answer["message"].as_str().unwrap_or_default();
            let expected = format!("the hook `guard` was not heard: {why}");
            assert!(reason.contains(&expected), "{answer}");
            assert!(!is_written);
        }
        None => assert!(is_written, "{answer}"),
    }
}

#[test]
fn a_killed_guard_holds_the_call_back_unless_it_is_fail_open() {
    let killed = Some("it was killed by SIGKILL");
    let hook = hasty("write_file", LEAVES_PID, 60_000);
    check(KILLS, &hook, killed);
    check(KILLS, &fail_open(hook), None);
    let hook = hasty("write_file", LEAVES_CHILD, 60_000);
    check(KILLS, &hook, killed);
    let says_yes = r#"echo '{"decision":"allow"}'; kill -9 $$"#;
    let hook = hasty("write_file", says_yes, 60_000);
    check(WRITES, &hook, killed);
}

#[test]
fn a_guard_that_is_stopped_or_late_holds_the_call_back_unless_it_is_fail_open() {
    let late = Some("it had not ended after 300 ms");
    for command in ["kill -STOP $$", "sleep 60"] {
        let hook = hasty("write_file", command, 300);
        check(WRITES, &hook, late);
        check(WRITES, &fail_open(hook), None);
    }
}

#[test]
fn a_guard_that_writes_without_end_holds_the_call_back() {
    let flood = hasty("write_file", "head -c 17M /dev/zero", 60_000);
    let why = "it wrote more than 16777216 bytes";
    check(WRITES, &flood, Some(why));
}
