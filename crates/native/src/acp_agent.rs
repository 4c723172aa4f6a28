//! An agent of ours as an agent that speaks ACP, at the other end of a pipe in memory.
//!
//! The engine talks to it as to any agent: it records both sides, asks rules, hooks and people about calls, counts the budget and ends
//! the run. What ACP has no field for stands in `_meta.lapidary`: the parent of a sub-agent's call, and how a task ended.

mod answers;
mod gate;
mod hooks;
mod updates;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapidary_gemini::agents::OutputConfig;
use lapidary_json::Token;
use lapidary_rpc::{
    Connection, ConnectionLimits, HandledMethods, IncomingRequest, LocalAgent, MessageContent,
    ObservedLine, OpenConnection, RpcError, STEER, TrafficLine, connect,
};
use lapidary_vocab::Json;
use lapidary_wire::gemini::hooks::HookEvent;
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::executor::{AgentExecutor, AgentRequest, RemoteCall, SteeringInbox, TerminateReason};
use crate::ids::random_uuid;
use crate::tool::{AskScope, PermissionGate};
use answers::{answer_of, answer_without_result, initialize_answer, new_session_answer};
use gate::AcpGate;
use hooks::{AcpHooks, events_in};
use updates::UpdateWriter;

/// How long tasks may take to end once the client is gone.
const LAST_TASKS: Duration = Duration::from_secs(6);

/// The work behind the agent: which agent runs with which means, for a prompt.
pub trait AcpTask: fmt::Debug + Send + Sync {
    /// The names that a client shows.
    fn identity(&self) -> AcpIdentity;

    /// The work for a prompt in a session. An executor asks `gate`.
    ///
    /// # Errors
    /// Why the prompt cannot be taken on, in a sentence.
    fn prepare(
        &self,
        session: &AcpSession,
        prompt: &str,
        gate: Arc<dyn PermissionGate>,
    ) -> Result<AgentWork, String>;
}

/// The work for a prompt.
#[derive(Debug)]
pub enum AgentWork {
    /// A local agent, and the executor for it.
    Local(Box<AgentExecutor>, Box<AgentRequest>),
    /// A remote agent. The user named it, so no permission is asked for.
    Remote(RemoteCall),
}

/// The description of an agent for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpIdentity {
    /// The agent's name.
    pub name: String,
    /// The model that it runs on.
    pub model: String,
    /// Whether it takes messages of the user while it is at work ([`STEER`]).
    pub is_steerable: bool,
}

/// A session that a client opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpSession {
    /// Its id.
    pub id: String,
    /// The directory that it works in.
    pub directory: PathBuf,
}

/// An agent for [`lapidary_rpc`] that does this work.
pub fn local_agent(task: Arc<dyn AcpTask>) -> LocalAgent {
    LocalAgent::new(move |stream| serve(stream, Arc::clone(&task)))
}

/// Serves one client until it is gone.
pub async fn serve(stream: DuplexStream, task: Arc<dyn AcpTask>) {
    let methods =
        HandledMethods::from_names(["initialize", "session/new", "session/prompt", STEER]);
    let connected = connect(
        tokio::io::split(stream),
        methods,
        ConnectionLimits::default(),
    );
    let OpenConnection {
        connection,
        mut requests,
        mut observer,
    } = connected;
    let agent = Arc::new(AcpAgent {
        task,
        connection,
        sessions: Mutex::default(),
    });
    let mut prompts = JoinSet::new();
    loop {
        // All of these are cancel-safe.
        tokio::select! {
            biased;
            incoming = requests.next() => match incoming {
                Some(incoming) => agent.handle_request(incoming, &mut prompts),
                None => break,
            },
            observed = observer.next() => match observed {
                Some(observed) => agent.observe_cancellation(&observed),
                None => break,
            },
            Some(_) = prompts.join_next() => {}
        }
    }
    agent.cancel_all();
    let _ = timeout(LAST_TASKS, prompts.join_all()).await;
}

struct AcpAgent {
    task: Arc<dyn AcpTask>,
    connection: Connection,
    sessions: Mutex<BTreeMap<String, OpenSession>>,
}

