//! Masks passwords in addresses, for messages.

/// Replaces a secret.
const MASK: &str = "***";

/// An address without credentials: the part behind a colon is a password, and the part before it may be a token. Values behind a
/// `?` may be tokens. In a mistyped address the end of the password is unknown, so all text up to the last `@` is masked.
///
/// ```
/// use lapidary_engine::git::shown;
///
/// assert_eq!(shown("https://me:secret@example.org/x.git"), "https://***@example.org/x.git");
/// assert_eq!(shown("https://example.org/x?token=secret"), "https://example.org/x?token=***");
/// assert_eq!(shown("ssh://git@example.org/x.git"), "ssh://git@example.org/x.git");
/// ```
pub fn shown(url: &str) -> String {
    let parts = AddressParts::parse(url);
    let mask = if parts.userinfo.is_empty() { "" } else { MASK };
    let mut shown = format!("{}{mask}{}", parts.before, parts.behind);
    for (at, value) in parts.query_values().into_iter().enumerate() {
        let key = value.split_once('=').map(|(key, _)| [key, "="]);
        shown.push(if at == 0 { '?' } else { '&' });
        shown.extend(key.into_iter().flatten().chain([MASK]));
    }
    shown
}

/// The output of git, without the secrets of the given address, and of any other: git's configuration may have replaced the
/// address.
pub(super) fn without_secrets(said: &str, url: &str) -> String {
    let mut said = said.to_owned();
    for secret in credentials_of_url(url) {
        said = said.replace(&secret, MASK);
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '<' | '>');
    said.split_inclusive(is_end).map(shown).collect()
}

/// All credentials in an address, the longest first.
fn credentials_of_url(url: &str) -> Vec<String> {
    let parts = AddressParts::parse(url);
    let mut secrets = vec![parts.userinfo];
    if let Some((_, password)) = parts.userinfo.split_once(':') {
        secrets.push(password);
        // Git may take a piece of the password of a mistyped address for a host or a path.
        let pieces = password.split(['/', '?', '#', '@', ':']);
        secrets.extend(pieces.filter(|piece| piece.len() >= SHORTEST));
    }
    let values = parts.query_values().into_iter();
    secrets.extend(values.map(|value| value.split_once('=').map_or(value, |(_, value)| value)));
    let mut secrets: Vec<String> = secrets
        .into_iter()
        .filter(|secret| !secret.is_empty())
        .flat_map(|secret| [secret.to_owned(), percent_decoded(secret)])
        .collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// A shorter piece of a password is no secret, and may be part of any word.
const SHORTEST: usize = 4;

/// An address, taken apart.
struct AddressParts<'a> {
    /// The part before the credentials.
    before: &'a str,
    /// The sign-in, or nothing if there is none, or nothing secret in it.
    userinfo: &'a str,
    /// The part behind them, up to the first `?`.
    behind: &'a str,
    /// The part behind that.
    query: Option<&'a str>,
}

impl<'a> AddressParts<'a> {
    fn parse(url: &'a str) -> Self {
        let Some(start) = credentials_start(url) else {
            // A path.
            return Self {
                before: url,
                userinfo: "",
                behind: "",
                query: None,
            };
        };
        let (before, rest) = url.split_at(start);
        let end = rest.rfind('@').unwrap_or(0);
        let (userinfo, rest) = rest.split_at(end);
        let is_secret = is_secret(userinfo, before);
        let (behind, query) = match rest.split_once('?') {
            Some((behind, query)) => (behind, Some(query)),
            None => (rest, None),
        };
        Self {
            before: if is_secret {
                before
            } else {
                &url[..start + end]
            },
            userinfo: if is_secret { userinfo } else { "" },
            behind,
            query,
        }
    }

    fn query_values(&self) -> Vec<&'a str> {
        let values = self.query.into_iter();
        values.flat_map(|query| query.split('&')).collect()
    }
}

