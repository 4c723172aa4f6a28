//! A session begins, or is opened again: its id, its settings, its mode.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{ConfigOptions, Provider, SessionInit};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::results::{InitializeResult, SessionOpened};

use super::AcpNormalizer;
use super::line::{AcpLine, LineExtras};
use super::provider::provider_family;
use super::requests::PendingRequest;
use crate::{EventBuffer, own};

/// The agent's own description. It belongs to every session of the connection.
#[derive(Debug, Default)]
pub(super) struct AgentHandshake {
    said: LineExtras,
    /// It speaks a version of the protocol that is still a draft.
    pub(super) is_of_drafts: bool,
}

impl AgentHandshake {
    pub(super) fn keep_members(&mut self, said: &InitializeResult<'_>) {
        let members = [
            // The specification's name, and the one that programs in the field read.
            ("acp.capabilities", said.agent_capabilities),
            ("acp.agentCapabilities", said.agent_capabilities),
            ("acp.agentInfo", said.agent_info),
            ("acp.authMethods", said.auth_methods),
            ("acp.protocolVersion", said.protocol_version),
        ];
        let present = members.into_iter();
        let version = said.protocol_version.and_then(Token::u64);
        self.is_of_drafts = version.is_some_and(|version| version >= 2);
        self.said = present
            .filter_map(|(key, value)| Some((key, own::owned_json(value?))))
            .collect();
    }
}

impl AcpNormalizer {
    /// The agent has introduced itself.
    pub(super) fn note_handshake(&mut self, said: &InitializeResult<'_>) {
        self.handshake.keep_members(said);
        self.verdict.note_handshake();
        let name = said.agent_info.and_then(|info| info.get("name")?.string());
        if self.stamp.provider == Provider::Acp
            && let Some(family) = name.and_then(|name| provider_family(&name))
        {
            self.verdict.set_family(&family);
            self.stamp.provider = family;
        }
    }

    pub(super) fn emit_session_start(
        &mut self,
        opened: &SessionOpened<'_>,
        asked: PendingRequest,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        self.belongs_to(opened.session_id);
        let (model, available_models) = session_models(opened, current);
        let init = SessionInit {
            model,
            available_models,
            reasoning_effort: config_option(opened, "thought_level")
                .and_then(|option| own::string_token(option.get("currentValue")))
                .map(|value| current.shared_text(value)),
            cwd: asked.detail,
            mcp_servers: asked.servers,
            ..SessionInit::default()
        };
        let extra = self.handshake.said.clone();
        self.emit_event(Body::SessionInit(Box::new(init)), extra, current, out);
        if opened.config_options.is_some() {
            let config_options = current.list_elements(opened.config_options);
            let body = Body::ConfigOptions(ConfigOptions { config_options });
            self.emit_event(body, Vec::new(), current, out);
        }
        if let Some(modes) = opened.modes {
            let list = modes
                .get("availableModes")
                .and_then(|it| it.if_kind(TokenKind::Array));
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            let elements = list.into_iter().flat_map(Token::elements);
            session.modes = elements.map(own::owned_json).collect();
            if let Some(mode) = own::string_token(modes.get("currentModeId")) {
                self.emit_mode(current.shared_text(mode), current, out);
            }
        }
    }
}

/// The option of a category.
fn config_option<'a>(opened: &SessionOpened<'a>, category: &str) -> Option<Token<'a>> {
    let options = opened.config_options?.if_kind(TokenKind::Array)?;
    options
        .elements()
        .find(|option| option.get("category").is_some_and(|word| word.is(category)))
}

/// The model in use and those to choose from: an option today, an object of its own in older agents.
fn session_models(opened: &SessionOpened<'_>, current: &AcpLine<'_>) -> (Option<Text>, Vec<Json>) {
    if let Some(option) = config_option(opened, "model") {
        let model =
            own::string_token(option.get("currentValue")).map(|value| current.shared_text(value));
        let choices = option
            .get("options")
            .and_then(|it| it.if_kind(TokenKind::Array));
        let choices = choices.into_iter().flat_map(Token::elements);
        let flat = choices.flat_map(|choice| match choice.get("options") {
            Some(group) => group.elements().collect(),
            None => vec![choice],
        });
        return (
            model,
            flat.map(|choice| model_choice(choice, "value")).collect(),
        );
    }
    let Some(models) = opened.models else {
        return (None, Vec::new());
    };
    let model =
        own::string_token(models.get("currentModelId")).map(|value| current.shared_text(value));
    let list = models
        .get("availableModels")
        .and_then(|it| it.if_kind(TokenKind::Array));
    let list = list.into_iter().flat_map(Token::elements);
    (
        model,
        list.map(|choice| model_choice(choice, "modelId")).collect(),
    )
}

/// A model to choose, under our names.
fn model_choice(choice: Token<'_>, id: &str) -> Json {
    let members = [
        ("value", choice.get(id)),
        ("displayName", choice.get("name")),
        ("description", choice.get("description")),
    ];
    let present = members.into_iter();
    Json::object(
        present.filter_map(|(key, value)| Some((key, own::owned_json(value?.non_null()?)))),
    )
}
