//! Agent cards: the self-description of an agent, in the shape of 0.3, of 1.0, or of both at once.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};

/// An agent card. Every member may be missing.
#[derive(Debug, Clone, Copy)]
pub struct CardFields<'a> {
    whole: Token<'a>,
}

/// A place where an agent takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardInterface<'a> {
    /// Its URL.
    pub url: Cow<'a, str>,
    /// Its binding: `JSONRPC`, `HTTP+JSON`, `GRPC`, or another word.
    pub binding: Cow<'a, str>,
    /// Its version; that of the card if it has none.
    pub version: Option<Cow<'a, str>>,
    /// The tenant that requests name (1.0).
    pub tenant: Option<Cow<'a, str>>,
}

/// A skill of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSkill<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its description, if it has one.
    pub description: Option<Cow<'a, str>>,
}

impl<'a> CardFields<'a> {
    /// The card in a JSON value; none if that is no object.
    pub fn from_token(token: Token<'a>) -> Option<Self> {
        let whole = token.if_kind(TokenKind::Object)?;
        Some(Self { whole })
    }

    /// The agent's name.
    pub fn name(self) -> Option<Cow<'a, str>> {
        text(self.whole, "name")
    }

    /// The agent's description.
    pub fn description(self) -> Option<Cow<'a, str>> {
        text(self.whole, "description")
    }

    /// The agent's own version.
    pub fn version(self) -> Option<Cow<'a, str>> {
        text(self.whole, "version")
    }

    /// Whether it can stream.
    pub fn can_stream(self) -> bool {
        let capabilities = self.whole.get("capabilities");
        let streaming = capabilities.and_then(|it| it.get("streaming"));
        streaming.and_then(Token::bool).unwrap_or(false)
    }

    /// Whether it has signatures. They are not verified.
    pub fn is_signed(self) -> bool {
        let signatures = self.whole.get("signatures").and_then(Token::non_null);
        signatures.is_some_and(|it| it.elements().next().is_some())
    }

    /// Its skills.
    pub fn skills(self) -> Vec<CardSkill<'a>> {
        let skills = elements(self.whole, "skills");
        let skill = |skill: Token<'a>| {
            Some(CardSkill {
                name: text(skill, "name")?,
                description: text(skill, "description"),
            })
        };
        skills.filter_map(skill).collect()
    }

    /// The names of the security schemes that it declares, with their types: `bearer: http`.
    pub fn security_schemes(self) -> Vec<(Cow<'a, str>, String)> {
        let schemes = self.whole.get("securitySchemes");
        let schemes = schemes.and_then(|it| it.if_kind(TokenKind::Object));
        let members = schemes.into_iter().flat_map(Token::members);
        let named = members.map(|(name, scheme)| (name.string().unwrap_or_default(), kind(scheme)));
        named.collect()
    }

    /// Whether a client must authenticate: a scheme is declared, and each alternative of `security` names one.
    pub fn needs_auth(self) -> bool {
        let required = ["security", "securityRequirements"];
        let mut required = required.into_iter().filter_map(|key| self.whole.get(key));
        let Some(required) = required.find(|it| it.elements().next().is_some()) else {
            return false;
        };
        required.elements().all(|alternative| {
            let schemes = alternative.get("schemes").unwrap_or(alternative);
            schemes.members().next().is_some()
        })
    }

    /// The places where it takes requests, the preferred one first. Those of 1.0 come before those of 0.3.
    pub fn interfaces(self) -> Vec<CardInterface<'a>> {
        let version = text(self.whole, "protocolVersion");
        let read = |interface: Token<'a>| {
            Some(CardInterface {
                url: text(interface, "url")?,
                binding: text(interface, "protocolBinding")
                    .or_else(|| text(interface, "transport"))?,
                version: text(interface, "protocolVersion").or_else(|| version.clone()),
                tenant: text(interface, "tenant").filter(|it| !it.is_empty()),
            })
        };
        let mut found: Vec<_> = elements(self.whole, "supportedInterfaces")
            .filter_map(read)
            .collect();
        let main = text(self.whole, "url").map(|url| CardInterface {
            url,
            binding: text(self.whole, "preferredTransport").unwrap_or(Cow::Borrowed("JSONRPC")),
            version: version.clone(),
            tenant: None,
        });
        let more = elements(self.whole, "additionalInterfaces").filter_map(read);
        for interface in main.into_iter().chain(more) {
            let is_known = |known: &CardInterface<'_>| {
                known.url == interface.url && known.binding == interface.binding
            };
            if !found.iter().any(is_known) {
                found.push(interface);
            }
        }
        found
    }
}

/// The type of a scheme: 0.3 has `type`, 1.0 the name of the only member.
fn kind(scheme: Token<'_>) -> String {
    let word = text(scheme, "type").map(Cow::into_owned);
    let member = || {
        let (name, _) = scheme.members().next()?;
        let name = name.string()?;
        Some(name.trim_end_matches("SecurityScheme").to_owned())
    };
    word.or_else(member).unwrap_or_default()
}

fn text<'a>(token: Token<'a>, key: &str) -> Option<Cow<'a, str>> {
    token.get(key).and_then(Token::string)
}

fn elements<'a>(token: Token<'a>, key: &str) -> impl Iterator<Item = Token<'a>> + use<'a> {
    token.get(key).into_iter().flat_map(Token::elements)
}
