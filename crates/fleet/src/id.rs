//! Names of tickets, runs and workers. They are minted where they are needed, without the store.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use ring::rand::{SecureRandom as _, SystemRandom};

/// The alphabet of ids: no letter that reads as a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters of an id: nine of the time in milliseconds, so that ids sort by age, and eleven random ones.
const ID_LENGTH: usize = 20;

/// Of them those of the time.
const TIME_LENGTH: usize = 9;

/// The fencing number of a ticket. It grows by one with each claim, and never goes back.
pub type Term = i64;

/// The name of a ticket, such as `1hc8k3x9e2r7m4qz6t0w`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TicketId(String);

/// The name of a worker process. Each start has a new one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(String);

/// The id of an attempt's run: `<ticket>-<term>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(String);

/// A text that is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the id of a ticket")]
pub struct IdError {
    /// The text.
    pub text: String,
}

/// A random text that makes a request recognisable when it is repeated.
pub fn fresh_nonce() -> String {
    fresh_id()
}

fn fresh_id() -> String {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let mut time = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let mut id = [0u8; ID_LENGTH];
    let (head, tail) = id.split_at_mut(TIME_LENGTH);
    for place in head.iter_mut().rev() {
        *place = letter(time);
        time >>= 5;
    }
    let filled = SystemRandom::new().fill(tail);
    filled.expect("the system has random bytes");
    for place in tail {
        *place = letter(u64::from(*place));
    }
    id.iter().map(|&byte| char::from(byte)).collect()
}

/// A text that sorts before all ids that are minted from this time on, in milliseconds since 1970.
pub(crate) fn first_id_since(milliseconds: i64) -> String {
    let time = u64::try_from(milliseconds).unwrap_or(0);
    let places = (0..TIME_LENGTH).rev();
    let letters = places.map(|place| letter(time >> (5 * place)));
    letters.map(char::from).collect()
}

fn letter(value: u64) -> u8 {
    let place = usize::try_from(value & 31).unwrap_or(0);
    ALPHABET[place]
}

fn check(text: &str) -> Result<(), IdError> {
    let known = text.len() == ID_LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte));
    let error = || IdError {
        text: text.chars().take(60).collect(),
    };
    known.then_some(()).ok_or_else(error)
}

impl TicketId {
    /// A new one.
    pub fn fresh() -> Self {
        Self(fresh_id())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TicketId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        check(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl WorkerId {
    /// A new one.
    pub fn fresh() -> Self {
        Self(fresh_id())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_stored(text: String) -> Self {
        Self(text)
    }
}

impl RunId {
    /// The run of a ticket's attempt under this term.
    pub fn new(ticket: &TicketId, term: Term) -> Self {
        Self(format!("{ticket}-{term}"))
    }

    /// The ticket and the term of a run.
    pub fn parse(text: &str) -> Result<(TicketId, Term), IdError> {
        let error = || IdError {
            text: text.chars().take(60).collect(),
        };
        let (ticket, term) = text.rsplit_once('-').ok_or_else(error)?;
        let term = term.parse().ok().filter(|term: &Term| *term > 0);
        Ok((ticket.parse()?, term.ok_or_else(error)?))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_names_its_run() {
        let ticket = TicketId::fresh();
        assert_eq!(ticket.as_str().parse(), Ok(ticket.clone()));
        let run = RunId::new(&ticket, 7);
        assert_eq!(RunId::parse(run.as_str()), Ok((ticket, 7)));
    }

    #[test]
    fn ids_sort_behind_the_text_of_an_earlier_time() {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
        let now = i64::try_from(now).unwrap();
        let id = TicketId::fresh();
        assert!(*first_id_since(now - 1000) < *id.as_str(), "{id}");
        assert!(*first_id_since(now + 60_000) > *id.as_str(), "{id}");
    }

    #[test]
    fn a_text_that_is_no_id_is_refused() {
        for text in [
            "",
            "t1",
            "IIIIIIIIIIIIIIIIIIII",
            "1hc8k3x9e2r7m4qz6t0w1",
            "../../etc/passwd/etc",
        ] {
            assert!(text.parse::<TicketId>().is_err(), "{text}");
        }
        for text in [
            "1hc8k3x9e2r7m4qz6t0w",
            "1hc8k3x9e2r7m4qz6t0w-0",
            "1hc8k3x9e2r7m4qz6t0w-x",
        ] {
            assert!(RunId::parse(text).is_err(), "{text}");
        }
    }
}