#[derive(Debug, Clone)]
struct OpenSession {
    session: AcpSession,
    /// The events for which the client has hooks.
    hooks: Vec<HookEvent>,
    ask_scope: AskScope,
    /// The schema that the client wants the result of every task to fit.
    output_schema: Option<Value>,
    /// The prompt that is being worked on; none while there is none.
    prompt: Option<RunningPrompt>,
}

/// A prompt that is being worked on.
#[derive(Debug, Clone, Default)]
struct RunningPrompt {
    cancelled: CancellationToken,
    steering: Arc<SteeringInbox>,
}

impl AcpAgent {
    fn handle_request(self: &Arc<Self>, incoming: IncomingRequest, prompts: &mut JoinSet<()>) {
        let params = incoming.params.as_ref();
        let params = params.and_then(|params| serde_json::from_str(params.as_str()).ok());
        let params: Value = params.unwrap_or(Value::Null);
        let method = incoming.method.to_str().into_owned();
        match method.as_str() {
            "initialize" => {
                let answer = initialize_answer(&self.task.identity());
                incoming.respond.answer(&json_of(&answer));
            }
            "session/new" => {
                let id = self.open(&params);
                let opened = new_session_answer(&id, &self.task.identity().model);
                incoming.respond.answer(&json_of(&opened));
            }
            STEER => match self.add_hint(&params) {
                Ok(told) => drop(prompts.spawn(answer_hint(told, incoming))),
                Err(refusal) => incoming.respond.refuse(&refusal),
            },
            _ => match self.begin_prompt(&params) {
                Ok((open, running)) => {
                    let work = Arc::clone(self).answer_prompt(open, params, running, incoming);
                    prompts.spawn(work);
                }
                Err(refusal) => incoming.respond.refuse(&refusal),
            },
        }
    }

    fn open(&self, params: &Value) -> String {
        let id = random_uuid();
        let directory = params["cwd"].as_str().unwrap_or_default();
        let session = AcpSession {
            id: id.clone(),
            directory: PathBuf::from(directory),
        };
        let open = OpenSession {
            session,
            hooks: events_in(params),
            ask_scope: ask_scope_in(params),
            output_schema: params.pointer("/_meta/lapidary/outputSchema").cloned(),
            prompt: None,
        };
        self.lock_sessions().insert(id.clone(), open);
        id
    }

