//! Requests to the model and its answers: what the model API calls them, and the simpler shape that hooks see.
//!
//! Hooks see text only: what is no text is left out on the way to them and kept on the way back.

mod request;
mod response;

pub use request::{apply_request, to_request};
pub use response::{from_response, to_response};

use serde_json::Value;

/// The text of a part, thoughts included, if it has one.
fn text_of(part: &Value) -> Option<&str> {
    part.get("text")?.as_str()
}
