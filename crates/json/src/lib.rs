//! JSON kept as it came.
//!
//! Agents write JSON, we write JSON, and most of what passes through is never looked at: a tool's output, a delta of text, a
//! number with nineteen digits. Decoding and encoding it again costs time and loses things (`1.10`, a lone surrogate, a
//! duplicate key). So this crate finds out *where* the values of a line lie and whether the line is valid, and leaves the text
//! alone:
//!
//! * [`Token`]: one valid JSON value, borrowed from the text it stands in;
//! * [`Token::parse`] and [`scan_object`]: one pass over a line, validating it and handing out its members;
//! * [`SharedToken`]: a token in a reference-counted text, for values that outlive the line's buffer;
//! * [`JoinedString`]: strings that came in pieces, put together.
//!
//! It knows no agent and none of our own names, which is why both `wire` and `vocab` may use it without knowing each other.

mod compact;
mod joined;
mod quotes;
mod scan;
mod shared;
mod string;
mod token;

pub use compact::compact;
pub use joined::JoinedString;
pub use scan::{
    InvalidJson, ScanError, needs_escape, scan_object, scan_object_and_list, scan_prefix,
    scan_template,
};
pub use shared::SharedToken;
pub use token::{ArrayElements, ObjectMembers, Token, TokenKind};
