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

    /// Whether it is this machine for certain.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_matches(['[', ']']).parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether it can be this machine: also the unspecified address, which connects to it, names below `localhost`, addresses of IPv4
    /// inside IPv6, and the short and numeric forms that resolvers still take, such as `127.1` and `0x7f000001`. A name that a
    /// resolver maps to this machine is not found out here.
    pub fn can_be_loopback(&self) -> bool {
        if self.is_loopback() || self.host.ends_with(".localhost") {
            return true;
        }
        match self.host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => {
                let address = address.to_canonical();
                address.is_loopback() || address.is_unspecified()
            }
            Err(_) => ends_in_number(&self.host),
        }
    }
}

/// Whether the last part of a name is a number: then it is an address in some form, never a name of DNS.
fn ends_in_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    let is_hex = last.strip_prefix("0x").is_some_and(|digits| {
        let mut digits = digits.bytes();
        digits.all(|byte| byte.is_ascii_hexdigit())
    });
    is_hex || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
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

    #[test]
    fn every_form_of_an_address_of_this_machine_is_taken_for_one() {
        let can_be = |host: &str| {
            let origin = UrlOrigin::parse(&format!("http://{host}:81/"));
            origin.unwrap().can_be_loopback()
        };
        for host in [
            "127.0.0.1",
            "127.0.0.2",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "localhost",
            "LocalHost.",
            "api.localhost",
        ] {
            assert!(can_be(host), "{host}");
        }
        for host in [
            "10.0.0.1",
            "a.example",
            "localhost.example",
            "0xa.example",
            "[fe80::1]",
        ] {
            assert!(!can_be(host), "{host}");
        }
    }
}
