//! Sessions of Codex CLI: files of the real program, read back, and damaged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lapidary_normalize::codex::rollout::RolloutNormalizer;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_sessions::{
    CodexSessions, HiddenReason, PriceTable, SessionListing, SessionProvider as _,
    SessionProviders, StatsRequest, stats_with,
};
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::golden::GoldenFiles;
use lapidary_vocab::event::{Provider, SessionState, ToolCallStatus};
use lapidary_vocab::{Body, Event, line};
use lapidary_wire::lines::RawLine;

use super::agent_captures::{children, everywhere, name, scene, scenes};

/// The rollouts of a scene.
fn rollouts(scene: &Path) -> Vec<PathBuf> {
    children(&scene.join("sessions/2026/11/18"))
}

fn events_of(path: &Path) -> Vec<Event> {
    let bytes = fs::read(path).unwrap();
    let mut options = NormalizeOptions::new("golden");
    options.keep_raw = false;
    options.deltas = DeltaMode::Final;
    let mut normalizer = RolloutNormalizer::new(&options);
    let mut events = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        normalizer.push(RawLine::Whole(line), &mut events);
    }
    normalizer.finish(&mut events);
    events
}

fn events_in(of: &str) -> Vec<Event> {
    events_of(&rollouts(&scene(of))[0])
}

#[test]
fn every_captured_session_of_codex_gives_the_events_of_its_golden_file() {
    let mut goldens = GoldenFiles::default();
    for scene in scenes("codex-") {
        for file in rollouts(&scene) {
            let mut written = Vec::new();
            for event in events_of(&file) {
                line::push_event(&mut written, &event);
            }
            let place = file.strip_prefix(fixtures()).unwrap();
            let golden = fixtures().join("../golden").join(place);
            goldens.check(&golden.with_extension("events.jsonl"), &written);
        }
    }
    goldens.finish();
}

/// A home with the rollouts of all scenes of a version.
fn home_with(version: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let day = home.path().join("sessions/2026/11/18");
    fs::create_dir_all(&day).unwrap();
    for scene in children(&scene(version)) {
        for file in rollouts(&scene) {
            fs::copy(&file, day.join(name(&file))).unwrap();
        }
    }
    home
}

#[test]
fn prompts_of_the_program_are_not_the_titles_of_sessions_of_codex() {
    for version in ["codex-0.60.1", "codex-0.166.0"] {
        let home = home_with(version);
        let listing = CodexSessions::new(home.path()).list(&everywhere());
        let titles = listing.sessions.iter().map(|it| &*it.info().display_name);
        let titles: Vec<_> = titles.collect();
        assert!(titles.contains(&"Say hello"), "{version}: {titles:?}");
        assert!(
            !titles.iter().any(|title| title.starts_with('<')),
            "{version}: {titles:?}"
        );
        for session in &listing.sessions {
            let info = session.info();
            assert_eq!(info.provider, Provider::Codex);
            assert_eq!(info.project.as_deref(), Some("/tmp/project"));
            assert!(info.file_name.contains(&info.id), "{info:?}");
        }
        assert_eq!(listing.hidden, [], "{version}");
    }
}

