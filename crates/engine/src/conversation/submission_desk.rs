//! Receives the answers that the agent hands over through `submit_result`: one socket for each session.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_process::stdio_bridge::BridgeListener;
use lapidary_vocab::Json;
use lapidary_vocab::event::Provider;
use tokio::task::JoinSet;

use super::request::ConversationRequest;
use crate::output_schema::{OutputSchema, SubmissionInbox, SubmissionTool, TurnSubmissions};
use crate::recording::SideDirectory;
use crate::run::injected_events::EventInjector;

/// How many processes of an agent can be connected for one session. Agents start one server for a session, some one more for each
/// sub-agent; another process is hung up on.
const MOST_CLIENTS: usize = 16;

/// The desk of one conversation. When it is dropped, its sockets are gone and its clients are hung up on.
#[derive(Debug)]
pub(super) struct SubmissionDesk {
    schema: OutputSchema,
    tool: SubmissionTool,
    provider: Provider,
    directory: SideDirectory,
    sessions: Mutex<DeskSessions>,
}

#[derive(Debug, Default)]
struct DeskSessions {
    /// The sockets that were made.
    count: usize,
    listeners: JoinSet<()>,
    inboxes: BTreeMap<String, Arc<SubmissionInbox>>,
}

/// The MCP servers of a session that is about to be opened.
#[derive(Debug)]
pub(super) struct SessionServers {
    /// All of them, as the protocol's schema has them.
    pub(super) all: Vec<Json>,
    inbox: Option<Arc<SubmissionInbox>>,
}

impl SessionServers {
    /// These servers, and none of ours.
    pub(super) fn without_own(others: &[Json]) -> Self {
        Self {
            all: others.to_vec(),
            inbox: None,
        }
    }
}

impl SubmissionDesk {
    /// The desk of a run, if its answer may be handed over through a tool. Without it the answer comes as text, and a notice says why.
    pub(super) fn open(request: &ConversationRequest, say: &EventInjector) -> Option<Self> {
        let run = &request.run;
        let schema = run.output_schema.clone()?;
        let tool = schema.tool()?.clone();
        let directory = SideDirectory::create_for_answers(&run.records.root, &run.run);
        let directory = directory.inspect_err(|error| report_missing_tool(say, error));
        Some(Self {
            schema,
            tool,
            provider: request.provider.clone(),
            directory: directory.ok()?,
            sessions: Mutex::default(),
        })
    }

    /// The servers of a session that is about to be opened: these, and ours with a socket of its own.
    pub(super) fn session_servers(&self, others: &[Json]) -> io::Result<SessionServers> {
        let mut sessions = self.lock_sessions();
        sessions.count += 1;
        let socket = self.directory.path().join(sessions.count.to_string());
        let listener = BridgeListener::bind(&socket)?;
        let inbox = Arc::new(SubmissionInbox::new(&self.schema, &self.provider));
        let clients = accept_clients(listener, self.tool.clone(), Arc::clone(&inbox));
        sessions.listeners.spawn(clients);
        let own = self.tool.server_entry(&socket);
        Ok(SessionServers {
            all: others.iter().cloned().chain([own]).collect(),
            inbox: Some(inbox),
        })
    }

    /// The session was opened with these servers.
    pub(super) fn assign_session(&self, session: &str, servers: SessionServers) {
        if let Some(inbox) = servers.inbox {
            let mut sessions = self.lock_sessions();
            sessions.inboxes.insert(session.to_owned(), inbox);
        }
    }

    /// Takes the answers of the turn of a session.
    pub(super) fn take_turn(&self, session: &str) -> TurnSubmissions {
        let inbox = self.lock_sessions().inboxes.get(session).cloned();
        inbox.map(|inbox| inbox.take_turn()).unwrap_or_default()
    }

    fn lock_sessions(&self) -> MutexGuard<'_, DeskSessions> {
        // Each change is whole, even if a task panicked.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says why the agent has to answer with text.
pub(super) fn report_missing_tool(say: &EventInjector, error: &io::Error) {
    let message = format!("the agent gets no tool for its answer: {error}");
    say.inject_notice(None, message);
}

/// Serves the clients of a session until this is dropped.
async fn accept_clients(
    listener: BridgeListener,
    tool: SubmissionTool,
    inbox: Arc<SubmissionInbox>,
) {
    let mut clients = JoinSet::new();
    loop {
        // Both branches are cancel-safe.
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(stream) if clients.len() < MOST_CLIENTS => {
                    clients.spawn(tool.serve(stream, &inbox));
                }
                Ok(_) => {}
                Err(_) => break, // without descriptors the answer comes as text
            },
            Some(_) = clients.join_next() => {}
        }
    }
    while clients.join_next().await.is_some() {}
}
