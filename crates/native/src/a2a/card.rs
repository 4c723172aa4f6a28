//! The card of a remote agent, and the interface that requests go to.

use std::sync::Arc;

use lapidary_gemini::agents::AgentCard;
use lapidary_json::Token;
use lapidary_wire::a2a::card::{CardFields, CardInterface};
use lapidary_wire::a2a::{A2aBinding, A2aVersion};

use super::RemoteError;
use super::auth::CredentialHeader;
use crate::http::{HttpClient, HttpError, HttpResponse, UrlOrigin};

/// The largest card that is read.
const CARD_BYTES: usize = 1024 * 1024;

/// The card of a remote agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteCard {
    /// The name that the agent gives itself.
    pub name: String,
    /// Its description, if it has one.
    pub description: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// Its skills.
    pub skills: Vec<RemoteSkill>,
    /// The security schemes that it declares, with their types.
    pub security_schemes: Vec<(String, String)>,
    /// Whether a client must authenticate.
    pub needs_auth: bool,
    /// Whether it streams.
    pub can_stream: bool,
    /// Whether it is signed. Signatures are not verified.
    pub is_signed: bool,
    /// The place that requests go to.
    pub interface: RemoteInterface,
}

/// A skill of a remote agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSkill {
    /// Its name.
    pub name: String,
    /// Its description, if it has one.
    pub description: Option<String>,
}

/// A place that takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteInterface {
    /// Its URL.
    pub url: String,
    /// How requests are put into HTTP.
    pub binding: A2aBinding,
    /// The version of the protocol that the card names.
    pub version: A2aVersion,
    /// The tenant that requests name.
    pub tenant: Option<String>,
}

impl RemoteCard {
    /// The description for a calling model: the user's own, then the card's, then its skills, as in Gemini CLI.
    pub fn described(&self, own: &str) -> String {
        let mut lines = Vec::new();
        if !own.trim().is_empty() {
            lines.push(format!("User Description: {}", own.trim()));
        }
        let description = self.description.as_deref().unwrap_or_default().trim();
        if !description.is_empty() {
            lines.push(format!("Agent Description: {description}"));
        }
        if !self.skills.is_empty() {
            lines.push("Skills:".to_owned());
        }
        lines.extend(self.skills.iter().map(|skill| {
            let about = skill.description.as_deref().filter(|it| !it.is_empty());
            let about = about.unwrap_or("No description provided");
            format!("{}: {about}", skill.name)
        }));
        lines.join("\n")
    }

    /// Reads a card. `source` is its URL; none if it stands in the definition, where the user vouches for all hosts that it names.
    pub(super) fn parse(
        text: &str,
        source: Option<&str>,
        has_auth: bool,
    ) -> Result<Self, RemoteError> {
        let not_a_card = |reason: &str| RemoteError::NotACard {
            url: source.unwrap_or("the inline card").to_owned(),
            reason: reason.to_owned(),
        };
        let token = Token::parse(text).map_err(|_| not_a_card("it is not valid JSON"))?;
        let fields =
            CardFields::from_token(token).ok_or_else(|| not_a_card("it is not a JSON object"))?;
        let interfaces = fields.interfaces();
        if interfaces.is_empty() {
            return Err(not_a_card("it names no URL for requests"));
        }
        let origin = source.and_then(UrlOrigin::parse);
        let interface = choose_interface(&interfaces, origin.as_ref(), has_auth)?;
        let skills = fields.skills().into_iter().map(|skill| RemoteSkill {
            name: skill.name.into_owned(),
            description: skill.description.map(String::from),
        });
        let schemes = fields.security_schemes().into_iter();
        Ok(Self {
            name: fields.name().unwrap_or_default().into_owned(),
            description: fields.description().map(String::from),
            version: fields.version().map(String::from),
            skills: skills.collect(),
            security_schemes: schemes
                .map(|(name, kind)| (name.into_owned(), kind))
                .collect(),
            needs_auth: fields.needs_auth(),
            can_stream: fields.can_stream(),
            is_signed: fields.is_signed(),
            interface,
        })
    }
}

