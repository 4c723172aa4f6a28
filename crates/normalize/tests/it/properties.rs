//! What holds for any input.

use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::views::result::ResultFold;
use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_normalize::{DeltaMode, NormalizeOptions, ProcessEnd};
use lapidary_testkit::captures::{self, CaptureKind};
use lapidary_vocab::{Body, Event};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{options, translate, translate_chunks};

fn normalize(chunks: &[&[u8]], deltas: DeltaMode) -> Vec<Event> {
    let options = NormalizeOptions {
        deltas,
        ..NormalizeOptions::new("run")
    };
    translate_chunks(chunks, &options, &ProcessEnd::default(), 4096)
}

/// Lines as an agent may write them: real ones, damaged ones, and rubbish.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let real: Vec<Vec<u8>> = captures::all()
        .iter()
        .filter(|capture| capture.kind == CaptureKind::StreamJson)
        .flat_map(|capture| {
            capture
                .bytes()
                .split(|&byte| byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        })
        .filter(|line| line.len() < 2000)
        .collect();
    let whole = prop::sample::select(real.clone());
    let damaged = (prop::sample::select(real), any::<Index>(), any::<u8>()).prop_map(
        |(mut line, at, byte)| {
            if !line.is_empty() {
                let at = at.index(line.len());
                line[at] = byte;
            }
            line
        },
    );
    let rubbish = prop::collection::vec(any::<u8>(), 0..40);
    let long = (4090_usize..4110).prop_map(|length| vec![b'x'; length]);
    let line = prop_oneof![4 => whole, 3 => damaged, 2 => rubbish, 1 => long];
    let end = prop_oneof![3 => Just(&b"\n"[..]), 1 => Just(&b"\r\n"[..])];
    prop::collection::vec((line, end), 0..20).prop_map(|lines| {
        lines
            .iter()
            .flat_map(|(line, end)| [line.as_slice(), end].concat())
            .collect()
    })
}

/// The number of lines that are not blank: each of them must be accounted for.
fn filled_lines(input: &[u8]) -> usize {
    input
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_events(input in lines(), cuts in prop::collection::vec(any::<Index>(), 0..6)) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&input[from..cut]);
            from = cut;
        }
        chunks.push(&input[from..]);
        prop_assert_eq!(normalize(&chunks, DeltaMode::Only), normalize(&[&input], DeltaMode::Only));
    }

    #[test]
    fn every_line_is_carried_by_exactly_one_event(input in lines()) {
        let events = normalize(&[&input], DeltaMode::Only);
        let carried = events.iter().filter(|event| event.base.raw.is_some()).count();
        prop_assert_eq!(carried, filled_lines(&input));
    }

    #[test]
    fn folded_text_still_carries_every_line(input in lines()) {
        let events = normalize(&[&input], DeltaMode::Final);
        let carried: usize = events.iter().filter_map(|event| event.base.raw.as_ref()).map(|raw| {
            let token = raw.token();
            let is_folded = token.as_str().starts_with('[') && token.elements().next().is_some_and(|line| line.get("delta").is_some());
            if is_folded { token.elements().count() } else { 1 }
        }).sum();
        prop_assert_eq!(carried, filled_lines(&input));
        prop_assert!(!events.iter().any(|event| matches!(event.body, Body::StreamDelta(_))));
    }

    #[test]
    fn a_run_ends_once_and_last(input in lines()) {
        let events = normalize(&[&input], DeltaMode::Both);
        let ends = events.iter().filter(|event| matches!(event.body, Body::RunEnd(_))).count();
        prop_assert_eq!(ends, 1);
        prop_assert!(matches!(events.last().map(|event| &event.body), Some(Body::RunEnd(_))));
        for (index, event) in events.iter().enumerate() {
            prop_assert_eq!(event.base.seq, index as u64);
            prop_assert_eq!(&event.base.id, &format!("run-{index}"));
        }
    }

    #[test]
    fn stream_events_read_back_as_written(input in lines()) {
        for event in normalize(&[&input], DeltaMode::Both) {
            let line = event.to_json();
            prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(&line).is_ok(), "{}", line);
            prop_assert!(!line.contains('\n') && !line.contains('\r'), "{}", line);
            let read = Event::from_json(&line).expect("our own events read back");
            prop_assert_eq!(read.to_json(), line);
        }
    }

    #[test]
    fn every_view_of_any_input_is_valid_json(input in lines()) {
        let mut messages = MessageFold::new("run");
        let mut runtime = RuntimeFold::new("run");
        let mut result = ResultFold::default();
        let mut written = Vec::new();
        for event in normalize(&[&input], DeltaMode::Only) {
            written.extend(messages.push(&event).iter().map(|message| serde_json::to_string(message).unwrap()));
            written.extend(runtime.push(&event).iter().map(|event| serde_json::to_string(event).unwrap()));
            result.push(&event);
        }
        written.extend(messages.finish().iter().map(|message| serde_json::to_string(message).unwrap()));
        written.push(serde_json::to_string(&result.finish(true)).unwrap());
        for line in written {
            prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(&line).is_ok(), "{}", line);
        }
    }
}

/// Raw is verbatim, for every line of every capture.
#[test]
fn raw_is_the_line_as_it_stood() {
    for capture in captures::all()
        .iter()
        .filter(|capture| capture.kind == CaptureKind::StreamJson)
    {
        let bytes = capture.bytes();
        let text = std::str::from_utf8(&bytes).unwrap();
        let lines: Vec<_> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let events = translate(&bytes, &options(), &ProcessEnd::default());
        let raws = events
            .iter()
            .filter_map(|event| event.base.raw.as_ref().map(|raw| (event, raw)));
        let raws: Vec<_> = raws
            .map(|(event, raw)| {
                if event.base.raw_is_text {
                    raw.to_display()
                } else {
                    raw.as_str().into()
                }
            })
            .collect();
        assert_eq!(raws, lines, "{}", capture.name);
    }
}
