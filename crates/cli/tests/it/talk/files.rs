//! Files and terminals that agents should not get, or not for ever. They may do everything: only we are in the way.

use super::scene::{Row, ends, play, row};

const DONE: (&str, i32) = ("end_turn", 0);
const YOLO: &[&str] = &["--permission-mode", "bypassPermissions"];

const ROWS: &[Row] = &[
    row(
        "files of its own",
        r#"
p = prompted(); here = os.path.realpath(".")
asked(0, "fs/write_text_file", path=here + "/new", content="a\nb\nc\n"); asked(1, "fs/read_text_file", path=here + "/new", line=2, limit=1); done(p)"#,
        DONE,
        |played| {
            assert_eq!(std::fs::read_to_string(played.world.path("project/new")).unwrap(), "a\nb\nc\n");
            assert_eq!(played.answer(1)["content"], "b\n");
        },
    )
    .with(YOLO),
    row(
        "files that are shown as calls",
        r#"
p = prompted(); here = os.path.realpath(".")
asked(0, "fs/write_text_file", path=here + "/new", content="a\n"); asked(1, "fs/read_text_file", path=here + "/new"); done(p)"#,
        DONE,
        |played| {
            let events = played.told.events.iter();
            let calls = events.filter(|event| event["event"] == "tool_invocation");
            let calls: Vec<_> = calls.map(|event| (&event["toolName"], &event["kind"])).collect();
            assert_eq!(
                serde_json::json!(calls),
                serde_json::json!([["fs/write_text_file", "edit"], ["fs/read_text_file", "read"]])
            );
            let ends = played.told.count("tool_completion");
            assert_eq!(ends, 2);
        },
    )
    .with(&["--permission-mode", "bypassPermissions", "--show-files"]),
    row(
        "files of others",
        r#"
open("../secret", "w").write("secret"); p = prompted(); here = os.path.realpath(".")
os.symlink("../secret", "link"); os.symlink("..", "up"); os.symlink("/dev/zero", "zero"); os.mkfifo("fifo"); os.symlink("loop", "loop")
paths = [here + "/../secret", "../secret", "secret", here + "/link", here + "/up/secret", "/etc/passwd", "/dev/zero", here + "/zero", "/proc/self/environ",
         here + "/fifo", here, here + "/loop", "", here + "/a\0b", "~/x", "file://" + here + "/link", 7, None]
for n, path in enumerate(paths):
    told = asked(n, "fs/read_text_file", path=path); assert "error" in told, (path, told)
for n, path in enumerate(paths):
    told = asked(100 + n, "fs/write_text_file", path=path, content="owned"); assert "error" in told, (path, told)
assert open("../secret").read() == "secret"
done(p)"#,
        DONE,
        |played| {
            assert!(!played.text().contains("root:"));
            let secret = std::fs::read_to_string(played.world.path("secret")).unwrap();
            assert_eq!(secret, "secret");
        },
    )
    .with(YOLO),
    row(
        "files that are not there, or no text, or without end",
        r#"
p = prompted(); here = os.path.realpath("."); open("bytes", "wb").write(b"\xff\xfe"); open("large", "wb").truncate(1 << 40)
for n, path in enumerate(["missing", "missing/deep", "bytes", "large"]):
    asked(n, "fs/read_text_file", path=here + "/" + path)
asked(9, "fs/read_text_file", path=here + "/bytes", line=-1, limit="x"); done(p)"#,
        DONE,
        |played| {
            for id in [3, 9] {
                assert!(played.answer(id)["code"].is_i64());
            }
        },
    )
    .with(YOLO),
    row(
        "a terminal that never ends",
        r#"
p = prompted(); t = asked(0, "terminal/create", command="sh", args=["-c", "trap '' TERM HUP; echo here; while :; do sleep 600; done"])["result"]["terminalId"]
ask(1, "terminal/wait_for_exit", terminalId=t); asked(2, "terminal/output", terminalId=t); done(p)"#,
        DONE,
        ends,
    )
    .with(&["--permission-mode", "bypassPermissions", "--grace", "0.5"]),
    row(
        "a terminal that is waited for in vain",
        r#"
p = prompted(); t = asked(0, "terminal/create", command="sleep", args=["600"])["result"]["terminalId"]
asked(1, "terminal/wait_for_exit", terminalId=t); done(p)"#,
        ("timeout_idle", 14),
        ends,
    )
    .with(&["--permission-mode", "bypassPermissions", "--grace", "0.5", "--idle-timeout", "0.6"]),
    row(
        "a terminal that floods",
        r#"
p = prompted(); t = asked(0, "terminal/create", command="sh", args=["-c", "head -c 50000000 /dev/zero | tr '\\0' x; exit 3"], outputByteLimit=1000)["result"]["terminalId"]
asked(1, "terminal/wait_for_exit", terminalId=t); asked(2, "terminal/output", terminalId=t); asked(3, "terminal/release", terminalId=t)
asked(4, "terminal/output", terminalId=t); done(p)"#,
        DONE,
        |played| {
            assert_eq!(played.answer(1)["exitCode"], 3);
            let output = played.answer(2);
            assert_eq!(output["truncated"], true);
            assert_eq!(output["output"].as_str().unwrap().len(), 1000);
            assert!(played.answer(4)["code"].is_i64());
        },
    )
    .with(YOLO),
    row(
        "terminals that are none",
        r#"
p = prompted(); here = os.path.realpath(".")
asked(0, "terminal/create", command="no-such-program"); asked(1, "terminal/create"); asked(2, "terminal/create", command="sh", cwd="/"); asked(3, "terminal/create", command="sh", args="x")
for n, method in enumerate(("output", "wait_for_exit", "kill", "release")):
    asked(10 + n, "terminal/" + method, terminalId="nobody"); asked(20 + n, "terminal/" + method)
done(p)"#,
        DONE,
        |played| {
            for id in [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23] {
                assert!(played.answer(id)["code"].is_i64(), "{id}");
            }
        },
    )
    .with(YOLO),
    row(
        "more terminals than anybody needs",
        r#"
p = prompted()
for n in range(100):
    ask(n, "terminal/create", command="sleep", args=["600"])
for n in range(100):
    hear()
done(p)"#,
        DONE,
        ends,
    )
    .with(&["--permission-mode", "bypassPermissions", "--grace", "0.5"]),
];

#[test]
fn files_and_terminals_have_bounds() {
    play(ROWS);
}
