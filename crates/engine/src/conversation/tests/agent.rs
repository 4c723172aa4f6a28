//! An agent that carries out the steps of its prompts, as `examples/agent.py` does. Semicolons separate the steps:
//!
//! ```text
//! say WORDS            sends the words as text
//! ask KIND PATH [ID]   asks for permission and sends the answer as text
//! drop KIND PATH ID    asks for permission and cancels the request once the signal PATH is given
//! form FIELD           asks the user to fill in a form and sends the answer as text
//! write PATH [ID]      writes a file through the client and sends whether it succeeded
//! wait SIGNAL          waits until the signal is given or the turn is cancelled
//! hang | deaf          waits until the turn is cancelled | for ever, ignoring a cancel
//! refuse               answers the prompt with an error
//! ```
//!
//! Flags, separated by spaces: `options` offers model, effort and a switch as session options, `modes` offers session modes, `switch` offers
//! the modes as a session option, `login` needs a login before the first session, `silent` answers nothing, `bare` has no capabilities.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::acp::LocalAgent;

/// Signals of a test to its agent, by name.
pub(super) type Signals = watch::Sender<BTreeSet<String>>;

/// The agent, which stops at a step `wait` or `drop` until the test gives the signal.
pub(super) fn agent(flags: &'static str, signals: &Arc<Signals>) -> LocalAgent {
    let signals = Arc::clone(signals);
    LocalAgent::new(move |stream| serve(stream, flags, Arc::clone(&signals)))
}

struct StepAgent {
    writes: tokio::sync::Mutex<WriteHalf<DuplexStream>>,
    /// Requests that the client has not answered, by id.
    waiting: Mutex<BTreeMap<i64, VecDeque<oneshot::Sender<Value>>>>,
    sessions: Mutex<BTreeMap<String, Session>>,
    next_id: AtomicI64,
    signals: Arc<Signals>,
    flags: &'static str,
    is_logged_in: AtomicBool,
    options: Mutex<BTreeMap<String, Value>>,
}

#[derive(Clone)]
struct Session {
    cwd: PathBuf,
    is_cancelled: Arc<watch::Sender<bool>>,
}

async fn serve(stream: DuplexStream, flags: &'static str, signals: Arc<Signals>) {
    let (reads, writes) = tokio::io::split(stream);
    let agent = Arc::new(StepAgent {
        writes: tokio::sync::Mutex::new(writes),
        waiting: Mutex::default(),
        sessions: Mutex::default(),
        next_id: AtomicI64::new(0),
        signals,
        flags,
        is_logged_in: AtomicBool::new(false),
        options: Mutex::default(),
    });
    let mut turns = JoinSet::new();
    let mut lines = BufReader::new(reads).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        if !agent.has("silent") {
            agent.take(message, &mut turns).await;
        }
    }
}

