//! The checks that every request passes before a handler sees it: Host, Origin, token.
//!
//! The server runs on the user's machine, where every page in the user's browser can send it requests, and a hostile name server can
//! make a foreign page's host mean this machine. So the host must be ours, a browser's request must come from our own page, and
//! every request for data needs the token. There are no cookies: a browser adds no credential by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio_util::sync::CancellationToken;

use crate::access_token::AccessToken;
use crate::own_hosts::OwnHosts;
use crate::problem::{HttpProblem, as_problem};
use crate::static_files;

/// No script but our own files, no frame, no plugin, no form, no other host; text becomes markup at one place only.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types lapidary";

/// The rules of the gate.
#[derive(Debug)]
pub(crate) struct RequestGate {
    pub(crate) token: AccessToken,
    pub(crate) hosts: OwnHosts,
}

/// The connection of a client, in the extensions of its requests.
#[derive(Debug, Default)]
pub(crate) struct ClientConnection {
    /// Whether a request of it had the token.
    is_known: AtomicBool,
    /// Ends it.
    pub(crate) evicted: CancellationToken,
}

impl ClientConnection {
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

/// Lets a request pass, or answers it with the reason why not. Adds the security headers to every response.
pub(crate) async fn check_request(
    State(gate): State<Arc<RequestGate>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match gate.check(&request) {
        Ok(()) => as_problem(next.run(request).await).await,
        Err(problem) => problem.into_response(),
    };
    add_security_headers(response.headers_mut());
    response
}

impl RequestGate {
    fn check(&self, request: &Request) -> Result<(), HttpProblem> {
        let headers = request.headers();
        self.check_host(headers)?;
        let is_static = static_files::is_static(request.uri().path());
        let is_page = is_static && is_navigation(request.method(), headers);
        if !is_page {
            self.check_origin(headers)?;
        }
        if is_static {
            Ok(())
        } else {
            self.check_token(headers)?;
            if let Some(client) = request.extensions().get::<Arc<ClientConnection>>() {
                client.is_known.store(true, Ordering::Relaxed);
            }
            Ok(())
        }
    }

    /// A page whose host name was rebound to this address sends its own name.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let host = header_text(headers, &header::HOST).unwrap_or_default();
        if self.hosts.has_host(host) {
            return Ok(());
        }
        let detail = "this server does not answer for that host";
        Err(HttpProblem::new(StatusCode::MISDIRECTED_REQUEST, detail)
            .with_hint(format!("use `{}`", self.hosts.url())))
    }

    /// Programs send neither header. A browser sends both, and a page cannot forge them.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let is_foreign_origin = headers.get(header::ORIGIN).is_some_and(|origin| {
            let origin = origin.to_str();
            !origin.is_ok_and(|origin| self.hosts.has_origin(origin))
        });
        let site = header_text(headers, &HeaderName::from_static("sec-fetch-site"));
        let is_foreign_site = !matches!(site, None | Some("same-origin" | "none"));
        if is_foreign_origin || is_foreign_site {
            let hint = format!("open the page of this server, `{}`", self.hosts.url());
            return Err(
                HttpProblem::forbidden("the request comes from another page").with_hint(hint),
            );
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let given = header_text(headers, &header::AUTHORIZATION).unwrap_or_default();
        let given = given
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let given = given.map(|(_, token)| token).unwrap_or_default();
        if self.token.matches(given) {
            return Ok(());
        }
        let detail = if given.is_empty() {
            "the request has no token"
        } else {
            "the token is not this server's"
        };
        let file = self.token.file.display();
        Err(
            HttpProblem::new(StatusCode::UNAUTHORIZED, detail).with_hint(format!(
                "send `Authorization: Bearer` with the token in `{file}`"
            )),
        )
    }
}

/// Whether the user opens a page, by a link or by its address.
fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let mode = header_text(headers, &HeaderName::from_static("sec-fetch-mode"));
    method == Method::GET && mode == Some("navigate") && !headers.contains_key(header::ORIGIN)
}

fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn add_security_headers(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        let value = HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, value);
    }
}
