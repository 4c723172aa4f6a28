//! Parses the parameters of a request. They come from the agent and are not trusted.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::Json;

use crate::acp::RpcError;

/// The parameters of a request.
pub(super) struct RequestParams<'a>(Token<'a>);

/// A terminal that an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TerminalId {
    pub(super) session: String,
    pub(super) terminal: String,
}

/// The parameters make no sense.
pub(super) fn bad_params(words: impl Into<String>) -> RpcError {
    RpcError::new(RpcError::BAD_PARAMS, words.into())
}

impl<'a> RequestParams<'a> {
    pub(super) fn parse(params: &'a Json) -> Result<Self, RpcError> {
        let object = params.token().if_kind(TokenKind::Object);
        let object = object.ok_or_else(|| bad_params("the parameters have to be an object"))?;
        Ok(Self(object))
    }

    /// A member that is there. `null` is as good as absent.
    pub(super) fn get(&self, key: &str) -> Option<Token<'a>> {
        self.0.get(key).and_then(Token::non_null)
    }

    /// A text that may be absent.
    pub(super) fn optional_text(&self, key: &str) -> Result<Option<Cow<'a, str>>, RpcError> {
        self.get(key)
            .map(|value| text_param(key, value))
            .transpose()
    }

    /// A text that has to be there.
    pub(super) fn required_text(&self, key: &str) -> Result<Cow<'a, str>, RpcError> {
        self.optional_text(key)?
            .ok_or_else(|| bad_params(format!("`{key}` is missing")))
    }

    /// A count that may be absent. One beyond all bounds is as good as the largest.
    pub(super) fn optional_count(&self, key: &str) -> Result<Option<u64>, RpcError> {
        let count = |value: Token<'_>| {
            let digits = value.as_str();
            let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
            let wrong = || bad_params(format!("`{key}` has to be a whole number"));
            is_whole
                .then(|| value.u64().unwrap_or(u64::MAX))
                .ok_or_else(wrong)
        };
        self.get(key).map(count).transpose()
    }

    /// A list of texts, empty if it is absent.
    pub(super) fn text_list(&self, key: &str) -> Result<Vec<String>, RpcError> {
        let Some(list) = self.get(key) else {
            return Ok(Vec::new());
        };
        let list = list.if_kind(TokenKind::Array);
        let list = list.ok_or_else(|| bad_params(format!("`{key}` has to be an array")))?;
        let each = |value| without_nul(key, text_param(key, value)?);
        list.elements().map(each).collect()
    }

    /// Variables: a list of `{name, value}`, as the protocol has it, or an object, as agents have it too.
    pub(super) fn variable_list(&self, key: &str) -> Result<Vec<(String, String)>, RpcError> {
        let Some(all) = self.get(key) else {
            return Ok(Vec::new());
        };
        match all.kind() {
            TokenKind::Object => all
                .members()
                .map(|(name, value)| variable_param(key, Some(name), Some(value)))
                .collect(),
            TokenKind::Array => all
                .elements()
                .map(|pair| variable_param(key, pair.get("name"), pair.get("value")))
                .collect(),
            _ => Err(bad_params(format!("`{key}` has to be an array"))),
        }
    }

    /// The session that asks. One that does not say is one of its own.
    pub(super) fn session_id(&self) -> Result<String, RpcError> {
        Ok(self
            .optional_text("sessionId")?
            .unwrap_or_default()
            .into_owned())
    }

    pub(super) fn terminal_id(&self) -> Result<TerminalId, RpcError> {
        Ok(TerminalId {
            session: self.session_id()?,
            terminal: self.required_text("terminalId")?.into_owned(),
        })
    }
}

fn text_param<'a>(key: &str, value: Token<'a>) -> Result<Cow<'a, str>, RpcError> {
    let wrong = || {
        bad_params(format!(
            "`{key}` has to be text, and is {}",
            value.kind().described()
        ))
    };
    let text = value.string().ok_or_else(wrong)?;
    if value.has_lone_surrogate() {
        return Err(bad_params(format!(
            "`{key}` has a lone surrogate, which UTF-8 cannot hold"
        )));
    }
    Ok(text)
}

/// Text for the system, where a NUL would end it.
pub(super) fn without_nul(key: &str, text: Cow<'_, str>) -> Result<String, RpcError> {
    if text.contains('\0') {
        return Err(bad_params(format!("`{key}` has a NUL in it")));
    }
    Ok(text.into_owned())
}

fn variable_param(
    key: &str,
    name: Option<Token<'_>>,
    value: Option<Token<'_>>,
) -> Result<(String, String), RpcError> {
    let wrong = || bad_params(format!("`{key}` has to be a list of names and values"));
    let (name, value) = (name.ok_or_else(wrong)?, value.ok_or_else(wrong)?);
    let name = without_nul(key, text_param(key, name)?)?;
    if name.is_empty() || name.contains('=') {
        return Err(bad_params(format!(
            "`{key}` has a name that no variable can have"
        )));
    }
    Ok((name, without_nul(key, text_param(key, value)?)?))
}
