//! A session without its secrets: keys, tokens, passwords, and the name of the home directory's owner.
//!
//! The file's JSON strings are looked through, keys included, and written back with a placeholder where a secret stood; everything else
//! stays byte for byte. So the result is a session file of the same format, and every export can be made from it. The same secret always
//! gets the same placeholder (`[redacted:github-token-1]`), so that a reader can follow it.
//!
//! Not recognised: secrets inside Base64 (images, archives) or any other encoding than JSON's own, and secrets that neither look like
//! one nor stand behind a name that says so. Where a secret was recognised once, it is removed wherever else it stands.
//!
//! ```
//! use lapidary_sessions::redact::{Redactor, SessionOwner};
//!
//! let file = br#"{"id":"1","type":"user","content":"use ghp_0123456789abcdefghijABCDEFGHIJ012345 in /home/ada/work"}"#;
//! let mut redacted = Vec::new();
//! let report = Redactor::new(&SessionOwner::default()).file(file, &mut redacted).unwrap();
//! let text = String::from_utf8(redacted).unwrap();
//! assert!(text.contains("use [redacted:github-token-1] in ~/work"));
//! assert_eq!(report.findings[0].sample, "ghp_…45");
//! ```

mod assigned_secrets;
mod issuer_patterns;
mod lazy_pattern;
mod message_places;
mod paths;
mod report;
mod secret_tally;
mod strings;
mod value;
mod value_verdict;
mod variables;

pub use report::{RedactedSecret, RedactionReport, SecretKind};

use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use message_places::MessagePlaces;
use secret_tally::SecretTally;
use strings::{StringPiece, string_pieces};

/// The owner of a session, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct SessionOwner {
    /// The home directory. Those of others are recognised by where they are (`/home/…`, `/Users/…`, `C:\Users\…`).
    pub home: Option<PathBuf>,
}

/// Finds secrets and takes them out.
#[derive(Debug)]
pub struct Redactor {
    known: issuer_patterns::PatternDetector,
    assigned: assigned_secrets::AssignedDetector,
    variables: variables::VariableDetector,
    paths: paths::HomeDetector,
}

/// The shortest secret, in bytes. Most text between strings is shorter.
const SHORTEST: usize = 4;

/// A secret in a text: its place and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretHit {
    range: Range<usize>,
    kind: SecretKind,
}

impl Redactor {
    /// A redactor for sessions of that person.
    pub fn new(whose: &SessionOwner) -> Self {
        Self {
            known: issuer_patterns::PatternDetector::new(),
            assigned: assigned_secrets::AssignedDetector::new(),
            variables: variables::VariableDetector::new(),
            paths: paths::HomeDetector::new(whose.home.as_deref()),
        }
    }

    /// Reports the secrets that would be removed, without writing.
    pub fn look(&self, file: &[u8]) -> RedactionReport {
        self.file(file, &mut io::sink()).unwrap_or_default()
    }

    /// Writes the file without its secrets. The file is read twice and held once; the output is written piece by piece and never
    /// held whole.
    pub fn file(&self, file: &[u8], out: &mut impl Write) -> io::Result<RedactionReport> {
        let places = MessagePlaces::find_messages(file);
        let mut tally = self.survey_secrets(file);
        let again = tally.repeated_secrets();
        for piece in string_pieces(file) {
            let text = piece.decoded_text();
            let mut hits = self.secret_hits(&piece, &text);
            hits.extend(again.repeated_hits(&text));
            hits.extend(paths::slug_hits(&text, tally.owner_names()));
            let message = places.message_at(piece.start());
            let instead =
                |hit: &SecretHit| tally.count_secret(hit.kind, &text[hit.range.clone()], message);
            piece.write_redacted(&in_order(hits), instead, out)?;
        }
        Ok(tally.into_report())
    }

    /// Finds every secret, so that those can be recognised that stand where nothing gives them away.
    fn survey_secrets(&self, file: &[u8]) -> SecretTally {
        let mut tally = SecretTally::default();
        for piece in string_pieces(file) {
            let text = piece.decoded_text();
            for hit in in_order(self.secret_hits(&piece, &text)) {
                tally.find_or_add(hit.kind, &text[hit.range]);
            }
        }
        tally
    }

    fn secret_hits(&self, piece: &StringPiece<'_>, text: &[u8]) -> Vec<SecretHit> {
        if text.len() < SHORTEST {
            return Vec::new();
        }
        let mut hits = self.known.pattern_hits(text);
        hits.extend(self.assigned.assigned_hits(text));
        hits.extend(self.variables.all_hits(text));
        hits.extend(
            piece
                .member_key()
                .and_then(|key| self.assigned.member_hit(&key, text)),
        );
        hits.extend(self.paths.home_hits(text));
        hits
    }
}

/// In order, and none within another: two that overlap become one, of the kind that begins first.
fn in_order(mut hits: Vec<SecretHit>) -> Vec<SecretHit> {
    hits.sort_by_key(|hit| (hit.range.start, hit.kind));
    let mut apart: Vec<SecretHit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match apart.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => apart.push(hit),
        }
    }
    apart
}
