//! Recordings that are run without a process, on a clock that the test owns.

use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::Event;
use lapidary_vocab::event::RunEnd;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;
use crate::process::stop;
use crate::recording::{MANIFEST, RecordingOptions, STDERR, STDIN, STDOUT, TIMING};
use crate::replay::{PastAttempts, PastReading, RecordingReader};
use crate::run::events::ProgressPort;
use crate::run::run_driver::{RunPorts, run};
use crate::run::{EventBatch, RunRequest, RunTimeouts, StreamDialect, testing};

const MINUTE: Duration = Duration::from_mins(1);

/// A recording of an agent that wrote this in two pieces, a minute apart, and exited with a code.
fn recording(transport: &str, stdout: &[u8], exit: i32) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let manifest = format!(
        r#"{{"schema":"lapidary.recording/1","run":"r","agent":"gemini","provider":"gemini","transport":"{transport}",
        "argv":["gemini"],"environment":[],"directory":"/","startedAt":"2026-01-01T00:00:00.000Z",
        "end":{{"durationMs":60000,"exitCode":{exit},"agentExitCode":{exit}}}}}"#
    );
    let first = stdout.len() / 2;
    let timing = format!(
        "0.000 out {first}\n60000.000 out {}\n",
        stdout.len() - first
    );
    let files: [(&str, &[u8]); 5] = [
        (MANIFEST, manifest.as_bytes()),
        (TIMING, timing.as_bytes()),
        (STDIN, b""),
        (STDOUT, stdout),
        (STDERR, b"a warning\n"),
    ];
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

/// The events of a recording.
fn translated(recording: &Path) -> Vec<Event> {
    let past = RecordingReader::open(recording).unwrap();
    let reading = PastReading {
        options: past.options(NormalizeOptions::new("r")),
        max_line: 1 << 20,
        exit_code: None,
        attempts: PastAttempts::AllThatFollow,
    };
    let mut all = Vec::new();
    let read = past.each_event(past.format().unwrap(), &reading, &mut |events, _| {
        all.append(events);
        Ok::<(), ReplayError>(())
    });
    read.unwrap();
    all
}

/// The events of a run of a recording.
async fn replayed(recording: &Path, home: &Path) -> Vec<Event> {
    let past = RecordingReader::open(recording).unwrap();
    let request = RunRequest {
        replay: Some(RecordedOutput::open(recording, ReplayPace::Times(1.0)).unwrap()),
        dialect: StreamDialect::from_name(&past.manifest().transport).unwrap(),
        options: past.options(NormalizeOptions::new("r")),
        records: RecordingOptions::below(home),
        timeouts: RunTimeouts {
            start: None,
            idle: None,
            total: None,
        },
        max_line: 1 << 20,
        ..testing::run_request()
    };
    events_of(request).await
}

/// The events of a run.
async fn events_of(request: RunRequest) -> Vec<Event> {
    let (_stopper, stops) = stop::channel();
    let (batches, mut read) = mpsc::channel::<EventBatch>(64);
    let ports = RunPorts {
        stops,
        batches,
        progress: ProgressPort::default(),
    };
    let reading = async {
        let mut events = Vec::new();
        while let Some(batch) = read.recv().await {
            events.extend(batch.events);
        }
        events
    };
    tokio::join!(Box::pin(run(request, ports)), reading).1
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

fn end(events: &[Event]) -> &RunEnd {
    match &events.last().unwrap().body {
        lapidary_vocab::Body::RunEnd(end) => end,
        other => panic!("{other:?} is last"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_recorded_stream_is_run_without_a_process_and_has_the_events_of_its_translation() {
    let captures = [
        ("stream-json", "gemini-0.61.0/tool-read_file", 0),
        ("json", "gemini-0.61.0/json-tools", 0),
        ("stream-json", "gemini-0.61.0/api-400", 1),
    ];
    for (transport, capture, exit) in captures {
        let stdout = lapidary_testkit::captures::named(capture).bytes();
        let then = recording(transport, &stdout, exit);
        let home = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let events = replayed(then.path(), home.path()).await;
        assert!(began.elapsed() >= MINUTE, "it takes the time that it took");
        let before = translated(then.path());
        let agents = |events: &[Event]| lines(&events[..events.len() - 1]);
        assert!(events.len() > 2, "{events:?}");
        assert_eq!(agents(&events), agents(&before), "{capture}");
        let judged = |end: &RunEnd| (end.outcome.clone(), end.cause.clone(), end.agent_exit_code);
        assert_eq!(judged(end(&events)), judged(end(&before)), "{capture}");
        let again = translated(&home.path().join("r"));
        assert_eq!(lines(&again), lines(&events), "{capture}");
        let stderr = std::fs::read(home.path().join("r").join(STDERR)).unwrap();
        assert_eq!(stderr, b"a warning\n");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_start_that_outlasts_the_whole_run_ends_with_the_total_timeout() {
    use std::os::unix::fs::PermissionsExt;

    let home = tempfile::tempdir().unwrap();
    let silent = home.path().join("supervisor");
    std::fs::write(&silent, "#!/bin/sh\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&silent, PermissionsExt::from_mode(0o755)).unwrap();
    for (name, start, expected) in [
        ("stream-json", None, "timeout_total"),
        ("json", Some(Duration::ZERO), "timeout_total"),
        ("stream-json", Some(Duration::ZERO), "timeout_start"),
    ] {
        let request = RunRequest {
            dialect: StreamDialect::from_name(name).unwrap(),
            supervisor: crate::process::Supervisor::at(&silent),
            records: RecordingOptions::below(home.path().join(expected).join(name)),
            timeouts: RunTimeouts {
                start,
                idle: None,
                total: Some(Duration::from_millis(300)),
            },
            ..testing::run_request()
        };
        let events = events_of(request).await;
        assert_eq!(end(&events).cause.as_str(), expected, "{name}");
    }
}
