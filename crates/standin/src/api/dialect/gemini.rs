//! Google's dialect.

use serde_json::Value;

use super::{Addressed, Dialect};
use crate::api::chunk::Content;
use crate::api::request::Kind;

/// The kind and model that `/v1beta/models/MODEL:verb` addresses.
pub(super) fn addressed(path: &str) -> Addressed {
    let (kind, model) = match path.rsplit_once("/models/") {
        None => (Kind::Other, ""),
        Some((_, last)) => {
            let (model, verb) = last.split_once(':').unwrap_or((last, ""));
            (asked_for(verb), model)
        }
    };
    Addressed {
        dialect: Dialect::Gemini,
        kind,
        model: model.to_owned(),
        streams: kind == Kind::Stream,
    }
}

fn asked_for(verb: &str) -> Kind {
    match verb {
        "streamGenerateContent" => Kind::Stream,
        "generateContent" => Kind::Generate,
        "countTokens" => Kind::Count,
        "embedContent" | "batchEmbedContents" => Kind::Embed,
        _ => Kind::Other,
    }
}

pub(super) fn schema_wanted(body: &Value) -> Option<&Value> {
    let config = body.get("generationConfig")?;
    config
        .get("responseJsonSchema")
        .or_else(|| config.get("responseSchema"))
}

#[derive(Debug)]
pub(in crate::api) struct Voice<'a> {
    pub(super) model: &'a str,
    pub(super) id: &'a str,
}

impl Voice<'_> {
    pub(super) fn say(&self, content: Content) -> String {
        let object = content.into_object(self.model, self.id);
        format!("data: {object}\r\n\r\n")
    }
}
