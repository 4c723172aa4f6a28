//! The order of commands, and the limits of the queue.

use lapidary_vocab::Body;
use lapidary_vocab::event::CommandResult;
use serde_json::json;

use super::*;
use crate::client::prompt::{PermissionAnswer, PermissionPrompt};
use crate::policy::ToolAction;
use crate::run::injected_events::InjectedEvents;

/// Carries out prompts by their text: `wait` never ends, `panic` panics, any other prompt is done at once.
#[derive(Debug, Clone)]
struct TextExecutor {
    cancelled: Arc<std::sync::Mutex<Vec<String>>>,
}

impl CommandExecutor for TextExecutor {
    async fn carry_out(self, command: Command, label: CommandLabel) -> CommandOutcome {
        let Command::SendMessage(message) = command else {
            return Err("not a prompt".into());
        };
        label.set_session("s");
        match &*message.text.to_str() {
            "wait" => std::future::pending().await,
            "panic" => panic!("the executor of a test fell over"),
            _ => Ok(CommandDone::default()),
        }
    }

    fn cancel_turn(&self, session: &str) {
        self.cancelled.lock().unwrap().push(session.to_owned());
    }
}

struct Scene {
    commands: CommandLoop<TextExecutor>,
    inbox: Arc<ClientInbox>,
    events: InjectedEvents,
}

impl Scene {
    fn new() -> Self {
        let executor = TextExecutor {
            cancelled: Arc::default(),
        };
        let (say, events) = EventInjector::new_channel();
        let inbox = Arc::new(ClientInbox::default());
        Self {
            commands: CommandLoop::new(executor, say, Some(Arc::clone(&inbox))),
            inbox,
            events,
        }
    }

    fn give(&mut self, command: &serde_json::Value) {
        let command = ClientCommand::read(&command.to_string());
        self.commands.take_command(command);
    }

    fn prompt(&mut self, id: u32, text: &str) {
        self.give(&json!({"command": "send_message", "id": id, "text": text}));
    }

    /// Each result since this was last asked: the id of its command, its session, and its error.
    fn results(&mut self) -> Vec<String> {
        let results = self.events.take_due(None).into_iter().map(|event| {
            let Body::CommandResult(result) = *event.body else {
                panic!("only results are expected");
            };
            let CommandResult {
                command_id,
                message,
                ..
            } = *result;
            let id = command_id.map_or_else(String::new, |id| id.as_str().to_owned());
            let session = event.session.map_or_else(String::new, |it| it.to_string());
            let message = message.map_or_else(|| "done".to_owned(), |it| it.to_string());
            format!("{id} {session} {message}")
        });
        results.collect()
    }
}

#[tokio::test]
async fn each_command_has_one_result_whether_it_is_done_panics_or_is_ended() {
    let mut scene = Scene::new();
    scene.prompt(1, "wait");
    scene.prompt(2, "hi");
    assert!(scene.commands.next_step().await);
    assert_eq!(scene.results(), ["2 s done"]);
    scene.prompt(3, "panic");
    assert!(scene.commands.next_step().await);
    assert_eq!(scene.results(), ["3 s it could not be carried out"]);
    scene.give(&json!({"command": "dance", "id": 4}));
    assert_eq!(scene.results(), ["4  unknown command"]);
    scene.commands.end();
    assert_eq!(scene.results(), [format!("1 s {TOO_LATE}")]);
    assert!(scene.commands.labels.is_empty());
}

#[tokio::test]
async fn a_command_beyond_the_limit_is_refused_but_an_interrupt_is_not() {
    let mut scene = Scene::new();
    for id in 0..256 {
        scene.prompt(id, "wait");
    }
    scene.prompt(256, "hi");
    assert_eq!(scene.results(), ["256  256 commands are under way already"]);
    scene.give(&json!({"command": "interrupt", "id": 257}));
    assert!(scene.commands.next_step().await);
    assert_eq!(scene.results(), ["257  not a prompt"]);
}

/// A prompt for a permission of the id `a`.
fn permission_prompt() -> (
    PermissionPrompt,
    tokio::sync::oneshot::Receiver<PermissionAnswer>,
) {
    let request = json!({
        "requestId": "a", "toolName": "sh", "toolKind": "execute", "toolInput": {}, "content": [], "options": [],
    });
    let (reply, replied) = tokio::sync::oneshot::channel();
    let prompt = PermissionPrompt {
        request: serde_json::from_value(request).unwrap(),
        session_id: "s".to_owned().into(),
        action: ToolAction::new(lapidary_vocab::event::ToolKind::Execute),
        options: None,
        reason: String::new(),
        reply,
    };
    (prompt, replied)
}

#[tokio::test]
async fn an_answer_that_comes_before_its_prompt_waits_for_it_and_may_interrupt_the_turn() {
    let mut scene = Scene::new();
    let answer = json!({"command": "permission_response", "id": 1, "requestId": "a", "allowed": false, "interrupt": true});
    scene.give(&answer);
    assert_eq!(
        scene.results(),
        ["1  no request of this id waits for an answer"]
    );
    let _expected = scene.inbox.expect_prompt(7, "a".to_owned().into());
    scene.give(&answer);
    assert_eq!(scene.commands.early.len(), 1, "the answer waits");
    let (prompt, replied) = permission_prompt();
    assert!(scene.inbox.put_prompt(7, prompt));
    assert!(!scene.commands.next_step().await);
    assert_eq!(scene.results(), ["1 s done"]);
    assert!(!replied.await.unwrap().allowed);
    let cancelled = scene.commands.executor.cancelled.lock().unwrap();
    assert_eq!(*cancelled, ["s"]);
}
