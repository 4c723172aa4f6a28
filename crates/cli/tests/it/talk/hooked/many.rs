//! More than hooks can keep up with: nothing is left out without a word.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{DONE, Played, hook, play, write_hooks};
use crate::run::world::Told;
use crate::talk::scene::{command, staged};

impl Played {
    /// How many calls are said to have had no hooks after them, each with the reason.
    fn left_out(&self) -> Vec<(usize, String)> {
        let notices = self.diagnostics("notice").into_iter();
        let prefix = "no `AfterTool` hook was run for ";
        let told = notices.filter_map(|notice| notice.strip_prefix(prefix));
        told.map(|told| {
            let (count, why) = told.split_once(" calls: ").unwrap();
            (count.parse().unwrap(), why.to_owned())
        })
        .collect()
    }
}

#[test]
fn calls_that_nobody_could_keep_for_their_hooks_are_counted() {
    let hooks = json!({"AfterTool": [hook("sleep 60")]});
    let scene = r#"
p = prompted()
for number in range(1200):
    id = f"c{number}"
    call(id, kind="read", status="in_progress")
    update("tool_call_update", toolCallId=id, status="completed")
done(p)
"#;
    let args = ["--timeout", "3", "--grace", "0.1"];
    let played = play(&hooks, scene, &args, ("timeout_total", 14));
    let left_out = played.left_out();
    let counts: Vec<_> = left_out.iter().map(|(count, _)| *count).collect();
    let runs = played.runs().len();
    assert_eq!(counts.iter().sum::<usize>() + runs, 1200, "{left_out:?}");
    assert_eq!(runs, 8, "so many at a time");
    assert!(
        left_out[0]
            .1
            .starts_with("more than 1024 calls were waiting")
    );
    assert_eq!(left_out[1].1, "the run ended before that");
}

#[test]
fn calls_that_nobody_could_remember_until_their_end_have_hooks_all_the_same() {
    let hooks = json!({"AfterTool": [hook("true")]});
    let scene = r#"
p = prompted()
for number in range(1030):
    call(f"c{number:04}", kind="read", status="in_progress")
for number in range(6):
    update("tool_call_update", toolCallId=f"c{number:04}", status="completed")
done(p)
"#;
    let played = play(&hooks, scene, &[], DONE);
    assert_eq!((played.runs().len(), played.left_out()), (6, Vec::new()));
}

#[test]
fn hooks_of_several_calls_do_not_wait_for_each_other() {
    // Each waits until both have begun.
    let meet = "touch begun-$$; until [ $(ls begun-* | wc -l) = 2 ]; do sleep 0.01; done";
    let hooks = json!({"AfterTool": [hook(meet)]});
    let scene = r#"
p = prompted()
for id in ["a", "b"]:
    call(id, kind="read", status="in_progress")
    update("tool_call_update", toolCallId=id, status="completed")
done(p)
"#;
    let played = play(&hooks, scene, &["--timeout", "20"], DONE);
    assert_eq!(played.runs().len(), 2);
}

#[test]
fn hooks_that_are_never_content_are_not_asked_for_ever() {
    let never = r#"echo '{"decision":"block","reason":"more"}'"#;
    let never = json!({"hooks": [{"type": "command", "command": never}]});
    let hooks = json!({"AfterAgent": [never]});
    let scene = r#"
p = prompted()
while True:
    done(p)
    p = hear("session/prompt")
"#;
    let played = play(&hooks, scene, &[], DONE);
    assert_eq!(played.times("session/prompt"), 101);
    assert_eq!(played.runs().len(), 100);
    let notices = played.diagnostics("notice");
    let said = "`AfterAgent` hooks have made the agent go on 100 times in session `s`, and are not asked again";
    assert!(notices.contains(&said), "{notices:?}");
}

#[test]
fn no_more_than_64_run_at_once_and_all_of_them_run() {
    let world = staged("p = prompted(); done(p)");
    let hooks = (0..70).map(|number| {
        let command = format!("echo >> begun; flock -s gate true # {number}");
        json!({"type": "command", "command": command})
    });
    let hooks: Vec<_> = hooks.collect();
    write_hooks(&world, &json!({"BeforeAgent": [{"hooks": hooks}]}));
    let gate = File::create(world.path("project/gate")).unwrap();
    gate.lock().unwrap();
    let begun = || {
        let begun = fs::read_to_string(world.path("project/begun"));
        begun.unwrap_or_default().lines().count()
    };
    let told = thread::scope(|scope| {
        let told = scope.spawn(|| Told::by(command(&world, &["--hooks"])));
        let last = Instant::now() + Duration::from_secs(20);
        while begun() < 64 && Instant::now() < last {
            thread::sleep(Duration::from_millis(5));
        }
        // Long enough for more of them to begin, if they could.
        thread::sleep(Duration::from_millis(200));
        let most = begun();
        gate.unlock().unwrap();
        assert_eq!(most, 64);
        told.join().unwrap()
    });
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
    assert_eq!((begun(), told.count("hook_run")), (70, 70));
}

#[test]
fn a_guard_does_not_wait_for_what_comes_after_tools() {
    // Those that come after tools wait until the guard has spoken.
    let scene = r#"
import fcntl
gate = open("gate", "w"); fcntl.flock(gate, fcntl.LOCK_EX)
p = prompted()
for number in range(8):
    update("tool_call", toolCallId=f"c{number}", title="x", kind="read", status="completed")
while not os.path.exists("begun") or os.path.getsize("begun") < 32:
    time.sleep(0.01)
time.sleep(0.2)
permission(0, "w"); reply(0)
gate.close()
done(p)
"#;
    let after = (0..10).map(|number| {
        let command = format!("echo >> begun; flock -s gate true # {number}");
        json!({"type": "command", "command": command})
    });
    let after: Vec<_> = after.collect();
    let hooks = json!({"BeforeTool": [hook("exit 2")], "AfterTool": [{"hooks": after}]});
    let played = play(&hooks, scene, &["--yolo", "--timeout", "20"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
    assert_eq!(played.runs().len(), 81);
}