#[test]
fn damaged_and_linked_rollouts_have_a_reason_and_the_others_are_listed() {
    let home = home_with("codex-0.60.1");
    let good = CodexSessions::new(home.path())
        .list(&everywhere())
        .sessions
        .len();
    let day = home.path().join("sessions/2026/11/18");
    let first = name(&children(&day)[0]);
    let archive = home.path().join("archived_sessions");
    fs::create_dir(&archive).unwrap();
    fs::rename(day.join(&first), archive.join(&first)).unwrap();
    let second = name(&children(&day)[0]);
    fs::write(day.join(format!("{second}.zst")), [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    fs::write(day.join("rollout-old.jsonl.zst"), [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    fs::write(day.join("rollout-empty.jsonl"), "").unwrap();
    fs::write(day.join("rollout-noise.jsonl"), "no JSON\n").unwrap();
    symlink("/etc/passwd", day.join("rollout-link.jsonl")).unwrap();
    // A year or a month on another disk.
    symlink("/etc", home.path().join("sessions/2025")).unwrap();
    let listing = CodexSessions::new(home.path()).list(&everywhere());
    assert_eq!(
        listing.sessions.len(),
        good,
        "an archived session is one, too"
    );
    let mut hidden: Vec<_> = listing.hidden.iter().map(|it| it.reason.clone()).collect();
    hidden.sort_by_key(ToString::to_string);
    let expected = [
        HiddenReason::Duplicate,
        HiddenReason::Empty,
        HiddenReason::LinkOutside,
        HiddenReason::LinkOutside,
        HiddenReason::NotASession,
        HiddenReason::Unreadable,
    ];
    assert_eq!(hidden, expected);
}

#[test]
fn tokens_of_codex_count_once_though_its_files_repeat_them() {
    for (version, inputs) in [("codex-0.60.1", 621), ("codex-0.166.0", 621)] {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/18");
        fs::create_dir_all(&day).unwrap();
        let file = &rollouts(&scene(&format!("{version}/tools")))[0];
        fs::copy(file, day.join(name(file))).unwrap();
        let sessions = CodexSessions::new(home.path());
        let others = SessionProviders::default()
            .with(Some(sessions))
            .list(&everywhere());
        let request = StatsRequest::default();
        let stats = stats_with(&[], &others, &request, &PriceTable::shipped());
        // Six responses of 101 to 106 tokens, each with 20 from the cache and 30 of output.
        let tokens = stats.tokens;
        let counted = (tokens.input, tokens.cached, tokens.output);
        assert_eq!(counted, (inputs, 120, 180), "{version}");
        assert_eq!((stats.answers, stats.tool_calls), (6, 5), "{version}");
    }
}

#[test]
fn a_command_of_codex_that_failed_is_a_failed_call() {
    let failed = |event: &Event| match &event.body {
        Body::ToolCompletion(done) if done.status == ToolCallStatus::Failed => {
            done.command.as_ref().map(ToString::to_string)
        }
        _ => None,
    };
    let events = events_in("codex-0.166.0/tools");
    let failed: Vec<_> = events.iter().filter_map(failed).collect();
    assert_eq!(failed, ["ls missing-file"]);
}

#[test]
fn an_interruption_an_error_and_a_compaction_of_codex_have_their_events() {
    let is_interrupted = |event: &Event| matches!(&event.body, Body::SessionStatus(it) if it.status == SessionState::Interrupted);
    assert!(
        events_in("codex-0.166.0/interrupt")
            .iter()
            .any(is_interrupted)
    );
    let is_error = |event: &Event| matches!(&event.body, Body::TurnComplete(it) if it.is_error);
    assert!(events_in("codex-0.166.0/api-error").iter().any(is_error));
    let is_compaction = |event: &Event| matches!(event.body, Body::ContextCompaction(_));
    assert!(events_in("codex-0.166.0/compact").iter().any(is_compaction));
}

#[test]
fn a_rollout_cut_anywhere_is_read_as_far_as_it_goes() {
    let bytes = fs::read(&rollouts(&scene("codex-0.166.0/tools"))[0]).unwrap();
    for end in (0..bytes.len()).step_by(97) {
        lapidary_testkit::fuzz::codex_session(&bytes[..end]);
    }
}

#[test]
fn only_the_last_record_of_a_rollout_is_called_cut_off() {
    let text = fs::read_to_string(&rollouts(&scene("codex-0.60.1/text"))[0]).unwrap();
    let half = r#"{"type":"response_item","payload":{"#;
    let damaged = text.replacen('\n', &format!("\n{half}\nnoise\n"), 1) + half;
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), damaged).unwrap();
    let told = |path: &Path| {
        let messages = events_of(path).into_iter().filter_map(|it| match it.body {
            Body::Diagnostic(told) if told.count.is_none() => Some(told.message),
            _ => None,
        });
        messages.collect::<Vec<_>>()
    };
    let no_object = "a line of the session file is not a JSON object";
    let expected = [no_object, no_object, "the last record is cut off"];
    assert_eq!(told(file.path()), expected);
}

/// A file in one frame of zstd, as Codex CLI compresses a rollout.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn a_compressed_rollout_reads_as_the_plain_one_and_counts_once_beside_it() {
    let home = home_with("codex-0.166.0");
    let day = home.path().join("sessions/2026/11/18");
    let plain = CodexSessions::new(home.path()).list(&everywhere());
    let told = |listing: &SessionListing| {
        let mut told = Vec::new();
        for session in &listing.sessions {
            let provider = CodexSessions::new(home.path());
            provider
                .replay(session, &mut |event| told.push(event.body))
                .unwrap();
        }
        told
    };
    let expected = told(&plain);
    for path in children(&day) {
        let bytes = fs::read(&path).unwrap();
        // Two frames and a skippable one between them are one file, too.
        let (one, other) = bytes.split_at(bytes.len() / 2);
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let frames = [packed(one), skipped.to_vec(), packed(other)].concat();
        fs::write(day.join(format!("{}.zst", name(&path))), frames).unwrap();
    }
    let both = CodexSessions::new(home.path()).list(&everywhere());
    assert_eq!(both.sessions.len(), plain.sessions.len());
    assert!(
        both.hidden
            .iter()
            .all(|it| it.reason == HiddenReason::Duplicate)
    );
    for path in children(&day) {
        if path.extension().is_some_and(|it| it == "jsonl") {
            fs::remove_file(path).unwrap();
        }
    }
    let compressed = CodexSessions::new(home.path()).list(&everywhere());
    assert_eq!(compressed.sessions.len(), plain.sessions.len());
    assert_eq!(told(&compressed), expected);
}

#[test]
fn a_compressed_bomb_stops_at_the_limit_and_a_cut_one_says_so() {
    let home = home_with("codex-0.60.1");
    let good = CodexSessions::new(home.path())
        .list(&everywhere())
        .sessions
        .len();
    let day = home.path().join("sessions/2026/11/18");
    let line = fs::read(&children(&day)[0]).unwrap();
    let first = line.split_inclusive(|byte| *byte == b'\n').next().unwrap();
    let whole = packed(first);
    fs::write(day.join("rollout-cut.jsonl.zst"), &whole[..whole.len() - 9]).unwrap();
    // A frame of blocks that each repeat one byte: four bytes for 128 KiB.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    let block = (128_u32 << 10 << 3) | 0b010;
    for _ in 0..1024 {
        bomb.extend_from_slice(&block.to_le_bytes()[..3]);
        bomb.push(b' ');
    }
    fs::write(day.join("rollout-bomb.jsonl.zst"), &bomb).unwrap();
    // The header of a frame with a window of 128 MiB.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0, 0, 0];
    fs::write(day.join("rollout-window.jsonl.zst"), window).unwrap();
    let listing = CodexSessions::new(home.path()).list(&everywhere());
    assert_eq!(listing.sessions.len(), good);
    let told: Vec<_> = listing.hidden.iter().map(|it| &*it.explanation).collect();
    let expected = [
        "it cannot be read: it unpacks to more than 64 MiB",
        "it cannot be read: it is damaged or cut off",
        "it cannot be read: it is packed with a window of 128 MiB, and at most 32 MiB are allowed",
    ];
    assert_eq!(told, expected);
}
