//! Origins of URLs: scheme, host and port. Credentials belong to one of them.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;

/// The origin of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlOrigin {
    is_https: bool,
    host: String,
    port: u16,
}

impl UrlOrigin {
    /// The origin of an `http` or `https` URL; none for any other text, and for URLs with a user in them.
    pub fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let is_https = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        if uri.authority()?.as_str().contains('@') {
            return None;
        }
        let host = uri.host()?.trim_end_matches('.').to_ascii_lowercase();
        let usual = if is_https { 443 } else { 80 };
        Some(Self {
            is_https,
            port: uri.port_u16().unwrap_or(usual),
            host: Some(host).filter(|host| !host.is_empty())?,
        })
    }

    /// Whether the connection is encrypted.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_matches(['[', ']']).parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for UrlOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        let usual = if self.is_https { 443 } else { 80 };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port == usual {
            return Ok(());
        }
        write!(f, ":{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::UrlOrigin;

    #[test]
    fn origins_are_equal_where_scheme_host_and_port_are() {
        let origin = |url| UrlOrigin::parse(url).map(|origin| origin.to_string());
        for (url, expected) in [
            ("https://A.example/card.json?x", Some("https://a.example")),
            ("https://a.example:443/", Some("https://a.example")),
            ("https://a.example./", Some("https://a.example")),
            ("http://a.example:8080", Some("http://a.example:8080")),
            ("http://[::1]:1/", Some("http://[::1]:1")),
            ("https://user:pass@a.example/", None),
            ("ftp://a.example/", None),
            ("/card.json", None),
        ] {
            assert_eq!(origin(url).as_deref(), expected, "{url}");
        }
        let is_loopback = |url| UrlOrigin::parse(url).unwrap().is_loopback();
        assert!(is_loopback("http://127.0.0.1:1/") && is_loopback("http://[::1]/"));
        assert!(is_loopback("http://localhost/"));
        assert!(!is_loopback("http://localhost.example/") && !is_loopback("http://10.0.0.1/"));
    }
}
