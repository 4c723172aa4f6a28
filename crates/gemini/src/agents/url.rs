//! Whether a text is an absolute URL, as `new URL(text)` decides in Node.
//!
//! The rules of the URL standard for absolute addresses without a base. Host names outside ASCII are accepted without the checks
//! of IDNA: the only known difference.

/// Schemes whose address needs a host.
const SPECIAL: [(&str, bool); 6] = [
    ("http", true),
    ("https", true),
    ("ws", true),
    ("wss", true),
    ("ftp", true),
    ("file", false),
];

pub(super) fn is_url(text: &str) -> bool {
    let text = text.trim_matches(|letter: char| letter <= ' ');
    let text: String = text
        .chars()
        .filter(|letter| !"\t\n\r".contains(*letter))
        .collect();
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    if !is_scheme(scheme) {
        return false;
    }
    let scheme = scheme.to_ascii_lowercase();
    match SPECIAL.iter().find(|(name, _)| *name == scheme) {
        Some((_, true)) => is_special(rest.trim_start_matches(['/', '\\'])),
        Some((_, false)) => is_file(rest),
        None => rest.strip_prefix("//").is_none_or(is_opaque),
    }
}

fn is_scheme(scheme: &str) -> bool {
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"+-.".contains(&letter);
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic()) && scheme.bytes().all(fits)
}

/// Host and port of `http:` and the like. A backslash ends them, too.
fn is_special(rest: &str) -> bool {
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let Some((host, port)) = host_and_port(&rest[..end]) else {
        return false;
    };
    !host.is_empty() && is_port(port) && is_host(host)
}

/// `file:` has a host only behind two slashes, and may have none.
fn is_file(rest: &str) -> bool {
    let rest = rest.replace('\\', "/");
    let Some(rest) = rest.strip_prefix("//") else {
        return true;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    let is_drive = matches!(host.as_bytes(), [letter, b':' | b'|'] if letter.is_ascii_alphabetic());
    host.is_empty() || is_drive || is_host(host)
}

/// Host and port of any other scheme: the host is not interpreted.
fn is_opaque(rest: &str) -> bool {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let Some((host, port)) = host_and_port(authority) else {
        return false;
    };
    if host.is_empty() {
        return authority.is_empty();
    }
    let is_fine = if host.starts_with('[') {
        is_ipv6(host)
    } else {
        !host.contains(is_forbidden)
    };
    is_fine && is_port(port)
}

/// Without the user before the last `@`.
fn host_and_port(authority: &str) -> Option<(&str, &str)> {
    let place = match authority.rsplit_once('@') {
        Some((_, "")) => return None,
        Some((_, place)) => place,
        None => authority,
    };
    if place.starts_with('[') {
        let end = place.find(']')? + 1;
        let port = &place[end..];
        return (port.is_empty() || port.starts_with(':'))
            .then(|| (&place[..end], port.get(1..).unwrap_or_default()));
    }
    Some(place.split_once(':').unwrap_or((place, "")))
}

fn is_port(port: &str) -> bool {
    let is_number = port.bytes().all(|letter| letter.is_ascii_digit());
    is_number
        && (port.is_empty()
            || port.trim_start_matches('0').len() <= 5
                && port.parse::<u32>().is_ok_and(|port| port <= 65535))
}

fn is_host(host: &str) -> bool {
    if host.starts_with('[') {
        return is_ipv6(host);
    }
    let Some(host) = percent_decoded(host) else {
        return false;
    };
    let is_forbidden =
        |letter: char| is_forbidden(letter) || letter == '%' || letter.is_ascii_control();
    !host.is_empty() && !host.contains(is_forbidden) && is_ipv4_or_name(&host)
}

fn is_forbidden(letter: char) -> bool {
    "\0\t\n\r #/:<>?@[\\]^|".contains(letter)
}

/// The host with `%61` read as `a`; none if that is no text.
fn percent_decoded(host: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(host.len());
    let mut rest = host.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = (*first == b'%').then(|| more.get(..2)).flatten();
        let decoded =
            hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).ok()
}

fn is_ipv6(host: &str) -> bool {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
}

/// A name whose last label is a number must be an IPv4 address.
fn is_ipv4_or_name(host: &str) -> bool {
    let labels: Vec<&str> = host.strip_suffix('.').unwrap_or(host).split('.').collect();
    let last = labels.last().copied().unwrap_or_default();
    let is_digits = !last.is_empty() && last.bytes().all(|letter| letter.is_ascii_digit());
    if !is_digits && ipv4_number(last).is_none() {
        return true;
    }
    let numbers: Option<Vec<u64>> = labels.iter().map(|label| ipv4_number(label)).collect();
    let Some(numbers) = numbers.filter(|numbers| numbers.len() <= 4) else {
        return false;
    };
    let Some((last, others)) = numbers.split_last() else {
        return false;
    };
    let bytes = u32::try_from(5 - numbers.len()).unwrap_or_default();
    others.iter().all(|number| *number <= 255) && *last < 256_u64.pow(bytes)
}

fn ipv4_number(label: &str) -> Option<u64> {
    let (digits, radix) = match label.as_bytes() {
        [] => return None,
        [b'0', b'x' | b'X', ..] => (&label[2..], 16),
        [b'0', _, ..] => (&label[1..], 8),
        _ => (label, 10),
    };
    if digits.is_empty() {
        return Some(0);
    }
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    is_number.then(|| u64::from_str_radix(digits, radix).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::is_url;

    /// As Node 20 decides.
    #[test]
    fn a_text_is_a_url_where_node_reads_one() {
        for good in [
            "https://a.example/card.json",
            "http:a",
            "http:///a",
            "HTTP://A",
            " https://a ",
            "mailto:x",
            "a:b",
            "a:",
            "file:///x",
            "file:x",
            "http://[::1]:80/",
            "http://1.2.3.4",
            "http://256",
            "http://a:0080",
            "http://u:p@h",
            "http://ü",
            "http://a%62",
            "x://h:1",
            "http://a:",
            "data:,x",
            "http://a\\b",
            "x://",
            "https://a.example?x",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "/x",
            "//x",
            "http://",
            "http:",
            "https://?x",
            "http://a b",
            "http://a:x",
            "http://a:65536",
            "http://[::1",
            "http://1.2.3.400",
            "http://1.2.3.4.5",
            "http://a<b",
            "1a://x",
            "http://u@",
            "http://%",
            "x://:1",
            "http://a|b",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }
}
