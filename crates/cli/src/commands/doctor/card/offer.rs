//! Puts the agent's answers about itself and its sessions on the card. Its texts are cut to a readable length.

use std::time::Duration;

use lapidary::engine::acp::{InitializeAnswer, OpenedSession};
use lapidary::vocab::Json;
use lapidary::vocab::doctor::{Card, CardAbilities, CardSession};
use serde_json::Value;

const LETTERS: usize = 200;
const ITEMS: usize = 100;

pub(super) fn clip_text(text: &str) -> String {
    text.chars().take(LETTERS).collect()
}

pub(super) fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Puts the answer to `initialize` on the card.
pub(super) fn note_initialize(card: &mut Card, theirs: &InitializeAnswer, took: Duration) {
    let info = &json_value(&theirs.whole)["agentInfo"];
    let text = |name: &str| info[name].as_str().map(clip_text);
    let methods = theirs.auth_methods.iter().take(ITEMS);
    let can = theirs.offered;
    card.start_ms = Some(whole_milliseconds(took));
    card.protocol_version = Some(theirs.protocol_version);
    card.agent_name = text("name");
    card.agent_version = text("version");
    card.auth_methods = methods.map(|method| clip_text(&method.id)).collect();
    card.abilities = Some(CardAbilities {
        load: can.load,
        list: can.list,
        resume: can.resume,
        close: can.close,
        delete: can.delete,
        image: can.image,
        audio: can.audio,
        embedded: can.embedded,
        mcp_http: can.mcp_http,
        mcp_sse: can.mcp_sse,
    });
}

/// The modes, models and options of an opened session.
pub(super) fn card_session(opened: &OpenedSession) -> CardSession {
    let options = opened
        .config_options
        .as_ref()
        .map(json_value)
        .unwrap_or_default();
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let modes = opened.modes.as_ref();
    let current = modes.map(|modes| clip_text(&modes.current));
    CardSession {
        opened: true,
        error_code: None,
        mode: current.filter(|mode| !mode.is_empty()),
        modes: modes.map_or_else(Vec::new, |modes| {
            let listed = modes.available.iter().take(ITEMS);
            listed.map(|mode| clip_text(mode)).collect()
        }),
        options: member_texts(options, "id"),
        models: session_models(opened, options),
    }
}

/// The models of the option for them, or as agents listed them before there were options.
fn session_models(opened: &OpenedSession, options: &[Value]) -> Vec<String> {
    let option = options.iter().find(|option| option["category"] == "model");
    if let Some(choices) = option.and_then(|option| option["options"].as_array()) {
        let groups = choices.iter().flat_map(|choice| match &choice["options"] {
            Value::Array(inner) => inner.clone(),
            _ => vec![choice.clone()],
        });
        return member_texts(&groups.take(ITEMS).collect::<Vec<_>>(), "value");
    }
    let older = opened.models.as_ref().map(json_value).unwrap_or_default();
    let older = older["availableModels"].as_array();
    member_texts(older.map(Vec::as_slice).unwrap_or_default(), "modelId")
}

fn member_texts(items: &[Value], name: &str) -> Vec<String> {
    let texts = items.iter().filter_map(|item| item[name].as_str());
    texts.take(ITEMS).map(clip_text).collect()
}

/// JSON that is nested too deeply to be parsed is null here.
fn json_value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or_default()
}
