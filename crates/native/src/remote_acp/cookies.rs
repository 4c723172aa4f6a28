//! The cookies of one connection. The draft requires them: a load balancer finds the right server by them.
//!
//! There is one origin and one path, so names are all that tells cookies apart. They are forgotten with the connection.

/// The most cookies that are kept. Further ones are ignored.
const MOST_COOKIES: usize = 32;
/// The longest cookie that is kept, with its name.
const LONGEST_COOKIE: usize = 4096;

/// Cookies by name, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct CookieJar {
    cookies: Vec<(String, String)>,
}

impl CookieJar {
    /// Takes the value of a `Set-Cookie` header. One that cannot be sent back is ignored.
    pub(super) fn set_cookie(&mut self, header: &[u8]) {
        let Ok(header) = std::str::from_utf8(header) else {
            return;
        };
        let mut parts = header.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let is_short = name.len() + value.len() <= LONGEST_COOKIE;
        if name.is_empty() || !is_short || !header.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return;
        }
        self.cookies.retain(|(known, _)| known != name);
        if !parts.any(is_expiry) && self.cookies.len() < MOST_COOKIES {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The value of a `Cookie` header, if there are cookies.
    pub(super) fn cookie_header(&self) -> Option<String> {
        let pairs = self.cookies.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// Whether an attribute deletes the cookie. Dates are not read: a connection is short, and servers delete with a year long ago.
fn is_expiry(attribute: &str) -> bool {
    let Some((name, value)) = attribute.split_once('=') else {
        return false;
    };
    match name.trim().to_ascii_lowercase().as_str() {
        "max-age" => value.trim().starts_with('-') || value.trim() == "0",
        "expires" => value.contains(" 1970 ") || value.contains("-1970 "),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[&str], expected: Option<&str>) {
        let mut jar = CookieJar::default();
        for header in headers {
            jar.set_cookie(header.as_bytes());
        }
        assert_eq!(jar.cookie_header().as_deref(), expected, "{headers:?}");
    }

    #[test]
    fn a_cookie_is_sent_back_until_the_server_deletes_it() {
        check(&[], None);
        check(&["a=1; Path=/; HttpOnly", "b=2"], Some("a=1; b=2"));
        check(&["a=1", "b=2", "a=3; Secure"], Some("b=2; a=3"));
        check(&["a=1", "a=; Max-Age=0"], None);
        check(&["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], None);
        check(&["no pair", "=1", "a=\u{1}", "ä=1"], None);
    }

    #[test]
    fn a_server_cannot_fill_memory_with_cookies() {
        let mut jar = CookieJar::default();
        for number in 0..1000 {
            jar.set_cookie(format!("c{number}=1").as_bytes());
        }
        jar.set_cookie(format!("long={}", "x".repeat(LONGEST_COOKIE)).as_bytes());
        assert_eq!(jar.cookies.len(), MOST_COOKIES);
    }
}
