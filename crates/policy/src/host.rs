//! Hosts as addresses name them, and patterns over hosts.
//!
//! Programs disagree about odd addresses (`https:\\a`, `https://a\@b`, `http://0x7f.1`, `http://ｅvil.com`). Such an address has no
//! host that can be relied on: it is unclear.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::glob;

/// Schemes whose addresses have a host, and its usual port.
const SCHEMES: [(&str, u16); 5] = [
    ("http", 80),
    ("https", 443),
    ("ws", 80),
    ("wss", 443),
    ("ftp", 21),
];

/// Where the host of an address ends.
const BEHIND: [char; 3] = ['/', '?', '#'];

/// A host that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallHost {
    /// In small letters; an address of IPv6 in brackets.
    pub name: String,
    /// The port, as far as the address or its scheme says it.
    pub port: Option<u16>,
}

/// A pattern over hosts, such as `docs.rs`, `*.example.com` or `localhost:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    name: String,
    port: Option<u16>,
}

/// A text that is no pattern over hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPatternError;

impl HostPatternError {
    /// An accepted form.
    pub fn accepted(self) -> &'static str {
        "a host such as `docs.rs`, `*.example.com` or `localhost:8080`: in ASCII, without scheme and path"
    }
}

impl HostPattern {
    /// A pattern as a user writes it: `*` is any text, `?` any letter, and without a port every port is meant.
    pub fn parse(pattern: &str) -> Result<Self, HostPatternError> {
        let (name, port) = split_port(pattern.trim()).ok_or(HostPatternError)?;
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.*?".contains(letter);
        let is_name = !name.is_empty() && name.chars().all(is_fit);
        match address_in_brackets(&name) {
            Some(name) => Ok(Self { name, port }),
            None if is_name => Ok(Self { name, port }),
            None => Err(HostPatternError),
        }
    }

    /// True if this very host is meant.
    pub(super) fn covers_host(&self, host: &CallHost) -> bool {
        self.touches_host(host) && (self.port.is_none() || host.port.is_some())
    }

    /// True if this host may be meant: its port may be unknown.
    pub(super) fn touches_host(&self, host: &CallHost) -> bool {
        let is_port = self.port.is_none() || host.port.is_none() || self.port == host.port;
        is_port && glob::wildcard_matches(&self.name, &host.name)
    }
}

/// The host of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AddressHost {
    /// It is this one.
    Known(CallHost),
    /// It has one, and programs may disagree about it.
    Unclear,
    /// It has none.
    None,
}

/// The host of an address: of `https://a.b/c`, or of `a.b/c` as people write it.
pub(super) fn host_of(address: &str) -> AddressHost {
    let address = address.trim();
    let Some((scheme, rest)) = split_scheme(address) else {
        let bare = host_like(address.strip_prefix("//").unwrap_or(address));
        return bare.map_or(AddressHost::None, AddressHost::Known);
    };
    let scheme = scheme.to_ascii_lowercase();
    let usual = SCHEMES.iter().find(|(known, _)| *known == scheme);
    match (usual, rest.strip_prefix("//")) {
        _ if scheme == "file" => AddressHost::None,
        (usual, Some(rest)) => of_authority(rest, usual.map(|(_, port)| *port)),
        (Some(_), None) if rest.is_empty() => AddressHost::None, // a word of a text: `http:`
        (Some(_), None) => AddressHost::Unclear,                 // some read `https:a.b`
        (None, None) => {
            let bare = host_like(address); // `localhost:8080`
            bare.map_or(AddressHost::None, AddressHost::Known)
        }
    }
}

/// The host at the beginning of the text after `//`.
fn of_authority(rest: &str, usual_port: Option<u16>) -> AddressHost {
    let authority = rest.split(BEHIND).next().unwrap_or_default();
    let is_odd = |letter: char| letter == '\\' || letter.is_whitespace() || letter.is_control();
    let parts: Vec<_> = authority.split('@').collect();
    let host = match parts.as_slice() {
        _ if authority.contains(is_odd) => None,
        [host] | [_, host] => CallHost::parse(host, usual_port),
        _ => None,
    };
    host.map_or(AddressHost::Unclear, AddressHost::Known)
}

impl CallHost {
    fn parse(text: &str, usual_port: Option<u16>) -> Option<Self> {
        let (name, port) = split_port(text)?;
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_known = is_name(&name) || name.parse::<Ipv4Addr>().is_ok();
        let name = address_in_brackets(&name).or_else(|| is_known.then_some(name))?;
        Some(Self {
            name,
            port: port.or(usual_port),
        })
    }
}

/// A name whose last part is no number: those are addresses of IPv4, which programs write and read in many ways.
fn is_name(name: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_fit);
    let last = name.rsplit('.').next().unwrap_or_default();
    name.split('.').all(is_part) && !last.starts_with(|letter: char| letter.is_ascii_digit())
}

