//! Server-sent events, in whichever pieces they come.

use lapidary_wire::sse::{EventBuffer, EventTooLarge, ServerEvent};
use proptest::prelude::*;

/// The events of a stream that comes in pieces of these sizes, with the unfinished one at the end.
fn events(stream: &[u8], sizes: &[usize], limit: usize) -> Result<Vec<ServerEvent>, EventTooLarge> {
    let mut buffer = EventBuffer::with_limit(limit);
    let (mut events, mut rest) = (Vec::new(), stream);
    for size in sizes.iter().copied().chain([stream.len()]) {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        buffer.push(piece);
        while let Some(event) = buffer.next_event()? {
            events.push(event);
        }
        rest = after;
    }
    events.extend(buffer.unfinished());
    Ok(events)
}

fn data(stream: &[u8]) -> Vec<String> {
    let events = events(stream, &[], 1000).unwrap();
    let texts = events
        .into_iter()
        .map(|event| String::from_utf8(event.data));
    texts.map(Result::unwrap).collect()
}

#[test]
fn lines_of_an_event_stream_end_in_three_ways() {
    assert_eq!(
        data(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n"),
        ["a", "b", "c"]
    );
}

#[test]
fn data_lines_of_one_event_are_joined() {
    assert_eq!(data(b"data: a\ndata:b\ndata\n\n"), ["a\nb\n"]);
}

#[test]
fn an_event_without_data_is_no_event() {
    assert_eq!(data(b": ping\n\nevent: x\n\nid: 3\n\n"), [""; 0]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    assert_eq!(data(b"\xEF\xBB\xBFdata: a\n\n"), ["a"]);
    assert_eq!(data(b"\xEF\xBB\xBFdata: a"), ["a"]);
}

#[test]
fn an_event_has_its_name_id_and_retry() {
    let event = events(b"event: e\nid: 7\nretry: 250\ndata: x\n\n", &[], 100).unwrap();
    let expected = ServerEvent {
        data: b"x".to_vec(),
        name: Some(b"e".to_vec()),
        id: Some(b"7".to_vec()),
        retry_ms: Some(250),
    };
    assert_eq!(event, [expected]);
}

#[test]
fn an_event_over_the_limit_is_an_error() {
    let too_large = Err(EventTooLarge { limit: 10 });
    assert_eq!(events(b"data: 123456789", &[], 10), too_large);
    assert_eq!(
        events(b"data: 123\ndata: 123\ndata: 123\n\n", &[], 10),
        too_large
    );
}

proptest! {
    #[test]
    fn the_pieces_of_a_stream_do_not_matter(
        parts in proptest::collection::vec(
            prop_oneof!["data: ?[a-z]{0,9}", "\r|\n|\r\n", "(\r|\n|\r\n){2}", "[:a-z]{0,4}", "\u{FEFF}"], 0..20),
        sizes in proptest::collection::vec(0_usize..6, 0..40),
    ) {
        let stream = parts.concat();
        let whole = events(stream.as_bytes(), &[], 12);
        prop_assert_eq!(events(stream.as_bytes(), &sizes, 12), whole);
    }
}
