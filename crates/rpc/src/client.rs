//! The client's side of the protocol: each method as a function, with exactly the parameters that the schema has.
//!
//! The agent's answers are read tolerantly: its capabilities, its login methods, and the session that it opened. The answer as it
//! came is kept beside them.

mod answers;
mod session_list;
mod session_settings;

use std::path::Path;
use std::time::Duration;

use lapidary_vocab::{Json, Text};

use super::connection::{Connection, PendingCall};
use super::error::{ConnectionError, RequestError};
use super::message::RequestAnswer;
pub use answers::{
    AgentCapabilities, AuthMethod, InitializeAnswer, OpenedSession, PromptAnswer, SessionModes,
};
pub use session_settings::{ModeSearch, SessionMode, SessionSettings};

/// Our capabilities for every agent, as the schema has them.
fn client_capabilities() -> serde_json::Value {
    serde_json::json!({
        "fs": {"readTextFile": true, "writeTextFile": true},
        "terminal": true,
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    })
}

/// The method by which a client sends a message of the user to an agent that is at work: an extension of Lapidary's own agents. An agent
/// that has it says so in `agentCapabilities._meta.lapidary.steering`.
pub const STEER: &str = "_lapidary/steer";

/// The version of the protocol that we speak.
pub const VERSION: u64 = 1;

/// Speaks the protocol's methods. Clones speak over the same connection.
#[derive(Debug, Clone)]
pub struct AcpClient {
    connection: Connection,
    /// How long the agent may take to answer a request other than a prompt.
    patience: Duration,
}

impl AcpClient {
    /// A client that waits so long for each answer, but for those to prompts.
    pub fn new(connection: Connection, patience: Duration) -> Self {
        Self {
            connection,
            patience,
        }
    }

    /// The connection itself.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends our capabilities and returns the agent's.
    pub async fn initialize(
        &self,
        time: Option<Duration>,
    ) -> Result<InitializeAnswer, RequestError> {
        self.initialize_with(&Json::from_value(&client_capabilities()), time)
            .await
    }

    /// The same for a client behind which a user fills in forms and opens pages.
    pub async fn initialize_for_user(
        &self,
        time: Option<Duration>,
    ) -> Result<InitializeAnswer, RequestError> {
        let mut abilities = client_capabilities();
        abilities["elicitation"] = serde_json::json!({"form": {}, "url": {}});
        self.initialize_with(&Json::from_value(&abilities), time)
            .await
    }

    /// The same for a client that can do only this, as the schema has it.
    pub async fn initialize_with(
        &self,
        abilities: &Json,
        time: Option<Duration>,
    ) -> Result<InitializeAnswer, RequestError> {
        let version = env!("CARGO_PKG_VERSION");
        let info = serde_json::json!({"name": "lapidary", "title": "Lapidary", "version": version});
        let params = Json::object([
            ("protocolVersion", Json::from_value(&VERSION)),
            ("clientCapabilities", abilities.clone()),
            ("clientInfo", Json::from_value(&info)),
        ]);
        let answer = self.connection.request("initialize", Some(&params), time);
        Ok(InitializeAnswer::from_token(&answer.await?.result))
    }

    /// Logs in by one of the methods that the agent has listed.
    pub async fn authenticate(&self, method: &str) -> Result<RequestAnswer, RequestError> {
        let method = Json::from_value(&method);
        self.send_request("authenticate", [("methodId", method)])
            .await
    }

    /// Opens a session.
    pub async fn new_session(
        &self,
        setting: &SessionParams<'_>,
    ) -> Result<OpenedSession, RequestError> {
        let answer = self
            .send_request("session/new", setting.json_members())
            .await?;
        Ok(OpenedSession::from_token(&answer, None))
    }

    /// Opens an earlier session; the agent says all of it again before it answers.
    pub async fn load_session(
        &self,
        id: &str,
        setting: &SessionParams<'_>,
    ) -> Result<OpenedSession, RequestError> {
        self.open_again("session/load", id, setting).await
    }

    /// Opens an earlier session, whose history is not said again.
    pub async fn resume_session(
        &self,
        id: &str,
        setting: &SessionParams<'_>,
    ) -> Result<OpenedSession, RequestError> {
        self.open_again("session/resume", id, setting).await
    }

    async fn open_again(
        &self,
        method: &str,
        id: &str,
        setting: &SessionParams<'_>,
    ) -> Result<OpenedSession, RequestError> {
        let members = [session_param(id)]
            .into_iter()
            .chain(setting.json_members());
        let answer = self.send_request(method, members).await?;
        Ok(OpenedSession::from_token(&answer, Some(id)))
    }

