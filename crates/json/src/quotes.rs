//! Where a string ends, sixty-four bytes at a time.
//!
//! Code and the output of tools are full of escapes, one every twenty bytes or so, and stopping at each of them costs more than
//! everything between. So quotes and backslashes are found as bits of a word, and which of them are escaped is arithmetic on that word.
//! `wide` has the registers for it without `unsafe`, on every machine.

use wide::u8x16;

/// How many bytes are looked at together.
const BLOCK: usize = 64;

/// The result of scanning a string from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringScan {
    /// The string ends with the quote here, and all its escapes are sound.
    End(usize),
    /// Up to here nothing is wrong and nothing ends; the rest takes the plain way. No escape is cut in two.
    Unknown(usize),
}

/// Looks for the end of a string that goes on at `at`.
#[inline]
pub(crate) fn find_end(bytes: &[u8], mut at: usize) -> StringScan {
    while let Some(block) = bytes[at..].first_chunk::<BLOCK>() {
        let lanes = BlockLanes::load(block);
        let quotes = lanes.equal(b'"');
        let backslashes = lanes.equal(b'\\');
        let before_quote = quotes.wrapping_sub(1) & !quotes;
        // The common case: nothing is escaped before the first quote, if there is one.
        if backslashes & before_quote == 0 {
            if quotes != 0 {
                return StringScan::End(at + quotes.trailing_zeros() as usize);
            }
            at += BLOCK;
            continue;
        }
        let escaped = escaped_bytes(backslashes);
        let ends = quotes & !escaped;
        let length = match ends {
            // The last byte may be a backslash whose letter is not here yet: it is looked at again.
            0 if escaped_beyond(backslashes, escaped) => BLOCK - 1,
            0 => BLOCK,
            _ => ends.trailing_zeros() as usize,
        };
        let inside = if length == BLOCK {
            u64::MAX
        } else {
            (1 << length) - 1
        };
        // Most escapes are one of these, and two of them were compared already.
        let usual = quotes | backslashes | lanes.equal(b'n') | lanes.equal(b't');
        let unusual = escaped & inside & !usual;
        if unusual != 0 && !are_sound(bytes, at, unusual) {
            return StringScan::Unknown(at);
        }
        at += length;
        if ends != 0 {
            return StringScan::End(at);
        }
    }
    StringScan::Unknown(at)
}

/// True if each of these letters of a block may stand behind a backslash.
fn are_sound(bytes: &[u8], block: usize, mut letters: u64) -> bool {
    while letters != 0 {
        let at = block + letters.trailing_zeros() as usize;
        letters &= letters - 1;
        let is_sound = match bytes[at] {
            b'r' | b'b' | b'f' | b'/' => true,
            b'u' => bytes[at + 1..]
                .first_chunk::<4>()
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            _ => false,
        };
        if !is_sound {
            return false;
        }
    }
    true
}

/// The bytes that stand behind a backslash that counts: one that is not itself behind such a one.
#[inline]
fn escaped_bytes(backslashes: u64) -> u64 {
    const EVENS: u64 = 0x5555_5555_5555_5555;
    // Runs of backslashes: adding carries through a run, and whether it started at an even or an odd place
    // tells, where it ends, whether the byte there is escaped.
    let follows = backslashes << 1;
    let odd_starts = backslashes & !EVENS & !follows;
    let carried = odd_starts.wrapping_add(backslashes);
    let flipped = carried << 1;
    (EVENS ^ flipped) & follows
}

/// True if the last byte of a block is a backslash that counts.
#[inline]
fn escaped_beyond(backslashes: u64, escaped: u64) -> bool {
    (backslashes & !escaped) >> (BLOCK - 1) == 1
}

/// A block, as four registers.
#[derive(Clone, Copy)]
struct BlockLanes([u8x16; 4]);

impl BlockLanes {
    #[inline]
    fn load(block: &[u8; BLOCK]) -> Self {
        let (lanes, _) = block.as_chunks::<16>();
        Self(std::array::from_fn(|lane| u8x16::new(lanes[lane])))
    }

    /// A bit for each byte that equals `byte`.
    #[inline]
    fn equal(self, byte: u8) -> u64 {
        let wanted = u8x16::splat(byte);
        self.bits(|lane| lane.simd_eq(wanted))
    }

    #[inline]
    fn bits(self, test: impl Fn(u8x16) -> u8x16) -> u64 {
        let mask = |lane: usize| u64::from(test(self.0[lane]).to_bitmask());
        mask(0) | mask(1) << 16 | mask(2) << 32 | mask(3) << 48
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte.
    fn plain(bits: u64) -> u64 {
        let mut escaped = 0;
        let mut at = 0;
        while at < BLOCK {
            if bits >> at & 1 == 1 {
                escaped |= 1_u64
                    .checked_shl(u32::try_from(at).unwrap() + 1)
                    .unwrap_or(0);
                at += 1;
            }
            at += 1;
        }
        escaped
    }

    proptest::proptest! {
        #[test]
        fn a_byte_is_escaped_behind_a_backslash_that_counts(bits: u64, more: u64) {
            // Runs of backslashes are what is hard.
            for bits in [bits, bits & more, bits | more, !0, bits << 60, bits >> 60] {
                proptest::prop_assert_eq!(escaped_bytes(bits), plain(bits), "{:b}", bits);
                let last = bits >> 63 & 1 == 1 && plain(bits) >> 63 & 1 == 0;
                proptest::prop_assert_eq!(escaped_beyond(bits, escaped_bytes(bits)), last);
            }
        }
    }
}
