//! Bytes into lines, however they come.

use lapidary_wire::lines::{DEFAULT_LIMIT, KEPT_OF_END, KEPT_OF_TOO_LONG, LineBuffer, RawLine};
use proptest::prelude::*;

/// A line that owns itself.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Whole(Vec<u8>),
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
        length: u64,
    },
}

fn own(line: RawLine<'_>) -> Owned {
    match line {
        RawLine::Whole(bytes) => Owned::Whole(bytes.to_vec()),
        RawLine::TooLong { head, tail, length } => Owned::TooLong {
            head: head.to_vec(),
            tail: tail.to_vec(),
            length,
        },
    }
}

fn drain(buffer: &mut LineBuffer, lines: &mut Vec<Owned>) {
    while let Some(line) = buffer.next_line() {
        lines.push(own(line));
    }
}

fn finish(mut buffer: LineBuffer, mut lines: Vec<Owned>) -> Vec<Owned> {
    drain(&mut buffer, &mut lines);
    lines.extend(buffer.last_line().map(own));
    assert_eq!(buffer.next_line(), None);
    assert_eq!(buffer.last_line(), None);
    lines
}

fn pushed(chunks: &[&[u8]], limit: usize) -> Vec<Owned> {
    let mut buffer = LineBuffer::with_limit(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        buffer.push(chunk);
        drain(&mut buffer, &mut lines);
    }
    finish(buffer, lines)
}

fn filled(chunks: &[&[u8]], limit: usize) -> Vec<Owned> {
    let mut buffer = LineBuffer::with_limit(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let room = buffer.room();
            let count = room.len().min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            buffer.filled(count);
            rest = &rest[count..];
            drain(&mut buffer, &mut lines);
        }
    }
    finish(buffer, lines)
}

/// The specification, on the whole text at once.
fn expected(bytes: &[u8], limit: usize) -> Vec<Owned> {
    let mut pieces: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
    if pieces.last().is_some_and(|last| last.is_empty()) {
        pieces.pop();
    }
    let line = |(index, piece): (usize, &[u8])| {
        if piece.len() > limit {
            let head = &piece[..piece.len().min(KEPT_OF_TOO_LONG)];
            let tail = &piece[piece.len().saturating_sub(KEPT_OF_END)..];
            return Owned::TooLong {
                head: head.to_vec(),
                tail: tail.to_vec(),
                length: piece.len() as u64,
            };
        }
        let mark: &[u8] = if index == 0 { b"\xEF\xBB\xBF" } else { b"" };
        let piece = piece.strip_prefix(mark).unwrap_or(piece);
        Owned::Whole(piece.strip_suffix(b"\r").unwrap_or(piece).to_vec())
    };
    pieces.into_iter().enumerate().map(line).collect()
}

#[track_caller]
fn check(bytes: &[u8], lines: &[&str]) {
    let lines: Vec<_> = lines
        .iter()
        .map(|line| Owned::Whole(line.as_bytes().to_vec()))
        .collect();
    assert_eq!(pushed(&[bytes], DEFAULT_LIMIT), lines, "{bytes:?}");
    let held = LineBuffer::holding(bytes.to_vec(), DEFAULT_LIMIT);
    assert_eq!(finish(held, Vec::new()), lines, "{bytes:?}");
}

#[test]
fn only_a_newline_ends_a_line() {
    check(b"", &[]);
    check(b"\n", &[""]);
    check(b"\n\n", &["", ""]);
    check(b"a\nb\n", &["a", "b"]);
    check(b"a\nb", &["a", "b"]);
    check(b"a\rb\n", &["a\rb"]);
    check(b"a\x0bb\x0cc\n", &["a\x0bb\x0cc"]);
    check(
        "a\u{2028}b\u{2029}c\u{85}d\n".as_bytes(),
        &["a\u{2028}b\u{2029}c\u{85}d"],
    );
}