impl StepAgent {
    async fn take(self: &Arc<Self>, message: Value, turns: &mut JoinSet<()>) {
        let (id, params) = (message["id"].clone(), &message["params"]);
        let session = params["sessionId"].as_str().unwrap_or_default();
        let result = match message["method"].as_str() {
            None => return self.answered(message),
            Some("session/cancel") => {
                self.session(session).is_cancelled.send_replace(true);
                return;
            }
            Some("session/prompt") => {
                self.session(session).is_cancelled.send_replace(false);
                let texts = params["prompt"].as_array().unwrap().iter();
                let text = texts.filter_map(|block| block["text"].as_str()).collect();
                turns.spawn(Arc::clone(self).turn(id, session.to_owned(), text));
                return;
            }
            Some("session/new") if self.has("login") && !self.is_logged_in() => {
                let error = json!({"code": -32000, "message": "log in first"});
                return self.send(json!({"id": id, "error": error})).await;
            }
            Some(method) => self.result(method, params).await,
        };
        self.send(json!({"id": id, "result": result})).await;
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|it| it == flag)
    }

    fn is_logged_in(&self) -> bool {
        self.is_logged_in.load(Ordering::SeqCst)
    }

    async fn result(&self, method: &str, params: &Value) -> Value {
        let named = params["sessionId"].as_str();
        match method {
            "initialize" => {
                let more = json!({"list": {}, "resume": {}, "close": {}, "delete": {}});
                let able = json!({"loadSession": true, "sessionCapabilities": more});
                let able = if self.has("bare") { json!({}) } else { able };
                let methods = json!([{"id": "key", "name": "Key"}]);
                json!({"protocolVersion": 1, "agentCapabilities": able, "authMethods": methods})
            }
            "authenticate" => {
                self.is_logged_in.store(true, Ordering::SeqCst);
                json!({})
            }
            "session/new" => {
                let id = format!("s{}", self.sessions.lock().unwrap().len() + 1);
                let mut opened = self.open(&id, params);
                opened["sessionId"] = json!(id);
                opened
            }
            "session/load" => {
                self.say(named.unwrap(), "as I said").await;
                self.open(named.unwrap(), params)
            }
            "session/resume" => self.open(named.unwrap(), params),
            "session/list" => {
                let session = json!({"sessionId": "old", "cwd": params["cwd"]});
                json!({"sessions": [session], "nextCursor": params["cursor"]})
            }
            "session/set_config_option" => {
                let (id, value) = (params["configId"].as_str().unwrap(), &params["value"]);
                let mut options = self.options.lock().unwrap();
                options.insert(id.to_owned(), value.clone());
                drop(options);
                json!({"configOptions": self.listed()})
            }
            _ => json!({"_meta": {"told": [method, params]}}),
        }
    }

    fn open(&self, id: &str, params: &Value) -> Value {
        let session = Session {
            cwd: params["cwd"].as_str().unwrap().into(),
            is_cancelled: Arc::default(),
        };
        let mut sessions = self.sessions.lock().unwrap();
        sessions.insert(id.to_owned(), session);
        let mut answer = json!({});
        if self.has("options") || self.has("switch") {
            answer["configOptions"] = self.listed();
        }
        if self.has("modes") {
            let modes = ["code", "plan"].map(|id| json!({"id": id, "name": id}));
            answer["modes"] = json!({"currentModeId": "code", "availableModes": modes});
        }
        answer
    }

    /// The options as they are set.
    fn listed(&self) -> Value {
        let set = self.options.lock().unwrap();
        let value = |id: &str, usual: Value| set.get(id).cloned().unwrap_or(usual);
        let select = |values: &[&str]| -> Vec<_> {
            let values = values.iter();
            values.map(|it| json!({"value": it, "name": it})).collect()
        };
        if self.has("switch") {
            return json!([{"id": "mode", "name": "Mode", "category": "mode", "type": "select",
                "currentValue": value("mode", json!("build")), "options": select(&["build", "plan"])}]);
        }
        json!([
            {"id": "llm", "name": "Model", "category": "model", "type": "select",
                "currentValue": value("llm", json!("small")), "options": select(&["small", "large"])},
            {"id": "effort", "name": "Effort", "category": "thought_level", "type": "select",
                "currentValue": value("effort", json!("low")), "options": select(&["low", "high"])},
            {"id": "careful", "name": "Careful", "type": "boolean",
                "currentValue": value("careful", json!(false))},
        ])
    }

    fn session(&self, id: &str) -> Session {
        self.sessions.lock().unwrap()[id].clone()
    }

    fn answered(&self, answer: Value) {
        let mut waiting = self.waiting.lock().unwrap();
        let waits = waiting.get_mut(&answer["id"].as_i64().unwrap()).unwrap();
        let _ = waits.pop_front().unwrap().send(answer);
    }

    async fn turn(self: Arc<Self>, id: Value, session: String, text: String) {
        let cancelled = self.session(&session).is_cancelled;
        for step in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            if step == "refuse" {
                let error = json!({"code": -32603, "message": "no, thank you"});
                return self.send(json!({"id": id, "error": error})).await;
            }
            self.step(&session, step).await;
            if *cancelled.borrow() {
                break;
            }
        }
        let is_cancelled = *cancelled.borrow();
        let reason = if is_cancelled {
            "cancelled"
        } else {
            "end_turn"
        };
        let result = json!({"stopReason": reason});
        self.send(json!({"id": id, "result": result})).await;
    }

    async fn step(self: &Arc<Self>, session: &str, step: &str) {
        let mut cancelled = self.session(session).is_cancelled.subscribe();
        let words: Vec<_> = step.split_whitespace().collect();
        let number = |at: usize| words.get(at).map(|id| id.parse().unwrap());
        match words[0] {
            "say" => self.say(session, step[3..].trim()).await,
            "ask" => self.ask(session, words[1], words[2], number(3)).await,
            "drop" => {
                let withdraws = self.withdraw(words[2], number(3).unwrap());
                let asks = self.ask(session, words[1], words[2], number(3));
                tokio::join!(withdraws, asks);
            }
            "form" => self.form(session, words[1]).await,
            "write" => self.write(session, words[1], number(2)).await,
            "wait" => tokio::select! {
                () = self.signalled(words[1]) => {}
                _ = cancelled.wait_for(|is| *is) => {}
            },
            "hang" => drop(cancelled.wait_for(|is| *is).await),
            "deaf" => std::future::pending().await,
            _ => panic!("no step: {step}"),
        }
    }

    async fn signalled(&self, name: &str) {
        let mut signals = self.signals.subscribe();
        let _ = signals.wait_for(|given| given.contains(name)).await;
    }

    async fn withdraw(&self, signal: &str, id: i64) {
        self.signalled(signal).await;
        let params = json!({"requestId": id});
        self.send(json!({"method": "$/cancel_request", "params": params}))
            .await;
    }

    async fn ask(&self, session: &str, kind: &str, path: &str, id: Option<i64>) {
        let options = [
            ("always", "allow_always"),
            ("yes", "allow_once"),
            ("maybe", "allow_once"),
            ("no", "reject_once"),
        ];
        let options = options.map(|(id, kind)| json!({"optionId": id, "name": id, "kind": kind}));
        let call = self.next_id.fetch_add(1, Ordering::Relaxed);
        let place = self.session(session).cwd.join(path);
        let call = json!({
            "toolCallId": format!("{kind}-{path}-{call}"), "title": format!("{kind} {path}"), "kind": kind,
            "status": "pending", "locations": [{"path": place}],
        });
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        let answer = self.request("session/request_permission", params, id).await;
        let result = &answer["result"];
        let chosen = result["outcome"]["optionId"].as_str();
        let reason = result["_meta"]["lapidary"]["reason"].as_str();
        let (chosen, reason) = (chosen.unwrap_or("cancelled"), reason.unwrap_or_default());
        self.say(session, &format!("[{chosen}: {reason}]")).await;
    }

    async fn form(&self, session: &str, field: &str) {
        let schema = json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
        let params = json!({
            "sessionId": session, "mode": "form", "message": format!("What is the {field}?"), "requestedSchema": schema,
        });
        let answer = self.request("elicitation/create", params, None).await;
        let result = &answer["result"];
        let action = result["action"].as_str().unwrap();
        self.say(session, &format!("[{action}: {}]", result["content"]))
            .await;
    }

    async fn write(&self, session: &str, path: &str, id: Option<i64>) {
        let path = self.session(session).cwd.join(path);
        let params = json!({"sessionId": session, "path": path, "content": "x"});
        let answer = self.request("fs/write_text_file", params, id).await;
        let words = match answer["error"]["message"].as_str() {
            None => "[written]".to_owned(),
            Some(error) => format!("[not written: {error}]"),
        };
        self.say(session, &words).await;
    }

    async fn request(&self, method: &str, params: Value, id: Option<i64>) -> Value {
        let id = id.unwrap_or_else(|| self.next_id.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        let waits = &self.waiting;
        waits
            .lock()
            .unwrap()
            .entry(id)
            .or_default()
            .push_back(answer);
        self.send(json!({"id": id, "method": method, "params": params}))
            .await;
        answered.await.unwrap_or_default()
    }

    async fn say(&self, session: &str, text: &str) {
        let content = json!({"type": "text", "text": text});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        let params = json!({"sessionId": session, "update": update});
        self.send(json!({"method": "session/update", "params": params}))
            .await;
    }

    async fn send(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let line = format!("{message}\n");
        // A client that is gone reads nothing: the next read tells.
        let _ = self.writes.lock().await.write_all(line.as_bytes()).await;
    }
}
