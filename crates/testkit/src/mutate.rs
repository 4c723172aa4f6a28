//! Unlikely inputs: made from real ones, the same for the same seed.

/// Numbers that look random and are not (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

impl SeededRng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers that depend on nothing but `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // FNV-1a: any hash would do, as long as it stays the same.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number, below `limit`; 0 if the limit is.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = limit.max(1) as u64;
        usize::try_from(self.next_u64() % limit).unwrap_or_default()
    }

    /// One of the items, of which there must be some.
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// The input of a seed: one from the corpus, changed in up to eight ways.
///
/// Inputs stay small, because small ones find as much and are read sooner: a large one is cut to a few of its lines first.
pub fn case(seed: u64, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut rng = SeededRng::new(seed);
    let mut bytes = some_lines(&mut rng, corpus);
    for _ in 0..=rng.below(8) {
        let other = some_lines(&mut rng, corpus);
        change_bytes(&mut rng, &mut bytes, &other);
    }
    bytes.truncate(LARGEST);
    bytes
}

/// Inputs are cut here.
const LARGEST: usize = 16 * 1024;

/// How many lines of a corpus file an input begins with at most.
const MOST_LINES: usize = 6;

fn some_lines(rng: &mut SeededRng, corpus: &[Vec<u8>]) -> Vec<u8> {
    if corpus.is_empty() {
        return Vec::new();
    }
    let file = rng.pick(corpus);
    let lines: Vec<_> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let first = rng.below(lines.len());
    let count = 1 + rng.below(MOST_LINES);
    let mut bytes = lines[first.min(lines.len())..]
        .iter()
        .take(count)
        .copied()
        .collect::<Vec<_>>()
        .concat();
    bytes.truncate(LARGEST);
    bytes
}

fn change_bytes(rng: &mut SeededRng, bytes: &mut Vec<u8>, other: &[u8]) {
    match rng.below(9) {
        0 => flip_bit(rng, bytes),
        1 => bytes.truncate(rng.below(bytes.len() + 1)),
        2 => splice_piece(rng, bytes, other),
        3 => replace_value(rng, bytes),
        4 => repeat_member(rng, bytes),
        5 => {
            let nested = nested_brackets(rng);
            insert(rng, bytes, &nested);
        }
        6 => {
            let odd = *rng.pick(ODD_BYTES);
            insert(rng, bytes, odd);
        }
        7 => replace_value_with_value(rng, bytes, other),
        _ => remove_piece(rng, bytes),
    }
}

/// Values that a reader may choke on.
const ODD_VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1e400",
    "-1E-400",
    "9007199254740993",
    "18446744073709551616",
    "-9223372036854775809",
    "0.1000000000000000055511151231257827021181583404541015625",
    "99999999999999999999999999999999999999999999999999999999999999999999",
    "\"\"",
    "\" \"",
    "[]",
    "{}",
    "[null]",
    "[\"\",{},[[]]]",
    "{\"\":{\"\":null}}",
    "\"\\ud83d\"",
    "\"\\ude00\\ud83d\"",
    "\"\\u0000\\u001b[31m\\u009b2J\\u007f\"",
    "\"\\u202e\\u2066reversed\"",
    "\"\\r\\n\\t\\b\\f\\/\\\\\\\"\"",
    "\"\u{2028}\u{2029}\u{feff}\u{85}\"",
    "\"```\\n</script><img src=x onerror=alert(1)>\\n~~~~\"",
    "\"--- a\\n+++ b\\n@@ -1 +1 @@\\n-x\\n+y\\n\"",
    "\"2026-11-15T18:15:22.327Z\"",
    "\"9999-99-99T99:99:99Z\"",
    "\"-262143-01-01T00:00:00Z\"",
    "\"assistant\"",
    "\"user\"",
    "\"gemini\"",
    "\"error\"",
    "\"tool_use\"",
    "\"tool_result\"",
    "\"result\"",
    "\"success\"",
    "\"write_file\"",
    "\"replace\"",
    "\"run_shell_command\"",
    "{\"functionCall\":{\"name\":\"glob\",\"args\":{}}}",
    "[{\"functionResponse\":{\"response\":{\"error\":\"no\"}}}]",
    "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"AA==\"}}",
    "{\"fileDiff\":\"@@ -1 +1 @@\\n-a\\n+b\",\"fileName\":\"a\"}",
    "{\"messages\":[{\"id\":\"a\"},{},7]}",
    "1.",
    "01",
    "+1",
    "nul",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\t\"",
    "{,}",
    "[1,]",
    "{\"a\" 1}",
];

