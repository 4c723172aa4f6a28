//! Translating what an agent wrote, during its run and after its end.

use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::Body;

use super::*;
use crate::budget::Budget;
use crate::run::events::ProgressPort;
use crate::run::testing;

/// Translates the output of an agent that is gone. Returns how many lines were translated, and the lines that were skipped.
async fn translated(stdout: &[u8], rest: &RestLimit) -> (usize, SkippedLines) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(STDOUT), stdout).unwrap();
    std::fs::write(directory.path().join(STDERR), b"").unwrap();
    let request = testing::run_request();
    let normalizer = request.dialect.normalizer(&NormalizeOptions::new("r"));
    let mut made = RunEvents::new(normalizer, ProgressPort::default());
    let (waiting, spent) = (
        PendingWork::default(),
        BudgetWatch::new(Budget::default(), None),
    );
    let tally = RunTally::new(&request);
    let violations = AttemptViolations::default();
    let (batches, mut told) = mpsc::channel(1);
    let (_grows, grown) = watch::channel(FileSizes {
        stdout: stdout.len() as u64,
        stderr: 0,
        is_over: true,
        is_cut: false,
    });
    let following = async {
        let translator = AttemptTranslator::new(
            &request,
            (directory.path(), Timestamp::UNIX_EPOCH),
            &mut made,
            (&waiting, &spent, &tally),
            &violations,
            &batches,
            rest,
        );
        translator.unwrap().follow_files(grown).await.unwrap();
        drop(batches);
    };
    let reading = async {
        let (mut lines, mut skipped, mut notices) = (0, SkippedLines::default(), Vec::new());
        while let Some(batch) = told.recv().await {
            skipped.add_skipped(batch.skipped.lines, batch.skipped.bytes);
            for event in batch.events {
                match event.body {
                    Body::Diagnostic(it) if it.kind == DiagnosticKind::Noise => lines += 1,
                    Body::Diagnostic(it) => notices.push(it.message.clone()),
                    body => panic!("{body:?}"),
                }
            }
        }
        let expected: Vec<_> = (!skipped.is_empty())
            .then(|| skipped.to_string())
            .into_iter()
            .collect();
        assert_eq!(notices, expected, "it is said once");
        (lines, skipped)
    };
    tokio::join!(following, reading).1
}

#[tokio::test]
async fn a_flood_that_is_left_when_a_run_is_ended_is_counted_and_not_translated() {
    let flood = b"y\n".repeat(200_000);
    let (told, skipped) = translated(&flood, &RestLimit::already_passed()).await;
    assert_eq!(told as u64 + skipped.lines, 200_000);
    assert_eq!(skipped.bytes, skipped.lines * 2);
    assert_eq!(told, 0, "none of it was to be waited for");
    let mut broken_off = flood.clone();
    broken_off.push(b'y');
    let (_, skipped) = translated(&broken_off, &RestLimit::already_passed()).await;
    assert_eq!((skipped.lines, skipped.bytes), (200_001, 400_001));
}

#[tokio::test]
async fn a_short_rest_and_the_rest_of_a_run_that_ends_by_itself_are_translated() {
    let little = b"y\n".repeat(1000);
    let nothing = SkippedLines::default();
    assert_eq!(
        translated(&little, &RestLimit::already_passed()).await,
        (1000, nothing)
    );
    let flood = b"y\n".repeat(200_000);
    assert_eq!(
        translated(&flood, &RestLimit::default()).await,
        (200_000, nothing)
    );
}
