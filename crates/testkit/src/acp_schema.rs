//! Checks the messages of a client or an agent against the protocol's own JSON Schema.
//!
//! The schema is that of the official SDK, as `cargo xtask test` installs it: tests that ask it carry the feature `peers`.

mod recording;
mod strict;

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use jsonschema::ValidatorMap;
use serde_json::{Value, json};

use crate::gemini::peers;

const SCHEMA: &str = "node_modules/acp-sdk-2.4.0/schema/v1/schema.json";
/// What older agents understand and the schema no longer knows.
const LEGACY: &str = "session/set_model";

/// The messages that a client and an agent may send.
#[derive(Debug)]
pub struct SchemaOracle {
    validators: ValidatorMap,
    client: Sendable,
    agent: Sendable,
}

/// What one side may send.
#[derive(Debug)]
struct Sendable {
    requests: MethodNames,
    notifications: MethodNames,
    results: MethodNames,
}

/// Methods, and the schema's name of the shape for each.
type MethodNames = BTreeMap<String, String>;

impl SchemaOracle {
    /// The schema, if there are peers: for tests that run without them as well, and only then are not held to it.
    ///
    /// # Panics
    /// If there are peers, but not this one.
    pub fn if_installed() -> Option<&'static Self> {
        std::env::var_os("LAPIDARY_PEERS").map(|_| Self::load())
    }

    /// Reads the schema, once.
    ///
    /// # Panics
    /// If the peers are not installed, or the schema has changed: nothing passes for want of a peer.
    pub fn load() -> &'static Self {
        static LOADED: OnceLock<SchemaOracle> = OnceLock::new();
        LOADED.get_or_init(|| {
            let path = peers().join(SCHEMA);
            let text = fs::read_to_string(&path);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            Self::new(serde_json::from_str(&text).expect("a schema is JSON"))
        })
    }

    fn new(mut schema: Value) -> Self {
        add_legacy(&mut schema["$defs"]);
        strict::tighten_schema(&mut schema);
        let names =
            |side: &str, kind: &str| method_names(&schema["$defs"], [side, "protocol"], kind);
        // The schema names the side that handles a method.
        let sendable = |sender: &str, handler: &str| Sendable {
            requests: names(handler, "Request"),
            notifications: names(handler, "Notification"),
            results: names(sender, "Response"),
        };
        Self {
            client: sendable("client", "agent"),
            agent: sendable("agent", "client"),
            validators: jsonschema::validator_map_for(&schema).expect("it is a schema"),
        }
    }

    /// Whether a client may send this line. For an answer it has to be said which method it answers.
    ///
    /// Members that the schema does not know are refused too: the protocol wants them in `_meta`.
    pub fn check_sent(&self, line: &str, answers_to: Option<&str>) -> Result<(), String> {
        self.check_line(&self.client, line, answers_to)
    }

    /// Whether an agent may send this line. For an answer it has to be said which method it answers.
    pub fn check_sent_by_agent(&self, line: &str, answers_to: Option<&str>) -> Result<(), String> {
        self.check_line(&self.agent, line, answers_to)
    }

    fn check_line(
        &self,
        sender: &Sendable,
        line: &str,
        answers_to: Option<&str>,
    ) -> Result<(), String> {
        let checked = match serde_json::from_str::<Value>(line) {
            Err(error) => Err(format!("no JSON: {error}")),
            Ok(message) => self.check_message(sender, &message, answers_to),
        };
        checked.map_err(|wrong| format!("{wrong}\n  in {line}"))
    }

    fn check_message(
        &self,
        sender: &Sendable,
        message: &Value,
        answers_to: Option<&str>,
    ) -> Result<(), String> {
        if message["jsonrpc"] != "2.0" {
            return Err("no message of JSON-RPC 2.0".to_owned());
        }
        let id = message.get("id");
        if let Some(id) = id {
            self.check("RequestId", id)?;
        }
        match (message["method"].as_str(), id) {
            (Some(method), Some(_)) => {
                only_members(message, &["jsonrpc", "id", "method", "params"])?;
                self.check_call(&sender.requests, method, message.get("params"))
            }
            (Some(method), None) => {
                only_members(message, &["jsonrpc", "method", "params"])?;
                self.check_call(&sender.notifications, method, message.get("params"))
            }
            (None, Some(_)) => self.check_answer(sender, message, answers_to),
            (None, None) => Err("neither a call nor an answer".to_owned()),
        }
    }

    fn check_call(
        &self,
        known: &MethodNames,
        method: &str,
        params: Option<&Value>,
    ) -> Result<(), String> {
        match known.get(method) {
            // Params may be absent: an empty object stands for them.
            Some(name) => self.check(name, params.unwrap_or(&json!({}))),
            None if method.starts_with('_') => Ok(()),
            None => Err(format!("nobody knows `{method}`, called like this")),
        }
    }

    fn check_answer(
        &self,
        sender: &Sendable,
        answer: &Value,
        answers_to: Option<&str>,
    ) -> Result<(), String> {
        let method = answers_to.ok_or("an answer that nobody asked for")?;
        match (answer.get("result"), answer.get("error")) {
            (None, Some(error)) => {
                only_members(answer, &["jsonrpc", "id", "error"])?;
                self.check("Error", error)
            }
            (Some(result), None) => {
                only_members(answer, &["jsonrpc", "id", "result"])?;
                self.check_call(&sender.results, method, Some(result))
            }
            _ => Err("an answer has either a result or an error".to_owned()),
        }
    }

    fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        let validator = self.validators.get(&format!("#/$defs/{name}"));
        let validator = validator.ok_or_else(|| format!("the schema has no `{name}`"))?;
        let wrong: Vec<_> = validator
            .iter_errors(value)
            .map(|error| format!("{name}{}: {error}", error.instance_path()))
            .collect();
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.join("\n"))
        }
    }
}

/// The shapes with names of this ending, by the methods that they belong to, if one of these sides handles them.
fn method_names(definitions: &Value, sides: [&str; 2], kind: &str) -> MethodNames {
    let definitions = definitions.as_object().into_iter().flatten();
    let of_kind = definitions.filter(|(name, _)| name.ends_with(kind));
    of_kind
        .filter_map(|(name, definition)| {
            let side = definition["x-side"].as_str()?;
            let method = definition["x-method"].as_str()?.to_owned();
            sides.contains(&side).then(|| (method, name.clone()))
        })
        .collect()
}

fn only_members(message: &Value, members: &[&str]) -> Result<(), String> {
    let mut names = message.as_object().into_iter().flat_map(|map| map.keys());
    match names.find(|name| !members.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("JSON-RPC has no `{name}` here")),
    }
}

/// As it was before there were config options.
fn add_legacy(definitions: &mut Value) {
    let id = json!({ "type": "string" });
    definitions["LegacySetModelRequest"] = json!({
        "type": "object",
        "properties": { "sessionId": id, "modelId": id, "_meta": {} },
        "required": ["sessionId", "modelId"],
        "x-side": "agent",
        "x-method": LEGACY,
    });
}