/// Bytes that a reader may choke on at any place.
const ODD_BYTES: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b" ",
    b"\t",
    b"\0",
    b"\x0b\x0c",
    b"\x1b[2J\x1b]0;title\x07",
    b"\xc2\x9b31m",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud83d",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"warning: something happened\n",
    b"[ERROR] ",
    b"{\"$rewindTo\":\"nowhere\"}\n",
    b"{\"$set\":{\"messages\":[]}}\n",
    b"{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n",
];

/// Keys that our readers know.
const KEYS: &[&str] = &[
    "type",
    "timestamp",
    "role",
    "content",
    "delta",
    "tool_id",
    "tool_name",
    "parameters",
    "status",
    "output",
    "error",
    "stats",
    "models",
    "session_id",
    "message",
    "severity",
    "id",
    "messages",
    "toolCalls",
    "thoughts",
    "tokens",
    "result",
    "resultDisplay",
    "args",
    "file_path",
    "typ\\u0065",
    "event",
    "seq",
    "raw",
    "",
];

fn flip_bit(rng: &mut SeededRng, bytes: &mut [u8]) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << rng.below(8);
        }
    }
}

fn insert(rng: &mut SeededRng, bytes: &mut Vec<u8>, what: &[u8]) {
    let at = rng.below(bytes.len() + 1);
    bytes.splice(at..at, what.iter().copied());
}

fn remove_piece(rng: &mut SeededRng, bytes: &mut Vec<u8>) {
    let from = rng.below(bytes.len() + 1);
    let to = from + rng.below(bytes.len() - from + 1).min(64);
    bytes.drain(from..to);
}

/// Puts a piece of another input in the place of a piece of this one.
fn splice_piece(rng: &mut SeededRng, bytes: &mut Vec<u8>, other: &[u8]) {
    let from = rng.below(other.len() + 1);
    let piece = &other[from..from + rng.below(other.len() - from + 1)];
    let start = rng.below(bytes.len() + 1);
    let end = start + rng.below(bytes.len() - start + 1);
    bytes.splice(start..end, piece.iter().copied());
}

fn replace_value(rng: &mut SeededRng, bytes: &mut Vec<u8>) {
    if let Some(value) = some_value(rng, bytes) {
        let odd = rng.pick(ODD_VALUES).bytes();
        bytes.splice(value, odd);
    }
}

fn replace_value_with_value(rng: &mut SeededRng, bytes: &mut Vec<u8>, other: &[u8]) {
    if let (Some(ours), Some(theirs)) = (some_value(rng, bytes), some_value(rng, other)) {
        bytes.splice(ours, other[theirs].iter().copied());
    }
}

/// Puts a member in front of the others of some object, where its key may stand already.
fn repeat_member(rng: &mut SeededRng, bytes: &mut Vec<u8>) {
    let objects: Vec<_> = byte_places(bytes, b'{');
    if objects.is_empty() {
        return;
    }
    let at = rng.pick(&objects) + 1;
    let (key, value) = (*rng.pick(KEYS), *rng.pick(ODD_VALUES));
    bytes.splice(at..at, format!("\"{key}\":{value},").into_bytes());
}

/// Arrays or objects within each other, deeper than a recursive reader likes; not all of them are closed again.
fn nested_brackets(rng: &mut SeededRng) -> Vec<u8> {
    let depth = 1 + rng.below(600);
    let (open, close) = *rng.pick(&[("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[", "]}]")]);
    let closed = if rng.below(4) == 0 {
        rng.below(depth)
    } else {
        depth
    };
    format!("{}1{}", open.repeat(depth), close.repeat(closed)).into_bytes()
}

/// The range of some value: from a colon up to the end of a string or to the next separator. A guess is enough.
fn some_value(rng: &mut SeededRng, bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let colons = byte_places(bytes, b':');
    if colons.is_empty() {
        return None;
    }
    let start = rng.pick(&colons) + 1;
    let rest = &bytes[start..];
    let length = if rest.first() == Some(&b'"') {
        let mut escaped = false;
        let end = rest[1..].iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        end.map_or(rest.len(), |end| end + 2)
    } else {
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']' | b'\n'));
        end.unwrap_or(rest.len())
    };
    Some(start..start + length)
}

fn byte_places(bytes: &[u8], wanted: u8) -> Vec<usize> {
    let found = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == wanted);
    found.map(|(place, _)| place).collect()
}