/// A word without a scheme that looks like a host: `docs.rs`, `user@docs.rs:path`, `127.0.0.1:80`, `localhost`.
pub(super) fn host_like(word: &str) -> Option<CallHost> {
    let word = word.split(BEHIND).next().unwrap_or_default();
    let word = word.rsplit('@').next().unwrap_or_default();
    let is_bracketed = word.starts_with('[');
    let name = word.split(':').next().unwrap_or_default();
    let host = CallHost::parse(word, None).or_else(|| CallHost::parse(name, None))?;
    let last = host.name.rsplit_once('.').map(|(_, last)| last);
    let is_domain = |last: &str| last.len() > 1 && last.chars().all(|it| it.is_ascii_alphabetic());
    let is_address = host.name.parse::<Ipv4Addr>().is_ok() || is_bracketed;
    let is_host = is_address || host.name == "localhost" || last.is_some_and(is_domain);
    is_host.then_some(host)
}

/// `[::1]`, as every program would write it.
fn address_in_brackets(name: &str) -> Option<String> {
    let inner = name.strip_prefix('[')?.strip_suffix(']')?;
    let address: Ipv6Addr = inner.parse().ok()?;
    Some(format!("[{address}]"))
}

/// The name and the port behind it, if one is there. None if it is no port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let end = text.rfind(']').map_or(0, |end| end + 1);
    match text[end..].split_once(':') {
        None => Some((text, None)),
        Some((_, "")) => Some((text.strip_suffix(':')?, None)),
        Some((name, port)) => Some((&text[..end + name.len()], Some(port.parse().ok()?))),
    }
}

fn split_scheme(address: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = address.split_once(':')?;
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (is_scheme && scheme.chars().all(is_fit)).then_some((scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        let found = match host_of(address) {
            AddressHost::Known(CallHost { name, port }) => {
                let port = port.map(|port| format!(":{port}"));
                name + &port.unwrap_or_default()
            }
            AddressHost::Unclear => "unclear".to_owned(),
            AddressHost::None => "none".to_owned(),
        };
        assert_eq!(found, expected, "{address}");
    }

    #[test]
    fn the_host_of_an_address_is_known_or_it_is_unclear() {
        check("https://docs.rs/serde?q=https://evil.com", "docs.rs:443");
        check("HTTP://Docs.RS.:8080#x", "docs.rs:8080");
        check("https://docs.rs@evil.com/", "evil.com:443");
        check("https://docs.rs:443@evil.com:1/", "evil.com:1");
        check("https://docs.rs/@evil.com", "docs.rs:443");
        check("http://[0:0::1]:80/", "[::1]:80");
        check("http://127.0.0.1/", "127.0.0.1:80");
        check("ssh://git@host/x", "host");
        check("docs.rs/serde", "docs.rs");
        check("localhost:8080/x", "localhost:8080");
        check("git@github.com:me/it.git", "github.com");
        for odd in [
            "https:\\\\evil.com",
            "https:evil.com",
            "https:/evil.com",
            "https:///evil.com",
            "https://docs.rs\\@evil.com",
            "https://a@docs.rs@evil.com",
            "https://ev%69l.com",
            "https://\u{ff45}vil.com",
            "https://e\tvil.com",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "https://docs.rs:x/",
            "https://",
        ] {
            check(odd, "unclear");
        }
        for none in ["file:///etc/passwd", "src/main.rs", "mailto:x", "", "1.2.3"] {
            check(none, "none");
        }
    }

    #[track_caller]
    fn check_pattern(pattern: &str, yes: &[&str], no: &[&str]) {
        let parsed = HostPattern::parse(pattern).unwrap();
        let covers = |address: &str| match host_of(address) {
            AddressHost::Known(host) => parsed.covers_host(&host),
            other => panic!("{address}: {other:?}"),
        };
        for address in yes {
            assert!(covers(address), "{pattern} {address}");
        }
        for address in no {
            assert!(!covers(address), "{pattern} {address}");
        }
    }

    #[test]
    fn a_pattern_is_over_names_and_its_port_counts_if_it_has_one() {
        check_pattern(
            "Docs.rs",
            &["https://docs.rs", "http://DOCS.RS:8080"],
            &["https://docs.rs.evil.com", "https://evildocs.rs"],
        );
        check_pattern(
            "*.example.com",
            &["https://a.example.com", "https://a.b.example.com"],
            &["https://example.com", "https://aexample.com"],
        );
        check_pattern(
            "localhost:8080",
            &["http://localhost:8080/"],
            &["http://localhost/", "localhost"],
        );
        check_pattern("docs.rs:443", &["https://docs.rs"], &["http://docs.rs"]);
        check_pattern("[::1]", &["http://[0::1]:3/"], &["http://[::2]/"]);
        for wrong in ["", "https://docs.rs", "docs.rs/x", "a b", "é.com", "x:y"] {
            assert_eq!(HostPattern::parse(wrong), Err(HostPatternError), "{wrong}");
        }
        let port = HostPattern::parse("docs.rs:443").unwrap();
        let Some(bare) = host_like("docs.rs") else {
            panic!("it looks like a host")
        };
        assert!(port.touches_host(&bare) && !port.covers_host(&bare));
    }
}
