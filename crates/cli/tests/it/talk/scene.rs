//! A scene: the script of an agent, the outcome of its run, and the check that every line has its event.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary::engine::recording::{Channel, Timing};
use lapidary_testkit::acp_schema::SchemaOracle;
use lapidary_testkit::patience::again_with_more_time;
use serde_json::Value;

use crate::run::world::{Told, World};

/// The agent, in which scenes are played.
const AGENT: &str = include_str!("agent.py");

/// How many scenes are played at a time: most of them wait most of the time.
const AT_A_TIME: usize = 4;

/// A scene and how it has to end.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) scene: &'static str,
    pub(super) args: &'static [&'static str],
    pub(super) ends: (&'static str, i32),
    /// A check of the run beyond its end.
    pub(super) check: fn(&Played),
}

/// Most scenes are only about their end.
pub(super) fn ends(_: &Played) {}

/// A scene without further arguments.
pub(super) const fn row(
    name: &'static str,
    scene: &'static str,
    ends: (&'static str, i32),
    check: fn(&Played),
) -> Row {
    Row {
        name,
        scene,
        args: &[],
        ends,
        check,
    }
}

impl Row {
    pub(super) const fn with(mut self, args: &'static [&'static str]) -> Self {
        self.args = args;
        self
    }

    /// A scene with a deadline is played again with twice the time if the machine was too busy for it.
    fn play(&self) {
        if self.args.iter().any(|arg| arg.ends_with("timeout")) {
            again_with_more_time(1.0, |factor| self.play_with(&self.stretched(factor)));
        } else {
            self.play_with(self.args);
        }
    }

    /// The arguments with every deadline so many times as long.
    fn stretched(&self, factor: f64) -> Vec<String> {
        let before = std::iter::once(&"").chain(self.args);
        let stretched = before.zip(self.args).map(|(before, arg)| {
            let seconds = arg
                .parse::<f64>()
                .ok()
                .filter(|_| before.ends_with("timeout"));
            seconds.map_or_else(
                || (*arg).to_owned(),
                |seconds| (seconds * factor).to_string(),
            )
        });
        stretched.collect()
    }

    fn play_with(&self, args: &[impl AsRef<str>]) {
        let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        let world = staged(self.scene);
        let told = Told::by(command(&world, &args));
        let played = Played { world, told };
        assert_eq!(
            played.told.verdict(),
            (self.ends.0, Some(self.ends.1)),
            "{}\n{}",
            played.told.end(),
            played.told.stderr
        );
        played.assert_complete();
        (self.check)(&played);
    }
}

/// Plays them all, and says all that went wrong.
pub(super) fn play(rows: &[Row]) {
    let wrong = in_parallel(rows.len(), |index| {
        let row = &rows[index];
        let played = std::panic::catch_unwind(|| row.play());
        played.err().map(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let text: String = text.unwrap_or_default().chars().take(4000).collect();
            format!("{}: {text}", row.name)
        })
    });
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} scenes: {}", wrong.join("\n\n"));
}

