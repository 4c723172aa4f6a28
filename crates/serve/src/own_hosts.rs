//! The hosts that mean this server, and the origins of its own page.

use std::net::SocketAddr;

use crate::tls::TlsIdentity;

/// The hosts that mean this server.
#[derive(Debug)]
pub(crate) struct OwnHosts {
    /// Values of `Host`, the server's own address first.
    fixed: Vec<String>,
    /// Names that the certificate is valid for, with this port.
    certified: Option<(TlsIdentity, u16)>,
    scheme: &'static str,
    /// The host of the proxy before this server, which speaks TLS.
    proxy: Option<String>,
}

impl OwnHosts {
    /// The hosts of a server on this address; behind a socket file there is no port.
    pub(crate) fn new(
        bound: Option<SocketAddr>,
        tls: Option<&TlsIdentity>,
        proxy: Option<&str>,
    ) -> Self {
        let fixed = match bound {
            // Only the proxy is meant to reach it.
            Some(bound) if proxy.is_some() && !bound.ip().is_loopback() => Vec::new(),
            Some(bound) if bound.ip().is_unspecified() => {
                vec![format!("localhost:{}", bound.port())]
            }
            Some(bound) => vec![bound.to_string(), format!("localhost:{}", bound.port())],
            None => vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        };
        let certified = tls.cloned().zip(bound.map(|bound| bound.port()));
        Self {
            fixed,
            certified,
            scheme: if tls.is_some() { "https" } else { "http" },
            proxy: proxy.map(str::to_owned),
        }
    }

    /// The URL of the page.
    pub(crate) fn url(&self) -> String {
        if let Some(proxy) = &self.proxy {
            return format!("https://{proxy}");
        }
        let mut own = self.fixed.iter();
        let certified = self.certified.as_ref();
        let host = own.find(|host| certified.is_none_or(|(tls, _)| tls.is_for_host(host)));
        let host = host
            .or(self.fixed.first())
            .map_or("localhost", String::as_str);
        format!("{}://{host}", self.scheme)
    }

    /// Whether a value of `Host` means this server.
    pub(crate) fn has_host(&self, host: &str) -> bool {
        let mut own = self.fixed.iter().chain(&self.proxy);
        own.any(|own| own.eq_ignore_ascii_case(host)) || self.is_certified(host)
    }

    /// Whether a page of this origin is the server's own.
    pub(crate) fn has_origin(&self, origin: &str) -> bool {
        let Some((scheme, host)) = origin.split_once("://") else {
            return false;
        };
        let is_proxy = self
            .proxy
            .as_deref()
            .is_some_and(|proxy| proxy.eq_ignore_ascii_case(host));
        let is_own = self.fixed.iter().any(|own| own.eq_ignore_ascii_case(host));
        (is_proxy && scheme == "https")
            || (scheme == self.scheme && (is_own || self.is_certified(host)))
    }

    fn is_certified(&self, host: &str) -> bool {
        let Some((tls, port)) = &self.certified else {
            return false;
        };
        let is_port = match host.rsplit_once(':') {
            Some((_, text)) => text.parse() == Ok(*port),
            None => *port == 443,
        };
        is_port && tls.is_for_host(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_loopback_has_its_address_and_localhost() {
        let bound = "127.0.0.1:7717".parse().unwrap();
        let hosts = OwnHosts::new(Some(bound), None, None);
        assert_eq!(hosts.url(), "http://127.0.0.1:7717");
        for (host, is_own) in [
            ("127.0.0.1:7717", true),
            ("LOCALHOST:7717", true),
            ("127.0.0.1", false),
            ("127.0.0.1:7718", false),
            ("rebound.example:7717", false),
        ] {
            assert_eq!(hosts.has_host(host), is_own, "{host}");
            assert_eq!(
                hosts.has_origin(&format!("http://{host}")),
                is_own,
                "{host}"
            );
            assert!(!hosts.has_origin(&format!("https://{host}")), "{host}");
        }
    }

    #[test]
    fn a_server_behind_a_proxy_has_the_host_of_the_proxy() {
        let bound = "0.0.0.0:7717".parse().unwrap();
        let hosts = OwnHosts::new(Some(bound), None, Some("agents.example"));
        assert_eq!(hosts.url(), "https://agents.example");
        assert!(hosts.has_host("agents.example"));
        assert!(!hosts.has_host("0.0.0.0:7717"), "any page can name it");
        assert!(
            !hosts.has_host("localhost:7717"),
            "only the proxy is meant to reach it"
        );
        assert!(hosts.has_origin("https://agents.example"));
        assert!(!hosts.has_origin("http://agents.example"));
        assert!(!hosts.has_origin("https://evil.example"));
    }
}