#[test]
fn one_carriage_return_before_the_newline_is_trimmed() {
    check(b"a\r\nb\r\n", &["a", "b"]);
    check(b"a\r\r\n", &["a\r"]);
    check(b"a\r", &["a"]);
    check(b"\r\n", &[""]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line_only() {
    check(b"\xEF\xBB\xBFa\nb", &["a", "b"]);
    check(b"a\n\xEF\xBB\xBFb", &["a", "\u{feff}b"]);
    check(b"\xEF\xBB\xBF", &[""]);
    check(b"\xEF\xBB\xBF\xEF\xBB\xBFa", &["\u{feff}a"]);
}

#[test]
fn a_byte_order_mark_on_the_second_line_stays_even_if_the_first_was_too_long() {
    assert_eq!(
        pushed(&[b"123456\n\xEF\xBB\xBFa\n"], 5),
        [
            Owned::TooLong {
                head: b"123456".to_vec(),
                tail: b"123456".to_vec(),
                length: 6
            },
            Owned::Whole("\u{feff}a".as_bytes().to_vec())
        ]
    );
}

#[test]
fn bytes_need_not_be_text() {
    let lines = pushed(&[b"\xff\xfe\0\n\xc3"], DEFAULT_LIMIT);
    assert_eq!(
        lines,
        [
            Owned::Whole(b"\xff\xfe\0".to_vec()),
            Owned::Whole(b"\xc3".to_vec())
        ]
    );
}

#[test]
fn a_line_of_exactly_the_limit_is_whole_and_one_byte_more_is_not() {
    let at = [b'x'; 2000];
    assert_eq!(
        pushed(&[&at, b"\nnext\n"], 2000),
        [Owned::Whole(at.to_vec()), Owned::Whole(b"next".to_vec())]
    );
    let over = [b'x'; 2001];
    let too_long = Owned::TooLong {
        head: vec![b'x'; KEPT_OF_TOO_LONG],
        tail: vec![b'x'; KEPT_OF_END],
        length: 2001,
    };
    assert_eq!(
        pushed(&[&over, b"\nnext\n"], 2000),
        [too_long.clone(), Owned::Whole(b"next".to_vec())]
    );
    assert_eq!(pushed(&[&over], 2000), [too_long]);
}

#[test]
fn a_line_far_over_the_limit_keeps_its_ends_its_length_and_what_follows() {
    let mut first = b"beginning ".to_vec();
    first.resize(3000, b'.');
    let mut chunks: Vec<&[u8]> = vec![b"before\n", &first];
    let middle = [b'-'; 777];
    chunks.extend(std::iter::repeat_n(&middle[..], 1000));
    chunks.push(b"end\r\nafter\r\nlast");
    let lines = pushed(&chunks, 2000);
    let mut tail = vec![b'-'; KEPT_OF_END - 4];
    tail.extend_from_slice(b"end\r");
    assert_eq!(
        lines,
        [
            Owned::Whole(b"before".to_vec()),
            Owned::TooLong {
                head: first[..KEPT_OF_TOO_LONG].to_vec(),
                tail,
                length: 3000 + 777_000 + 4
            },
            Owned::Whole(b"after".to_vec()),
            Owned::Whole(b"last".to_vec()),
        ]
    );
    assert_eq!(filled(&chunks, 2000), lines);
}

#[test]
fn a_line_that_never_ends_does_not_fill_the_memory() {
    let mut buffer = LineBuffer::with_limit(1000);
    for _ in 0..100 {
        let room = buffer.room();
        let count = room.len();
        room.fill(b'x');
        buffer.filled(count);
        assert_eq!(buffer.next_line(), None);
        assert!(count <= 1_000_000, "room grew to {count}");
    }
    assert!(matches!(
        buffer.last_line(),
        Some(RawLine::TooLong { length, .. }) if length > 10_000_000
    ));
}

#[test]
fn the_memory_of_a_giant_line_is_given_back() {
    let mut buffer = LineBuffer::default();
    buffer.push(&vec![b'x'; 4 * 1024 * 1024]);
    buffer.push(b"\n");
    assert!(buffer.next_line().is_some());
    assert!(buffer.room().len() < 1024 * 1024);
}

#[test]
fn the_rest_of_a_line_does_not_make_a_small_buffer_grow() {
    let mut buffer = LineBuffer::default().reading(1000);
    let mut filled = 0;
    for _ in 0..100 {
        let rest = filled - buffer.taken();
        let room = buffer.room();
        let count = room.len() as u64;
        assert!(rest + count <= 1000, "{rest} + {count}");
        assert!(count >= 500, "{count}");
        let text = b"nine chars".iter().chain(b" and more\n").cycle();
        room.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        buffer.filled(usize::try_from(count).unwrap());
        filled += count;
        while buffer.next_line().is_some() {}
    }
}

#[test]
fn no_more_can_be_filled_in_than_there_was_room() {
    let mut buffer = LineBuffer::default();
    let room = buffer.room();
    room.fill(b'x');
    let count = room.len();
    buffer.filled(count + 1);
    assert!(matches!(buffer.last_line(), Some(RawLine::Whole(line)) if line.len() == count));
}

/// Bytes in which everything that matters here is frequent.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just("\u{2028}".as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
        (1_usize..2500).prop_map(|count| vec![b'x'; count]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn where_a_line_begins_it_can_be_read_again(bytes in any_bytes(), limit in 1..40_usize) {
        let mut buffer = LineBuffer::with_limit(limit);
        buffer.push(&bytes);
        loop {
            let start = usize::try_from(buffer.taken()).unwrap();
            let find_line = buffer.find_line();
            let line = buffer.next_line().map(own);
            prop_assert_eq!(find_line, line.is_some());
            let Some(line) = line.or_else(|| buffer.last_line().map(own)) else {
                prop_assert_eq!(start, bytes.len());
                break;
            };
            let mut again = if start == 0 { LineBuffer::with_limit(limit) } else { LineBuffer::midway(limit) };
            again.push(&bytes[start..]);
            let same = again.next_line().map(own).or_else(|| again.last_line().map(own));
            prop_assert_eq!(same, Some(line));
        }
    }

    #[test]
    fn any_chunking_gives_the_same_lines(
        bytes in any_bytes(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        limit in prop::sample::select(vec![0_usize, 3, 10, 1024, 1500, 100_000]),
    ) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut start = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            chunks.push(&bytes[start..cut]);
            start = cut;
        }
        let expected = expected(&bytes, limit);
        prop_assert_eq!(&pushed(&chunks, limit), &expected);
        prop_assert_eq!(&filled(&chunks, limit), &expected);
        prop_assert_eq!(&finish(LineBuffer::holding(bytes.clone(), limit), Vec::new()), &expected);
    }
}
