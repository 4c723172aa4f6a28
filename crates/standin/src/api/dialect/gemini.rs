//! Google's dialect.

use serde_json::Value;

use super::{Dialect, RequestTarget};
use crate::api::chunk::ChunkContent;
use crate::api::request::RequestKind;

/// The kind and model that `/v1beta/models/MODEL:verb` addresses.
pub(super) fn request_target(path: &str) -> RequestTarget {
    let (kind, model) = match path.rsplit_once("/models/") {
        None => (RequestKind::Other, ""),
        Some((_, last)) => {
            let (model, verb) = last.split_once(':').unwrap_or((last, ""));
            (asked_for(verb), model)
        }
    };
    RequestTarget {
        dialect: Dialect::Gemini,
        kind,
        model: model.to_owned(),
        streams: kind == RequestKind::Stream,
    }
}

fn asked_for(verb: &str) -> RequestKind {
    match verb {
        "streamGenerateContent" => RequestKind::Stream,
        "generateContent" => RequestKind::Generate,
        "countTokens" => RequestKind::Count,
        "embedContent" | "batchEmbedContents" => RequestKind::Embed,
        _ => RequestKind::Other,
    }
}

pub(super) fn schema_wanted(body: &Value) -> Option<&Value> {
    let config = body.get("generationConfig")?;
    config
        .get("responseJsonSchema")
        .or_else(|| config.get("responseSchema"))
}

#[derive(Debug)]
pub(in crate::api) struct GeminiWriter<'a> {
    pub(super) model: &'a str,
    pub(super) id: &'a str,
}

impl GeminiWriter<'_> {
    pub(super) fn say(&self, content: ChunkContent) -> String {
        let object = content.into_object(self.model, self.id);
        format!("data: {object}\r\n\r\n")
    }
}
