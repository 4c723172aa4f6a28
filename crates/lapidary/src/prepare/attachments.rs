//! Files that go with a prompt, as content blocks of the Agent Client Protocol.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary_vocab::Json;
use serde_json::json;

/// The largest file that can be attached whole.
const LARGEST: u64 = 16 << 20;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
#[error("cannot attach `{}`", file.display())]
pub struct AttachError {
    /// The file.
    pub file: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// A file as a content block: an image is embedded, any other file is a link that the agent can follow.
pub(super) fn attachment_block(file: &Path) -> Result<Json, AttachError> {
    content_block(file).map_err(|source| AttachError {
        file: file.to_owned(),
        source,
    })
}

fn content_block(file: &Path) -> io::Result<Json> {
    let about = fs::metadata(file)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let block = match image_type(file) {
        Some(_) if about.len() > LARGEST => {
            return Err(io::Error::other(format!(
                "it has more than {LARGEST} bytes"
            )));
        }
        Some(kind) => {
            let bytes = fs::read(file)?;
            json!({"type": "image", "mimeType": kind, "data": STANDARD.encode(&bytes)})
        }
        None => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            json!({"type": "resource_link", "name": name, "uri": file_uri(file), "size": about.len()})
        }
    };
    Ok(Json::from_value(&block))
}

/// The type of an image, by the name of its file.
fn image_type(file: &Path) -> Option<&'static str> {
    let extension = file.extension().and_then(|extension| extension.to_str());
    match extension?.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}

/// A file's `file://` address. Bytes that a URI does not allow are percent-encoded.
fn file_uri(file: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in file.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            byte => {
                let _ = write!(uri, "%{byte:02X}"); // to memory
            }
        }
    }
    uri
}
