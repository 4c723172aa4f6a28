//! What holds for any connection.

use lapidary_normalize::Normalizer as _;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::{DeltaMode, NormalizeOptions, ProcessEnd};
use lapidary_testkit::captures::{self, CaptureKind};
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Body, Event};
use lapidary_wire::acp::transcript::{LineAuthor, TranscriptRecord};
use lapidary_wire::lines::RawLine;
use proptest::prelude::*;
use proptest::sample::Index;

type Written = (LineDirection, Vec<u8>);

fn normalize(lines: &[Written], deltas: DeltaMode) -> Vec<Event> {
    let options = NormalizeOptions {
        deltas,
        ..NormalizeOptions::new("run")
    };
    let mut normalizer = AcpNormalizer::new(&options, Provider::Acp);
    let mut events = Vec::new();
    for (direction, line) in lines {
        normalizer.push(*direction, RawLine::Whole(line), None, &mut events);
    }
    normalizer.finish(&ProcessEnd::default(), &mut events);
    events
}

/// Every message of every transcript.
fn real() -> Vec<Written> {
    let transcripts = captures::all()
        .into_iter()
        .filter(|capture| capture.kind == CaptureKind::Acp);
    let lines: Vec<Written> = transcripts
        .flat_map(|capture| {
            let bytes = capture.bytes();
            let records = bytes
                .split(|&byte| byte == b'\n')
                .filter_map(TranscriptRecord::read);
            let written = records.filter_map(|record| {
                let direction = match record.author {
                    LineAuthor::Agent => LineDirection::FromAgent,
                    LineAuthor::Client => LineDirection::FromClient,
                    LineAuthor::Stderr | LineAuthor::Recorder => return None,
                };
                Some((direction, record.line.into_owned().into_bytes()))
            });
            written.collect::<Vec<_>>()
        })
        .collect();
    assert!(lines.len() > 300, "the transcripts are missing");
    lines
}

/// Lines as either side may write them: real ones, damaged ones, and rubbish, in any order.
fn lines() -> impl Strategy<Value = Vec<Written>> {
    let short: Vec<_> = real()
        .into_iter()
        .filter(|(_, line)| line.len() < 2000)
        .collect();
    let whole = prop::sample::select(short.clone());
    let damaged = (prop::sample::select(short), any::<Index>(), any::<u8>()).prop_map(
        |((direction, mut line), at, byte)| {
            if !line.is_empty() {
                let at = at.index(line.len());
                line[at] = byte;
            }
            (direction, line)
        },
    );
    let rubbish =
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|line| (LineDirection::FromAgent, line));
    prop::collection::vec(prop_oneof![5 => whole, 3 => damaged, 1 => rubbish], 0..30)
}

fn filled(lines: &[Written]) -> usize {
    let is_filled = |line: &&Written| !line.1.trim_ascii().is_empty();
    lines.iter().filter(is_filled).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_carried_by_exactly_one_event(input in lines()) {
        let events = normalize(&input, DeltaMode::Only);
        let carried = events.iter().filter(|event| event.base.raw.is_some()).count();
        prop_assert_eq!(carried, filled(&input));
    }

    #[test]
    fn joined_text_still_carries_every_line(input in lines()) {
        let events = normalize(&input, DeltaMode::Final);
        let carried: usize = events.iter().filter_map(|event| {
            let raw = event.base.raw.as_ref()?.token();
            let is_joined = matches!(event.body, Body::Text(_)) && raw.as_str().starts_with('[');
            Some(if is_joined { raw.elements().count() } else { 1 })
        }).sum();
        prop_assert_eq!(carried, filled(&input));
        prop_assert!(!events.iter().any(|event| matches!(event.body, Body::StreamDelta(_))));
    }

    #[test]
    fn a_run_ends_once_and_last(input in lines()) {
        let events = normalize(&input, DeltaMode::Both);
        let ends = events.iter().filter(|event| matches!(event.body, Body::RunEnd(_))).count();
        prop_assert_eq!(ends, 1);
        prop_assert!(matches!(events.last().map(|event| &event.body), Some(Body::RunEnd(_))));
        for (index, event) in events.iter().enumerate() {
            prop_assert_eq!(event.base.seq, index as u64);
        }
    }

    #[test]
    fn acp_events_read_back_as_written(input in lines()) {
        for event in normalize(&input, DeltaMode::Both) {
            let line = event.to_json();
            prop_assert!(!line.contains('\n') && !line.contains('\r'), "{}", line);
            let read = Event::from_json(&line).expect("our own events read back");
            prop_assert_eq!(read.to_json(), line);
        }
    }
}

#[test]
fn raw_is_the_line_as_it_stood() {
    let lines = real();
    let events = normalize(&lines, DeltaMode::Only);
    let raws: Vec<_> = events
        .iter()
        .filter_map(|event| {
            let raw = event.base.raw.as_ref()?;
            Some(if event.base.raw_is_text {
                raw.to_display().into_owned()
            } else {
                raw.as_str().to_owned()
            })
        })
        .collect();
    let lines: Vec<_> = lines
        .iter()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(_, line)| String::from_utf8_lossy(line).trim_end().to_owned())
        .collect();
    for (raw, line) in raws.iter().zip(&lines) {
        assert_eq!(raw.trim_end(), line);
    }
    assert_eq!(raws.len(), lines.len());
}
