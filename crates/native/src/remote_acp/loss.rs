//! Failures of HTTP as reasons why an agent is lost.

use lapidary_rpc::{AgentLoss, AgentLossKind};

use super::RemoteLink;
use crate::http::{HttpError, HttpResponse};

/// How much of a refusal is shown.
const SHOWN_CHARS: usize = 200;

/// The hint for a server that wants other credentials.
const TOKEN_HINT: &str = "name a token that the server accepts with `token_file`, `token_env` or `token_command` below `[agents.NAME]` in lapidary.toml";

/// The hint for a connection that is lost: sessions survive it, messages on the way do not.
pub(super) const RESUME_HINT: &str =
    "messages on the way are lost; the session may be continued: `--resume` with its id";

impl RemoteLink {
    /// A reason, with the address before it.
    pub(super) fn agent_loss(&self, kind: AgentLossKind, reason: &str) -> AgentLoss {
        let message = format!(
            "`{}` {}",
            self.settings.shown_url,
            self.display_text(reason)
        );
        AgentLoss::new(kind, message)
    }

    /// The reason why a request has no answer. `is_open` is true once the agent has answered.
    pub(super) fn failed_request(&self, error: &HttpError, is_open: bool) -> AgentLoss {
        let reason = self.display_text(&error.to_string());
        let lost = |kind| AgentLoss::new(kind, reason.clone());
        match error {
            HttpError::Connect { .. } if is_open => lost(AgentLossKind::Broken),
            HttpError::Connect { reason, .. } if is_without_tls(reason) => {
                lost(AgentLossKind::Misconfigured)
                    .hint("the server speaks no TLS at this port: check the port, or use `ws://` or `http://` on this machine")
            }
            HttpError::Connect { reason, .. } if is_about_trust(reason) => {
                lost(AgentLossKind::Misconfigured).hint(
                    "add the authority of its certificate: `SSL_CERT_FILE` or `NODE_EXTRA_CA_CERTS` names a PEM file",
                )
            }
            HttpError::Connect { .. } => lost(AgentLossKind::Unreachable)
                .hint("check the address, and that the server runs; `--retries` tries again"),
            HttpError::Silent { .. } if !is_open => lost(AgentLossKind::Late),
            HttpError::Redirect { .. } => lost(AgentLossKind::Misconfigured)
                .hint("credentials do not follow redirects: use that address if you trust it"),
            HttpError::Certificates { .. }
            | HttpError::InvalidProxy { .. }
            | HttpError::InvalidRequest { .. } => lost(AgentLossKind::Misconfigured),
            _ => lost(AgentLossKind::Broken),
        }
    }

    /// The reason that a status other than the expected one gives.
    pub(super) async fn refused_request(
        &self,
        mut answer: HttpResponse,
        is_open: bool,
    ) -> AgentLoss {
        let status = answer.status;
        let kind = answer.headers.get("content-type");
        let is_text = kind.is_none_or(|kind| !kind.as_bytes().starts_with(b"text/html"));
        let body = answer.error_body().await;
        let body = String::from_utf8_lossy(&body).into_owned();
        let said = match body.trim() {
            "" => String::new(),
            _ if !is_text => " with an HTML page".to_owned(),
            body => format!(": {body}"),
        };
        let reason = format!("answers with status {status}{said}");
        match status {
            401 | 403 => self
                .agent_loss(AgentLossKind::Unauthorized, &reason)
                .hint(TOKEN_HINT),
            404 | 410 if is_open => self.agent_loss(
                AgentLossKind::Broken,
                &format!("has forgotten the connection: it {reason}"),
            ),
            404 | 410 => self
                .agent_loss(AgentLossKind::Missing, &reason)
                .hint("check the path of the URL: `/acp` is usual"),
            429 => self.agent_loss(AgentLossKind::RateLimited, &reason),
            500.. if !is_open => self.agent_loss(AgentLossKind::Unreachable, &reason),
            500.. => self.agent_loss(AgentLossKind::Broken, &reason),
            _ => self.agent_loss(AgentLossKind::Violation, &reason),
        }
    }

    /// A server's text in one line, short, and without our token.
    fn display_text(&self, text: &str) -> String {
        let text = match &self.token {
            Some(token) => token.hide_in(text),
            None => text.to_owned(),
        };
        let one_line = text
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it });
        let mut shown: String = one_line.clone().take(SHOWN_CHARS).collect();
        if one_line.count() > SHOWN_CHARS {
            shown.push('…');
        }
        shown
    }
}

/// Whether the server answered something else than TLS.
fn is_without_tls(reason: &str) -> bool {
    reason.contains("corrupt message")
}

/// Whether a connection failed because of a certificate or of TLS.
fn is_about_trust(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    ["certificate", "tls", "alert"]
        .iter()
        .any(|word| reason.contains(word))
}
