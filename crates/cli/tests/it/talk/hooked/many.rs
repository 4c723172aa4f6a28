//! More than hooks can keep up with: nothing is left out without a word.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{DONE, Played, hook, play, play_until_late, write_hooks};
use crate::run::world::Told;
use crate::support::DEADLINE;
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
fn calls_whose_after_tool_hooks_did_not_run_are_counted() {
    let hooks = json!({"AfterTool": [hook("sleep 60")]});
    let scene = r#"
p = prompted()
for number in range(1200):
    id = f"c{number}"
    call(id, kind="read", status="in_progress")
    update("tool_call_update", toolCallId=id, status="completed")
done(p)
"#;
    let is_all_told = |played: &Played| played.told.count("tool_completion") == 1200;
    let (played, _) = play_until_late(&hooks, scene, &["--grace", "0.1"], is_all_told);
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
fn after_tool_hooks_run_for_calls_beyond_the_memory_limit() {
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
    let played = play(&hooks, scene, &[], DONE);
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
        let last = Instant::now() + DEADLINE;
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
    // The `AfterTool` hooks wait until the guard has answered.
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
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
    assert_eq!(played.runs().len(), 81);
}

/// An agent that asks about many calls at once does not make a guard so slow that it times out.
#[test]
fn no_more_calls_than_the_machine_can_bear_are_put_to_hooks_at_once() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let at_once = (2 * cores).max(8);
    let asked = at_once + 16;
    let scene = format!(
        r#"
p = prompted()
for number in range({asked}):
    permission(number, f"c{{number}}")
waiting = set(range({asked}))
while waiting:
    waiting.discard(hear().get("id"))
done(p)
"#
    );
    // Two for each call, which start together.
    let guard = |name: &str| {
        let command = format!("echo >> begun; flock -s gate true; exit 2 # {name}");
        json!({"type": "command", "command": command})
    };
    let world = staged(&scene);
    let guards = [guard("one"), guard("two")];
    write_hooks(&world, &json!({"BeforeTool": [{"hooks": guards}]}));
    let gate = File::create(world.path("project/gate")).unwrap();
    gate.lock().unwrap();
    let begun = || {
        let begun = fs::read_to_string(world.path("project/begun"));
        begun.unwrap_or_default().lines().count()
    };
    let told = thread::scope(|scope| {
        let told = scope.spawn(|| Told::by(command(&world, &["--hooks", "--yolo"])));
        let last = Instant::now() + DEADLINE;
        while begun() < 2 * at_once && Instant::now() < last {
            thread::sleep(Duration::from_millis(5));
        }
        // Long enough for more of them to begin, if they could.
        thread::sleep(Duration::from_millis(200));
        let most = begun();
        gate.unlock().unwrap();
        assert_eq!(most, 2 * at_once);
        told.join().unwrap()
    });
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
    assert_eq!(told.count("hook_run"), 2 * asked);
    let played = Played { world, told };
    for number in 0..asked {
        let answer = played.answer(number as u64);
        assert_eq!(answer["outcome"]["optionId"], "no", "{number}");
    }
}

/// A hook may write as much as it likes: the output that Lapidary keeps does not grow with the number of files of a call.
#[test]
fn hook_output_is_not_kept_once_per_file_of_a_call() {
    let scene = r#"
p = prompted()
files = [f"f{number}" for number in range(24)]
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "Edit", "kind": "edit", "rawInput": {"files": files}}, options=OPTIONS); reply(0)
parent = open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[1]
most = [it.split()[1] for it in open(f"/proc/{parent}/status") if it.startswith("VmHWM")][0]
open("most", "w").write(most)
done(p)
"#;
    let flood = "head -c 4000000 /dev/zero | tr '\\0' x; exit 2";
    let hooks = json!({"BeforeTool": [{"hooks": [{"type": "command", "command": flood}]}]});
    let world = staged(scene);
    write_hooks(&world, &hooks);
    // The memory of a process that does nothing else.
    let told = Told::started_by(command(&world, &["--hooks", "--yolo"]));
    let played = Played { world, told };
    let answer = played.answer(0);
    assert_eq!(answer["outcome"]["optionId"], "no");
    let most = fs::read_to_string(played.world.path("project/most")).unwrap();
    let most: u32 = most.parse().unwrap();
    assert!(most < 200_000, "{most} KiB");
    let reason = answer["_meta"]["lapidary"]["reason"].as_str().unwrap();
    let left_out = "… (3934464 bytes more)";
    assert!(reason.starts_with("a hook denied it: xxx"));
    assert!(reason.len() < 70_000, "{}", reason.len());
    let runs = played.runs();
    assert_eq!(runs.len(), 24);
    for run in runs {
        let reason = run["reason"].as_str().unwrap();
        assert!(
            reason.ends_with(left_out),
            "{}",
            &reason[reason.len() - 50..]
        );
        assert_eq!(reason.len(), (64 << 10) + left_out.len());
    }
}
