//! What only an agent that is spoken to can do with: rules, attachments, MCP servers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary::drive::detect::Environment;
use lapidary::drive::headless::Speaking;
use lapidary::drive::policy::{Effect, Rule, Rules};
use lapidary::vocab::Json;
use serde_json::{Map, Value, json};

use super::common::Common;
use crate::failure::Failure;

/// The largest file that can be attached.
const LARGEST: u64 = 16 << 20;

pub(super) fn of(args: &Common, environment: &Environment) -> Result<Speaking, Failure> {
    let here = &environment.dir;
    let servers = args.mcp_config.as_ref();
    let servers = servers.map(|file| mcp_servers(&here.join(file)));
    Ok(Speaking {
        rules: rules(args, here)?,
        mcp_servers: servers.transpose()?.unwrap_or_default(),
        auth_method: args.auth.clone(),
        hooks: args.hooks,
        ..Speaking::default()
    })
}

/// The rules that flags are: what is denied comes before what is asked, and that before what is allowed.
fn rules(args: &Common, here: &Path) -> Result<Rules, Failure> {
    let flags = [
        (Effect::Deny, &args.deny),
        (Effect::Ask, &args.ask),
        (Effect::Allow, &args.allow),
    ];
    let flags = flags
        .into_iter()
        .flat_map(|(effect, specs)| specs.iter().map(move |spec| (effect, spec)));
    let rules = flags.map(|(effect, spec)| Rule::parse_flag(effect, spec, here));
    let rules = rules.collect::<Result<Vec<_>, _>>();
    let rules = rules.map_err(|error| Failure::usage(anyhow!(error)))?;
    Ok(Rules::new(rules))
}

/// A file as a content block: images go whole, anything else as a link that the agent can follow.
pub(super) fn attachment(file: &Path) -> Result<Json, Failure> {
    let cannot = || format!("cannot attach `{}`", file.display());
    let about = fs::metadata(file).with_context(cannot);
    let about = about.map_err(Failure::bad_input)?;
    if !about.is_file() {
        return Err(Failure::bad_input(
            anyhow!("it is not a file").context(cannot()),
        ));
    }
    let extension = file.extension().and_then(|extension| extension.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let image = match extension.as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    };
    let block = match image {
        Some(_) if about.len() > LARGEST => {
            let error = anyhow!("it has more than {LARGEST} bytes");
            return Err(Failure::bad_input(error.context(cannot())));
        }
        Some(kind) => {
            let bytes = fs::read(file).with_context(cannot);
            let bytes = bytes.map_err(Failure::bad_input)?;
            json!({"type": "image", "mimeType": kind, "data": STANDARD.encode(&bytes)})
        }
        None => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            json!({"type": "resource_link", "name": name, "uri": uri(file), "size": about.len()})
        }
    };
    Ok(Json::from_value(&block))
}

/// A file's address. What is not plain in it is escaped.
fn uri(file: &Path) -> String {
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

/// The servers of a file, from the shape that people have them in to the protocol's.
fn mcp_servers(file: &Path) -> Result<Vec<Json>, Failure> {
    let cannot = || format!("cannot read the MCP servers in `{}`", file.display());
    let read = fs::read_to_string(file).with_context(cannot);
    let read = read.map_err(Failure::bad_config)?;
    let whole: Value = serde_json::from_str(&read)
        .with_context(cannot)
        .map_err(Failure::bad_config)?;
    let servers = whole.get("mcpServers").unwrap_or(&whole);
    let Some(servers) = servers.as_object() else {
        let error = anyhow!("there is no object `mcpServers`");
        return Err(Failure::bad_config(error.context(cannot())));
    };
    let servers = servers.iter().map(|(name, server)| {
        mcp_server(name, server).ok_or_else(|| {
            let error = anyhow!("`{name}` has neither a `command` nor a `url`");
            Failure::bad_config(error.context(cannot()))
        })
    });
    servers.collect()
}

fn mcp_server(name: &str, server: &Value) -> Option<Json> {
    let pairs = |key: &str| -> Vec<Value> {
        let pairs = server.get(key).and_then(Value::as_object);
        let pairs = pairs.into_iter().flatten();
        pairs
            .map(|(name, value)| json!({"name": name, "value": plain(value)}))
            .collect()
    };
    let mut out = Map::new();
    out.insert("name".to_owned(), name.into());
    if let Some(command) = server.get("command").and_then(Value::as_str) {
        out.insert("command".to_owned(), command.into());
        let args = server.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten().map(plain).collect();
        out.insert("args".to_owned(), Value::Array(args));
        out.insert("env".to_owned(), pairs("env").into());
    } else {
        let http = server.get("httpUrl").and_then(Value::as_str);
        let url = http.or_else(|| server.get("url").and_then(Value::as_str))?;
        let kind = server.get("type").and_then(Value::as_str);
        let kind = kind.filter(|kind| *kind == "sse").unwrap_or("http");
        out.insert("type".to_owned(), kind.into());
        out.insert("url".to_owned(), url.into());
        out.insert("headers".to_owned(), pairs("headers").into());
    }
    Some(Json::from_value(&out))
}

/// Numbers and switches are written as what they look like: the protocol has only texts here.
fn plain(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        other => Value::String(other.to_string()),
    }
}