    /// The agent's sessions, a page of them: those of a directory, from a cursor on.
    pub async fn list_sessions(
        &self,
        cwd: Option<&Path>,
        cursor: Option<&str>,
    ) -> Result<RequestAnswer, RequestError> {
        let cwd = cwd.map(|cwd| ("cwd", Json::from_value(&cwd.to_string_lossy())));
        let cursor = cursor.map(|cursor| ("cursor", Json::from_value(&cursor)));
        self.send_request("session/list", cwd.into_iter().chain(cursor))
            .await
    }

    /// Ends a session, which stays on disk.
    pub async fn close_session(&self, id: &str) -> Result<RequestAnswer, RequestError> {
        self.send_request("session/close", [session_param(id)])
            .await
    }

    /// Deletes a session.
    pub async fn delete_session(&self, id: &str) -> Result<RequestAnswer, RequestError> {
        self.send_request("session/delete", [session_param(id)])
            .await
    }

    /// Puts a session into one of the modes that it has listed.
    pub async fn set_mode(&self, id: &str, mode: &str) -> Result<RequestAnswer, RequestError> {
        let mode = ("modeId", Json::from_value(&mode));
        self.send_request("session/set_mode", [session_param(id), mode])
            .await
    }

    /// Sets one of the options that the session has listed: a text for a choice, `true` or `false` for a switch.
    pub async fn set_config_option(
        &self,
        id: &str,
        option: &str,
        value: &Json,
    ) -> Result<RequestAnswer, RequestError> {
        let option = ("configId", Json::from_value(&option));
        let is_switch = value.token().bool().is_some();
        let kind = is_switch.then(|| ("type", Json::from_value(&"boolean")));
        let members = [session_param(id), option, ("value", value.clone())];
        self.send_request("session/set_config_option", members.into_iter().chain(kind))
            .await
    }

    /// Chooses a model, as agents had it before there were options.
    pub async fn set_model(&self, id: &str, model: &str) -> Result<RequestAnswer, RequestError> {
        let model = ("modelId", Json::from_value(&model));
        self.send_request("session/set_model", [session_param(id), model])
            .await
    }

    /// Gives the agent a prompt of these content blocks. The answer comes when the turn is over, however long that takes.
    pub fn prompt(&self, id: &str, prompt: &[Json]) -> Result<PendingCall, RequestError> {
        let prompt = ("prompt", Json::array(prompt.iter().cloned()));
        let params = Json::object([session_param(id), prompt]);
        self.connection.ask("session/prompt", Some(&params))
    }

    /// Sends a message of the user to an agent that is at work on a prompt of a session. The answer comes when its model gets the
    /// message, or an error when the turn is over before.
    pub async fn steer(&self, id: &str, text: &Text) -> Result<RequestAnswer, RequestError> {
        let params = Json::object([session_param(id), ("text", Json::from(text))]);
        self.connection.request(STEER, Some(&params), None).await
    }

    /// Asks the agent to end a session's turn.
    pub fn cancel(&self, id: &str) -> Result<(), ConnectionError> {
        let params = Json::object([session_param(id)]);
        self.connection.notify("session/cancel", Some(&params))
    }

    async fn send_request<'a>(
        &self,
        method: &str,
        members: impl IntoIterator<Item = (&'a str, Json)>,
    ) -> Result<RequestAnswer, RequestError> {
        let params = Json::object(members);
        let time = Some(self.patience);
        self.connection.request(method, Some(&params), time).await
    }
}

/// The directories and MCP servers of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionParams<'a> {
    /// Its directory, absolute.
    pub cwd: &'a Path,
    /// Other directories that belong to its workspace. For agents that can do with them.
    pub additional: &'a [std::path::PathBuf],
    /// MCP servers that the agent is to use, each as the schema has it.
    pub mcp_servers: &'a [Json],
    /// Extension data for the agent (`_meta`).
    pub meta: Option<&'a Json>,
}

impl SessionParams<'_> {
    fn json_members(&self) -> impl Iterator<Item = (&'static str, Json)> {
        let cwd = Json::from_value(&self.cwd.to_string_lossy());
        let servers = Json::array(self.mcp_servers.iter().cloned());
        let others: Vec<_> = self
            .additional
            .iter()
            .map(|dir| dir.to_string_lossy())
            .collect();
        let others = (!others.is_empty()).then(|| Json::from_value(&others));
        let others = others.map(|others| ("additionalDirectories", others));
        let meta = self.meta.map(|meta| ("_meta", meta.clone()));
        [("cwd", cwd), ("mcpServers", servers)]
            .into_iter()
            .chain(others)
            .chain(meta)
    }
}

fn session_param(id: &str) -> (&'static str, Json) {
    ("sessionId", Json::from(&Text::from(id.to_owned())))
}
