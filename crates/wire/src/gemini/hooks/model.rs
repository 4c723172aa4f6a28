//! Requests to the model and its answers: the form of the model API, and the simpler form that hooks see.
//!
//! Hooks see text only: other parts are skipped on the way to them and kept on the way back.

mod request;
mod response;

pub use request::{apply_request, to_request};
pub use response::{from_response, to_response};

use serde_json::Value;

/// The text of a part, thoughts included, if it has one.
fn text_of(part: &Value) -> Option<&str> {
    part.get("text")?.as_str()
}
