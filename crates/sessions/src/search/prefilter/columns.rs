//! Blocks of a file's bytes, side by side with the blocks that begin a few bytes later. Bytes at the same place are compared in
//! vector instructions, which compilers make of these loops where the caller has the widest registers.

use super::super::needle::{BLOCK, Needle, RARE};
use super::ID;

/// The blocks that begin at one place in the bytes, and those behind them.
type ByteColumn<'b> = &'b [[u8; BLOCK]];

/// The blocks that are compared with each other. All columns are of the same length.
#[derive(Debug)]
pub(super) struct ByteColumns<'b> {
    /// The bytes of an escape: a backslash, `u`, and three of its digits.
    pub(super) escape: [ByteColumn<'b>; 5],
    /// Two letters in a row of the key of an id, which are rare.
    key: [ByteColumn<'b>; 2],
    /// The rarest bytes of the needle.
    rare: [(ByteColumn<'b>, u8); RARE],
}

/// Marks of the contents that a block may have.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is found in the same loop, and each may be alone"
)]
pub(super) struct BlockMarks {
    pub(super) may_match: bool,
    pub(super) may_be_escaped: bool,
    pub(super) may_be_id: bool,
    /// A byte is no ASCII.
    pub(super) is_other: bool,
}

#[expect(
    clippy::inline_always,
    reason = "only then the widest registers are used"
)]
impl<'b> ByteColumns<'b> {
    #[inline(always)]
    pub(super) fn new(bytes: &'b [u8], needed: &Needle) -> Self {
        let starts = (bytes.len() + 1).saturating_sub(ID.len().max(needed.len()));
        let column = |place: usize| {
            let bytes = bytes.get(place..place + starts).unwrap_or_default();
            bytes.as_chunks::<BLOCK>().0
        };
        Self {
            escape: std::array::from_fn(column),
            key: [column(7), column(8)],
            rare: needed.rarest_bytes().map(|(at, byte)| (column(at), byte)),
        }
    }

    /// The next block from there on with a mark. This is a loop of its own: the work on such a block would take its registers
    /// away.
    #[inline(always)]
    pub(super) fn next_marked(&self, from: usize) -> Option<(usize, BlockMarks)> {
        self.next_with_marks::<true>(from)
    }

    /// The same without the keys of ids, which stand in every record of some agents.
    #[inline(always)]
    pub(super) fn next_marked_text(&self, from: usize) -> Option<(usize, BlockMarks)> {
        self.next_with_marks::<false>(from)
    }

    #[inline(always)]
    fn next_with_marks<const IDS: bool>(&self, from: usize) -> Option<(usize, BlockMarks)> {
        let [backslashes, letters, ..] = self.escape;
        let count = backslashes.len();
        let [small, capital] = self.key;
        let [(ones, one), (others, other), ..] = self.rare;
        // Told here once, so that no place is checked below.
        let (letters, small, capital) = (&letters[..count], &small[..count], &capital[..count]);
        let (ones, others) = (&ones[..count], &others[..count]);
        for place in from..count {
            let (backslashes, letters) = (&backslashes[place], &letters[place]);
            let (small, capital) = (&small[place], &capital[place]);
            let (ones, others) = (&ones[place], &others[place]);
            let (mut may_be_escaped, mut may_be_id, mut may_match) = (0u8, 0u8, 0u8);
            for at in 0..BLOCK {
                may_be_escaped |= u8::from((backslashes[at] ^ b'\\') | (letters[at] ^ b'u') == 0);
                if IDS {
                    may_be_id |= u8::from((small[at] ^ ID[7]) | (capital[at] ^ ID[8]) == 0);
                }
                // Small letters; other bytes that this makes equal are rejected later.
                let differs = ((ones[at] | 0x20) ^ one) | ((others[at] | 0x20) ^ other);
                may_match |= u8::from(differs == 0);
            }
            let is_other = contains_high_byte(backslashes);
            if may_be_escaped | may_be_id | may_match != 0 || is_other {
                let marks = BlockMarks {
                    may_match: may_match != 0,
                    may_be_escaped: may_be_escaped != 0,
                    may_be_id: may_be_id != 0,
                    is_other,
                };
                return Some((place, marks));
            }
        }
        None
    }

    /// True if all the rare bytes, in either case, stand where they would in this block.
    #[inline(always)]
    pub(super) fn may_begin(&self, place: usize) -> bool {
        let [(one, first), (two, second), (three, third), (four, fourth)] = self.rare;
        let (one, two) = (&one[place], &two[place]);
        let (three, four) = (&three[place], &four[place]);
        let mut may_be = 0u8;
        for at in 0..BLOCK {
            let differs = ((one[at] | 0x20) ^ first) | ((two[at] | 0x20) ^ second);
            let differs = differs | ((three[at] | 0x20) ^ third) | ((four[at] | 0x20) ^ fourth);
            may_be |= u8::from(differs == 0);
        }
        may_be != 0
    }

    /// False if this block escapes only control characters and ASCII signs before the digits (`\u00`, then `0` to `2`), or
    /// nothing, as in `C:\\users`.
    #[inline(always)]
    pub(super) fn may_be_letter(&self, place: usize) -> bool {
        let [backslashes, letters, first, second, third] = &self.escape;
        let (backslashes, letters) = (&backslashes[place], &letters[place]);
        let (first, second, third) = (&first[place], &second[place], &third[place]);
        let mut may_be = 0u8;
        for at in 0..BLOCK {
            let is_no_escape = (backslashes[at] ^ b'\\') | (letters[at] ^ b'u');
            let is_digit = u8::from(first[at].wrapping_sub(b'0') < 10)
                | u8::from((first[at] | 0x20).wrapping_sub(b'a') < 6);
            let is_high = (first[at] ^ b'0') | (second[at] ^ b'0');
            let is_more = u8::from(third[at].wrapping_sub(b'0') > 2);
            may_be |= u8::from(is_no_escape == 0) & is_digit & u8::from((is_high | is_more) != 0);
        }
        may_be != 0
    }
}

/// True if a byte is no ASCII. By words: bytes would be joined one by one in the end.
#[expect(
    clippy::inline_always,
    reason = "only then the widest registers are used"
)]
#[inline(always)]
fn contains_high_byte(block: &[u8; BLOCK]) -> bool {
    let (words, _) = block.as_chunks::<8>();
    let all = words
        .iter()
        .fold(0, |all, word| all | u64::from_ne_bytes(*word));
    all & 0x8080_8080_8080_8080 != 0
}