/// Calls `work` so many times, `AT_A_TIME` at a time. Returns the failures.
pub(super) fn in_parallel(
    count: usize,
    work: impl Fn(usize) -> Option<String> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let found = work(index);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// A world with the agent, and a scene for it.
pub(super) fn staged(scene: &str) -> World {
    let world = World::with_agent("exit 1");
    fs::write(world.path("agent.py"), AGENT).unwrap();
    fs::write(world.path("scene.py"), scene).unwrap();
    world
}

/// The command that plays a scene. Denials and violations do not change its outcome unless the arguments say so: the modules
/// `denied` and `violations` test them.
pub(super) fn command(world: &World, args: &[&str]) -> Command {
    let agent = "python3 -I -S ../agent.py ../scene.py";
    let mut all = vec!["run", "--agent", agent];
    if !args.contains(&"--on-denied") {
        all.extend(["--on-denied", "warn"]);
    }
    if !args.contains(&"--on-violation") {
        all.extend(["--on-violation", "report"]);
    }
    all.extend(args);
    all.push("go");
    world.lapidary(&all)
}

/// A scene that is over.
pub(super) struct Played {
    pub(super) world: World,
    pub(super) told: Told,
}

impl Played {
    /// Each line that we said is as the protocol's own schema has it, where that is installed.
    fn check_what_we_said(&self) {
        let recording = self.told.end()["extensions"]["lapidary.recording"].clone();
        if let (Some(oracle), Some(recording)) = (SchemaOracle::if_installed(), recording.as_str())
        {
            let checked = oracle.check_recording(recording.as_ref());
            let wrong = checked.err().unwrap_or_default();
            // An answer carries the agent's own id, which may break the schema.
            assert!(
                wrong.is_empty() || wrong.starts_with("RequestId: "),
                "{wrong}"
            );
        }
    }

    /// The lines that the agent got from Lapidary.
    pub(super) fn heard(&self) -> Vec<Value> {
        let stdin = fs::read(self.world.recording().join("stdin")).unwrap();
        let lines = stdin.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// How often the agent was asked or told this.
    pub(super) fn times(&self, method: &str) -> usize {
        let heard = self.heard();
        heard.iter().filter(|told| told["method"] == method).count()
    }

    /// Our answer to the agent's request of this id: a result, or an error.
    #[track_caller]
    pub(super) fn answer(&self, id: impl Into<Value>) -> Value {
        let answers = self.answers(id);
        assert_eq!(answers.len(), 1, "one answer: {answers:?}");
        answers.into_iter().next().unwrap()
    }

    /// Our answers to the agent's requests of this id.
    pub(super) fn answers(&self, id: impl Into<Value>) -> Vec<Value> {
        let id = id.into();
        let heard = self.heard().into_iter();
        heard
            .filter(|told| told["method"].is_null() && told["id"] == id)
            .map(|mut told| {
                let kind = if told["error"].is_null() {
                    "result"
                } else {
                    "error"
                };
                told[kind].take()
            })
            .collect()
    }

    /// The messages of the diagnostics of this kind.
    pub(super) fn diagnostics(&self, kind: &str) -> Vec<&str> {
        let events = self.told.events.iter();
        events
            .filter(|event| event["event"] == "diagnostic" && event["kind"] == kind)
            .map(|event| event["message"].as_str().unwrap())
            .collect()
    }

    /// All that the agent has said, as text.
    pub(super) fn text(&self) -> String {
        let deltas = self
            .told
            .events
            .iter()
            .filter(|event| event["kind"] == "text");
        deltas
            .filter_map(|event| event["textDelta"].as_str())
            .collect()
    }

    /// Asserts that nothing runs any more, that the recording has every byte, and that each line of both sides is carried by one event.
    pub(super) fn assert_complete(&self) {
        self.check_what_we_said();
        self.world.assert_nothing_is_left();
        let recording = self.world.recording();
        assert_recorded(&recording);
        let mut lines = lines_of(&recording.join("stdout"));
        lines.extend(lines_of(&recording.join("stdin")));
        assert_same(&counted(lines), &self.carried());
    }

    /// The lines that the events carry, and how often.
    fn carried(&self) -> BTreeMap<String, i32> {
        let events = self.told.events.iter();
        let raw = events.filter(|event| !event["raw"].is_null());
        counted(raw.map(|event| {
            if let Some(bytes) = event["rawBase64"].as_str() {
                return format!("bytes {:?}", STANDARD.decode(bytes).unwrap());
            }
            match &event["raw"] {
                Value::String(text) if event["rawIsText"] == true => format!("text {text}"),
                raw => format!("json {raw}"),
            }
        }))
    }
}

/// Asserts that each line occurs as often as it should, and shows the lines that do not.
fn assert_same(lines: &BTreeMap<String, i32>, carried: &BTreeMap<String, i32>) {
    let count = |lines: &BTreeMap<String, i32>, line: &str| lines.get(line).copied().unwrap_or(0);
    let wrong = lines.keys().chain(carried.keys());
    let wrong = wrong.filter(|line| count(lines, line) != count(carried, line));
    let wrong = wrong.map(|line| {
        let shown: String = line.chars().take(200).collect();
        format!(
            "{} times instead of {}: {shown}",
            count(carried, line),
            count(lines, line)
        )
    });
    let wrong: Vec<_> = wrong.take(10).collect();
    assert!(wrong.is_empty(), "every line, once: {wrong:#?}");
}

fn counted(lines: impl IntoIterator<Item = String>) -> BTreeMap<String, i32> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// The lines of a file, as events should carry them. Blank ones say nothing.
fn lines_of(file: &Path) -> Vec<String> {
    let bytes = fs::read(file).unwrap();
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    lines.map(as_carried).collect()
}

/// The longest line that is kept whole, as `run` has it.
const LONGEST: usize = 64 * 1024 * 1024;

fn as_carried(line: &[u8]) -> String {
    let line = if line.len() > LONGEST {
        &line[..1024]
    } else {
        line
    };
    let Ok(text) = std::str::from_utf8(line) else {
        return format!("bytes {line:?}");
    };
    match serde_json::from_str::<Value>(text) {
        // A bare null looks like nothing to this test: scenes say other things.
        Ok(value) => format!("json {value}"),
        Err(_) => format!("text {text}"),
    }
}

fn assert_recorded(recording: &Path) {
    let recorded = |name: &str| -> PathBuf { recording.join(name) };
    let timing = Timing::read(&fs::read_to_string(recorded("timing")).unwrap()).unwrap();
    let channels = [
        (Channel::In, "stdin"),
        (Channel::Out, "stdout"),
        (Channel::Err, "stderr"),
    ];
    for (channel, name) in channels {
        let length = fs::metadata(recorded(name)).unwrap().len();
        assert_eq!(timing.total(channel), length, "{name}");
    }
    let manifest = fs::read_to_string(recorded("run.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert!(
        manifest["end"].is_object(),
        "it says how it ended: {manifest}"
    );
}