    /// Marks a session as being at work.
    fn begin_prompt(&self, params: &Value) -> Result<(OpenSession, RunningPrompt), RpcError> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let mut sessions = self.lock_sessions();
        let Some(open) = sessions.get_mut(id) else {
            let message = format!("there is no session `{id}`");
            return Err(RpcError::new(RpcError::BAD_PARAMS, message));
        };
        if open.prompt.is_some() {
            let message = "the session is still at work on a prompt";
            return Err(RpcError::new(RpcError::BAD_REQUEST, message));
        }
        let running = RunningPrompt::default();
        let session = open.clone();
        open.prompt = Some(running.clone());
        Ok((session, running))
    }

    /// Adds a message of the user to the prompt that a session is at work on.
    fn add_hint(&self, params: &Value) -> Result<oneshot::Receiver<()>, RpcError> {
        let refuse = |message: &'static str| RpcError::new(RpcError::BAD_REQUEST, message);
        if !self.task.identity().is_steerable {
            return Err(refuse("the agent takes no messages while it is at work"));
        }
        let id = params["sessionId"].as_str().unwrap_or_default();
        let sessions = self.lock_sessions();
        let running = sessions.get(id).and_then(|open| open.prompt.as_ref());
        let running = running.ok_or_else(|| refuse("the session is not at work on a prompt"))?;
        let text = params["text"].as_str().unwrap_or_default();
        let added = running.steering.add_hint(text);
        added.map_err(|error| RpcError::new(RpcError::BAD_PARAMS, error.to_string()))
    }

    /// Works on one prompt, then answers it.
    async fn answer_prompt(
        self: Arc<Self>,
        open: OpenSession,
        params: Value,
        running: RunningPrompt,
        incoming: IncomingRequest,
    ) {
        let done = self.run(&open, &prompt_text(&params), running).await;
        if let Some(open) = self.lock_sessions().get_mut(&open.session.id) {
            open.prompt = None;
        }
        match done {
            Ok(answer) => incoming.respond.answer(&json_of(&answer)),
            Err(refusal) => incoming.respond.refuse(&refusal),
        }
    }

    async fn run(
        &self,
        open: &OpenSession,
        prompt: &str,
        running: RunningPrompt,
    ) -> Result<Value, RpcError> {
        let cancelled = &running.cancelled;
        let session = &open.session;
        let gate = Arc::new(AcpGate {
            connection: self.connection.clone(),
            session_id: session.id.clone(),
        });
        let prepared = self.task.prepare(session, prompt, gate);
        let refuse = |message: String| RpcError::new(RpcError::BAD_PARAMS, message);
        let writer = UpdateWriter::new(self.connection.clone(), session.id.clone());
        let listener = |activity| writer.write_activity(&activity);
        let (mut executor, mut request) = match prepared.map_err(refuse)? {
            AgentWork::Local(executor, request) => (executor, request),
            AgentWork::Remote(call) => {
                let outcome = call.run(None, &listener, cancelled).await;
                return answer_of(&outcome, &writer);
            }
        };
        if let Some(schema) = &open.output_schema {
            let definition = Arc::make_mut(&mut request.definition);
            definition.output_config = Some(OutputConfig::new(schema.clone()));
            definition.process_output = None; // it knows the definition's own result only
        }
        executor.ask_scope = open.ask_scope;
        executor.steering = Some(Arc::clone(&running.steering));
        if !open.hooks.is_empty() {
            executor.hooks = Some(Arc::new(self.hooks_of(open)));
        }
        let outcome = executor.run(&request, &listener, cancelled).await;
        let outcome = outcome.map_err(|error| refuse(error.to_string()))?;
        let has_result = outcome.terminate_reason != TerminateReason::ErrorNoCompleteTaskCall;
        if open.output_schema.is_some() && !has_result {
            return Ok(answer_without_result(&outcome));
        }
        answer_of(&outcome, &writer)
    }

    fn hooks_of(&self, open: &OpenSession) -> AcpHooks {
        AcpHooks {
            connection: self.connection.clone(),
            session_id: open.session.id.clone(),
            events: open.hooks.clone(),
        }
    }

    fn observe_cancellation(&self, observed: &ObservedLine) {
        let TrafficLine::Received(received) = &observed.traffic else {
            return;
        };
        if let MessageContent::Notification {
            method,
            params: Some(params),
        } = &received.what
            && method.to_str() == "session/cancel"
        {
            let id = params.token().get("sessionId").and_then(Token::string);
            let sessions = self.lock_sessions();
            let open = id.and_then(|id| sessions.get(id.as_ref()));
            if let Some(prompt) = open.and_then(|open| open.prompt.as_ref()) {
                prompt.cancelled.cancel();
            }
        }
    }

    fn cancel_all(&self) {
        for open in self.lock_sessions().values() {
            open.prompt.iter().for_each(|it| it.cancelled.cancel());
        }
    }

    fn lock_sessions(&self) -> MutexGuard<'_, BTreeMap<String, OpenSession>> {
        // Each change is whole, even if a task panicked.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a message of the user once the model gets it.
async fn answer_hint(told: oneshot::Receiver<()>, incoming: IncomingRequest) {
    if told.await.is_ok() {
        return incoming.respond.answer(&Json::empty_object());
    }
    let message = "the turn ended before the model could be told";
    let refusal = RpcError::new(RpcError::BAD_REQUEST, message);
    incoming.respond.refuse(&refusal);
}

/// A client with rules wants to judge every call.
fn ask_scope_in(params: &Value) -> AskScope {
    if params["_meta"]["lapidary"]["judgesEveryCall"] == true {
        AskScope::EveryCall
    } else {
        AskScope::NeedsPermission
    }
}

/// The texts of a prompt.
fn prompt_text(params: &Value) -> String {
    let blocks = params["prompt"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn json_of(value: &Value) -> Json {
    Json::from_value(value)
}
