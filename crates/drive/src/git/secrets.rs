//! Addresses may hold passwords. What is said of them does not.

/// What stands where a secret was.
const MASK: &str = "***";

/// An address without who signs in there: behind a colon that is a password, and before it a token may be.
///
/// ```
/// use lapidary_drive::git::shown;
///
/// assert_eq!(shown("https://me:secret@example.org/x.git"), "https://***@example.org/x.git");
/// assert_eq!(shown("ssh://git@example.org/x.git"), "ssh://git@example.org/x.git");
/// ```
pub fn shown(url: &str) -> String {
    match userinfo(url) {
        Some((before, _, after)) => format!("{before}{MASK}{after}"),
        None => url.to_owned(),
    }
}

/// What git said, without the secrets of the address it was given, and of any other: its configuration may have put one in the place
/// of that address.
pub(super) fn cleaned(said: &str, url: &str) -> String {
    let mut said = said.to_owned();
    for secret in secrets(url) {
        said = said.replace(&secret, MASK);
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '<' | '>');
    said.split_inclusive(is_end).map(shown).collect()
}

/// All by which somebody could sign in, the longest first.
fn secrets(url: &str) -> Vec<String> {
    let Some((_, userinfo, _)) = userinfo(url) else {
        return Vec::new();
    };
    let password = userinfo.split_once(':').map(|(_, password)| password);
    let mut secrets = vec![userinfo.to_owned(), decoded(userinfo)];
    for password in password.into_iter().filter(|password| !password.is_empty()) {
        secrets.extend([password.to_owned(), decoded(password)]);
    }
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// What is before the sign-in, the sign-in, and what is behind it. None if there is none, or nothing secret in it.
fn userinfo(url: &str) -> Option<(&str, &str, &str)> {
    let start = url.find("://")? + "://".len();
    let rest = &url[start..];
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let end = rest[..authority]
        .rfind('@')
        .or_else(|| misplaced(rest, authority))?;
    let userinfo = &rest[..end];
    // A name alone is none where it is a name of an account.
    let is_name = url[..start].ends_with("ssh://") && !userinfo.contains(':');
    let is_secret = !userinfo.is_empty() && !is_name;
    is_secret.then(|| (&url[..start], userinfo, &rest[end..]))
}

/// Where a password ends that has a slash or the like in it, which belongs there in another spelling: git then takes what is before it
/// for a port.
fn misplaced(rest: &str, authority: usize) -> Option<usize> {
    let (_, port) = rest[..authority].split_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port).then(|| rest.rfind('@'))?
}

/// A text with its `%41` made letters.
fn decoded(text: &str) -> String {
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
    fn nobody_who_signs_in_is_shown_and_everything_else_is() {
        for (url, expected) in [
            ("https://me:secret@h/x", "https://***@h/x"),
            ("https://secret@h/x", "https://***@h/x"),
            ("https://secret:x-oauth-basic@h/x", "https://***@h/x"),
            ("https://me:se@cret@h/x", "https://***@h/x"),
            ("https://me:s/ecret@h/x", "https://***@h/x"),
            ("https://me:secret@h", "https://***@h"),
            ("ssh://git:secret@h/x", "ssh://***@h/x"),
            ("git://me:secret@h/x", "git://***@h/x"),
            // The host is who is asked, whatever stands in the path.
            ("https://me:secret@h/x@other", "https://***@h/x@other"),
            ("https://h/@scope/x", "https://h/@scope/x"),
            ("https://h:8080/@scope/x", "https://h:8080/@scope/x"),
            ("ssh://git@h/x", "ssh://git@h/x"),
            ("git@h:x", "git@h:x"),
            ("https://@h/x", "https://@h/x"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn what_git_says_is_cleaned_of_every_spelling() {
        let url = "https://me:p%40ss@h/x";
        let said = "fatal: 'https://me:p%40ss@h/x/': p@ss and p%40ss\nsee https://me:other@h2/ or https://h3/@x";
        assert_eq!(
            cleaned(said, url),
            "fatal: 'https://***@h/x/': *** and ***\nsee https://***@h2/ or https://h3/@x"
        );
    }
}
