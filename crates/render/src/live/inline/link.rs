//! Links: `[words](target)` and `<https://…>`.

use std::collections::HashMap;
use std::ops::Range;

/// The result of reading an opening bracket.
pub(super) enum LinkStart {
    Whole(LinkParts),
    /// It may become a link.
    Unfinished,
    None,
}

/// A link's parts.
#[derive(Debug)]
pub(in super::super) struct LinkParts {
    pub(super) whole: Range<usize>,
    pub(super) text: Range<usize>,
    pub(super) target: Range<usize>,
}

/// Where each opening bracket, square or round, is closed.
pub(super) fn bracket_pairs(source: &str) -> HashMap<usize, usize> {
    let mut closed = HashMap::new();
    let (mut square, mut round) = (Vec::new(), Vec::new());
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            b'[' => square.push(at),
            b'(' => round.push(at),
            b']' => closed.extend(square.pop().map(|open| (open, at))),
            b')' => closed.extend(round.pop().map(|open| (open, at))),
            _ => {}
        }
    }
    closed
}

/// The link that begins with the bracket at `open`.
pub(super) fn link_at(source: &str, open: usize, brackets: &HashMap<usize, usize>) -> LinkStart {
    let Some(&close) = brackets.get(&open) else {
        return LinkStart::Unfinished;
    };
    match source.as_bytes().get(close + 1) {
        None => return LinkStart::Unfinished,
        Some(b'(') => {}
        Some(_) => return LinkStart::None,
    }
    let Some(&end) = brackets.get(&(close + 1)) else {
        return LinkStart::Unfinished;
    };
    if open + 1 == close || close + 2 == end {
        return LinkStart::None;
    }
    LinkStart::Whole(LinkParts {
        whole: open..end + 1,
        text: open + 1..close,
        target: close + 2..end,
    })
}

/// How long the address in angle brackets is, brackets included, if the text begins with one.
pub(super) fn address_length(text: &str) -> Option<usize> {
    let is_address = ["<https://", "<http://", "<mailto:"]
        .iter()
        .any(|start| text.starts_with(start));
    let end = text
        .find(|c: char| c == '>' || c.is_whitespace())
        .filter(|_| is_address)?;
    text[end..].starts_with('>').then_some(end + 1)
}