/// The first interface that can be spoken to and that the credentials belong to; the first refusal if there is none.
fn choose_interface(
    offered: &[CardInterface<'_>],
    card: Option<&UrlOrigin>,
    has_auth: bool,
) -> Result<RemoteInterface, RemoteError> {
    let mut refusal = None;
    for interface in offered {
        let Some(spoken) = supported_interface(interface) else {
            continue;
        };
        match check_target(&spoken.url, card, has_auth) {
            Ok(()) => return Ok(spoken),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.unwrap_or_else(|| RemoteError::NoInterface {
        offered: interface_list(offered),
    }))
}

fn supported_interface(interface: &CardInterface<'_>) -> Option<RemoteInterface> {
    let version = interface.version.as_deref();
    Some(RemoteInterface {
        url: interface.url.clone().into_owned(),
        binding: A2aBinding::parse(&interface.binding)?,
        // Cards without a version are older than the field.
        version: version.map_or(Some(A2aVersion::V0_3), A2aVersion::parse)?,
        tenant: interface.tenant.clone().map(String::from),
    })
}

/// Refuses targets that get credentials of another origin, or that a card of another machine must not name.
fn check_target(url: &str, card: Option<&UrlOrigin>, has_auth: bool) -> Result<(), RemoteError> {
    let Some(target) = UrlOrigin::parse(url) else {
        return Err(RemoteError::NotACard {
            url: card.map_or_else(|| "the inline card".to_owned(), ToString::to_string),
            reason: "an interface has no `http` or `https` URL".to_owned(),
        });
    };
    if let Some(card) = card.filter(|card| **card != target) {
        let (card_name, target_name) = (card.to_string(), target.to_string());
        if has_auth {
            return Err(RemoteError::ForeignOrigin {
                card: card_name,
                target: target_name,
            });
        }
        let is_downgrade = card.is_https() && !target.is_https();
        if is_downgrade || target.can_be_loopback() && !card.is_loopback() {
            return Err(RemoteError::UnsafeTarget {
                card: card_name,
                target: target_name,
            });
        }
    }
    check_secrecy(&target, has_auth)
}

/// Credentials are only sent over TLS, or within this machine.
pub(super) fn check_secrecy(target: &UrlOrigin, has_auth: bool) -> Result<(), RemoteError> {
    if has_auth && !target.is_https() && !target.is_loopback() {
        return Err(RemoteError::PlainHttp {
            origin: target.to_string(),
        });
    }
    Ok(())
}

fn interface_list(offered: &[CardInterface<'_>]) -> String {
    let one = |it: &CardInterface<'_>| {
        let version = it.version.as_deref().unwrap_or("without a version");
        let name: String = format!("{} {version}", it.binding)
            .chars()
            .take(60)
            .collect();
        name
    };
    let names: Vec<_> = offered.iter().take(5).map(one).collect();
    names.join(", ")
}

/// The text of a card, and where it came from.
pub(super) async fn card_text(
    http: &HttpClient,
    card: &AgentCard,
    header: impl AsyncFnOnce() -> Result<Option<Arc<CredentialHeader>>, RemoteError>,
) -> Result<String, RemoteError> {
    let url = match card {
        AgentCard::Json(text) => return Ok(text.clone()),
        AgentCard::Url(url) => url,
    };
    let fetch = |source| RemoteError::CardFetch {
        url: url.clone(),
        source,
    };
    let accept = ("Accept", "application/json");
    let mut answer = http.get(url, &[accept]).await.map_err(fetch)?;
    if matches!(answer.status, 401 | 403)
        && let Some(header) = header().await?
    {
        // Some servers refuse a card request with credentials that they did not ask for: these come second.
        let credentials = (header.name.as_str(), header.value.as_str());
        answer = http.get(url, &[accept, credentials]).await.map_err(fetch)?;
    }
    match answer.status {
        200 => body_of(&mut answer, url).await,
        401 | 403 => Err(RemoteError::CardRefused {
            url: url.clone(),
            status: answer.status,
        }),
        404 => Err(RemoteError::CardNotFound { url: url.clone() }),
        status => Err(RemoteError::NotACard {
            url: url.clone(),
            reason: format!("the server answers with {status}"),
        }),
    }
}

async fn body_of(answer: &mut HttpResponse, url: &str) -> Result<String, RemoteError> {
    let not_a_card = |reason: String| RemoteError::NotACard {
        url: url.to_owned(),
        reason,
    };
    if let Some(kind) = answer.header("content-type")
        && kind.to_ascii_lowercase().starts_with("text/html")
    {
        return Err(not_a_card("the server answers with a web page".to_owned()));
    }
    let body = answer
        .bytes(CARD_BYTES)
        .await
        .map_err(|error| match error {
            HttpError::TooLarge { limit, .. } => {
                not_a_card(format!("it has more than {limit} bytes"))
            }
            source => RemoteError::CardFetch {
                url: url.to_owned(),
                source,
            },
        })?;
    String::from_utf8(body).map_err(|_| not_a_card("it is not UTF-8".to_owned()))
}