/// Whether the part before an `@` holds a secret.
fn is_secret(userinfo: &str, before: &str) -> bool {
    // A name alone is none where it is a name of an account.
    let is_account = before.starts_with("ssh:") && !userinfo.contains('/');
    let is_name = before.is_empty() || is_account;
    // `https://host/@scope/x`
    let is_place = userinfo.ends_with('/') && !userinfo.contains('@');
    let is_harmless = !userinfo.contains(':') && (is_name || is_place);
    !userinfo.is_empty() && !is_harmless
}

/// Where the credentials of an address could begin. None for a path, or a text that is no address.
fn credentials_start(url: &str) -> Option<usize> {
    const SCHEMES: [&str; 6] = ["https:", "http:", "ssh:", "git:", "file:", "ftp:"];
    if let Some(at) = url.find("://") {
        return Some(at + "://".len());
    }
    if url.starts_with(['/', '.', '~']) || url.contains(char::is_whitespace) {
        return None;
    }
    let is_so = |scheme: &&&str| {
        let start = url.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let scheme = SCHEMES.iter().find(is_so);
    Some(scheme.map_or(0, |scheme| scheme.len()))
}

/// A text with its `%41` made letters.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(byte) = byte.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_a_url_are_masked_and_the_rest_is_shown() {
        for (url, expected) in [
            ("https://me:secret@h/x", "https://***@h/x"),
            ("https://secret@h/x", "https://***@h/x"),
            ("https://secret:x-oauth-basic@h/x", "https://***@h/x"),
            ("https://me:se@cret@h/x", "https://***@h/x"),
            ("https://me:s/ecret@h/x", "https://***@h/x"),
            ("https://me:secret@h", "https://***@h"),
            ("ssh://git:secret@h/x", "ssh://***@h/x"),
            ("git://me:secret@h/x", "git://***@h/x"),
            // Where the password ends cannot be told.
            ("https://me:secret@h/x@other", "https://***@other"),
            ("https://me:2024/secret@h:1/x", "https://***@h:1/x"),
            ("https://me:2024/sec@ret/@h:1/x", "https://***@h:1/x"),
            ("https://tok/secret@h/x", "https://***@h/x"),
            ("https://h:8080/@scope/x", "https://***@scope/x"),
            ("https://h/@scope/x", "https://h/@scope/x"),
            // Mistyped.
            ("https:me:secret@h/x", "https:***@h/x"),
            ("https:/me:secret@h/x", "https:***@h/x"),
            ("HTTP:secret@h/x", "HTTP:***@h/x"),
            ("me:secret@h:x", "***@h:x"),
            ("https//me:secret@h/x", "***@h/x"),
            // Tokens.
            (
                "https://h/x?private_token=secret",
                "https://h/x?private_token=***",
            ),
            (
                "https://h/x?a=secret&secret&b=",
                "https://h/x?a=***&***&b=***",
            ),
            ("https://me:s?ecret@h/x?t=secret", "https://***@h/x?t=***"),
            ("h/x?token=secret", "h/x?token=***"),
            // Paths.
            ("./a:b@c?d=e", "./a:b@c?d=e"),
            ("/a:b@c", "/a:b@c"),
            ("skills/@scope/x", "skills/@scope/x"),
            ("skills/x@1.0", "skills/x@1.0"),
            ("error: argument 'x@", "error: argument 'x@"),
            ("ssh://git@h/x", "ssh://git@h/x"),
            ("git@h:x", "git@h:x"),
            ("https://@h/x", "https://@h/x"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn git_output_is_cleaned_of_every_spelling_of_a_secret() {
        let url = "https://me:p%40ss@h/x";
        let said = "fatal: 'https://me:p%40ss@h/x/': p@ss and p%40ss\nsee https://me:other@h2/ or https://h3/@x";
        assert_eq!(
            without_secrets(said, url),
            "fatal: 'https://***@h/x/': *** and ***\nsee https://***@h2/ or https://h3/@x"
        );
        let said =
            "fatal: cannot find '/secret@h/x' of 'https://me:2024/secret@h/x', which t0ken says";
        assert_eq!(
            without_secrets(said, "https://me:2024/secret@h/x?token=t0ken"),
            "fatal: cannot find '/***@h/x' of 'https://***@h/x', which *** says"
        );
    }
}
