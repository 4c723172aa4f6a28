//! Answers that an agent hands over through `submit_result`, a tool of an MCP server that the run serves.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_gemini::json_schema::SchemaViolation;
use lapidary_policy::AnswerCall;
use lapidary_process::stdio_bridge::{BridgeStream, bridge_arguments};
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Json, StructuredAnswer};
use serde_json::{Value, json};

use super::submission_form::SubmissionForm;
use super::{AnswerMismatch, OutputSchema};

/// The name of the MCP server.
pub const RESULT_SERVER: &str = "lapidary-result";

/// The name of its only tool.
pub const SUBMIT_RESULT: &str = "submit_result";

/// Calls of the tool as agents report them: Claude Code and Qwen Code, Gemini CLI, opencode.
const NAMED_CALLS: [AnswerCall; 3] = [
    AnswerCall::Named("mcp__lapidary-result__submit_result"),
    AnswerCall::Named("mcp_lapidary-result_submit_result"),
    AnswerCall::Named("lapidary-result_submit_result"),
];

/// Calls of the tool as Codex (0.166) reports them.
const CODEX_CALLS: [AnswerCall; 1] = [AnswerCall::Titled {
    title: "mcp.lapidary-result.submit_result",
    server: RESULT_SERVER,
}];

/// The calls by which an agent of this family uses the tool.
pub(crate) fn submission_calls(provider: &Provider) -> &'static [AnswerCall] {
    match provider {
        Provider::Codex => &CODEX_CALLS,
        _ => &NAMED_CALLS,
    }
}

/// Serves one client of the MCP server, until it is gone.
type ServeClient = dyn Fn(BridgeStream, Arc<SubmissionInbox>) -> ServedClient + Send + Sync;

/// A client that is being served.
pub type ServedClient = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The means by which agents get the tool `submit_result`: the program that they start, and the server behind it.
#[derive(Clone)]
pub struct SubmissionTool {
    program: PathBuf,
    serve: Arc<ServeClient>,
}

impl SubmissionTool {
    /// The tool. An agent starts `program`, which calls `lapidary::supervise_if_asked` first; `serve` serves each client.
    pub fn new(
        program: impl Into<PathBuf>,
        serve: impl Fn(BridgeStream, Arc<SubmissionInbox>) -> ServedClient + Send + Sync + 'static,
    ) -> Self {
        Self {
            program: program.into(),
            serve: Arc::new(serve),
        }
    }

    /// The MCP server as `session/new` has it.
    pub(crate) fn server_entry(&self, socket: &Path) -> Json {
        let arguments = bridge_arguments(socket);
        let arguments: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
        Json::from_value(&json!({
            "name": RESULT_SERVER, "command": self.program, "args": arguments, "env": [],
        }))
    }

    pub(crate) fn serve(&self, stream: BridgeStream, inbox: &Arc<SubmissionInbox>) -> ServedClient {
        (self.serve)(stream, Arc::clone(inbox))
    }
}

impl fmt::Debug for SubmissionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("SubmissionTool");
        debug.field("program", &self.program);
        debug.finish_non_exhaustive()
    }
}

/// The answers that an agent handed over in one turn of one session.
#[derive(Debug)]
pub struct SubmissionInbox {
    schema: OutputSchema,
    form: SubmissionForm,
    turn: Mutex<TurnSubmissions>,
}

/// The newest answers of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnSubmissions {
    /// The newest answer that fits.
    pub(crate) fitting: Option<StructuredAnswer>,
    /// The newest answer that does not.
    pub(crate) misfit: Option<AnswerMismatch>,
}

impl SubmissionInbox {
    /// An empty inbox for answers of an agent of this family that are to fit the schema.
    pub fn new(schema: &OutputSchema, provider: &Provider) -> Self {
        Self {
            form: SubmissionForm::new(schema.document(), provider),
            schema: schema.clone(),
            turn: Mutex::default(),
        }
    }

    /// The schema of the tool's arguments.
    pub fn input_schema(&self) -> Value {
        self.form.input_schema(self.schema.document())
    }

    /// Takes in the arguments of a call.
    ///
    /// # Errors
    /// The result does not fit. The text tells the agent why.
    pub fn submit(&self, arguments: &Json) -> Result<(), String> {
        let result = self.form.result_in(arguments);
        let judged = match &result {
            Some(result) => self.schema.judge_value(result),
            None => Err(missing_result(arguments)),
        };
        let mut turn = self.lock_turn();
        match judged {
            Ok(answer) => {
                turn.fitting = Some(answer);
                Ok(())
            }
            Err(mismatch) => {
                let text = mismatch.correction_text();
                turn.misfit = Some(mismatch);
                Err(text)
            }
        }
    }

    /// Takes the answers of the turn out, so that the next one begins without any.
    pub(crate) fn take_turn(&self) -> TurnSubmissions {
        std::mem::take(&mut *self.lock_turn())
    }

    fn lock_turn(&self) -> MutexGuard<'_, TurnSubmissions> {
        // Each change is whole, even if a task panicked.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing_result(arguments: &Json) -> AnswerMismatch {
    let violation = SchemaViolation {
        path: String::new(),
        message: "must be the argument `result`".to_owned(),
    };
    AnswerMismatch::new(vec![violation], arguments.as_str())
}

#[cfg(test)]
mod tests {
    use lapidary_gemini::json_schema::JsonSchema;
    use lapidary_policy::{PermissionEffect, PermissionMode, Policy, Rule, Rules, ToolAction};
    use lapidary_vocab::event::ToolKind;

    use super::*;

    /// The decision about a call whose arguments name a file and a command.
    fn decided(call: (Provider, ToolKind, &str), deny: Option<&str>) -> PermissionEffect {
        let (provider, kind, name) = call;
        let here = Path::new("/work");
        let rules = deny.map(|spec| Rule::parse_flag(PermissionEffect::Deny, spec, here).unwrap());
        let policy = Policy::new(Rules::new(rules), PermissionMode::Plan).with_roots([here]);
        let policy = policy.with_answer_calls(submission_calls(&provider));
        let mut action = ToolAction::new(kind);
        if provider == Provider::Codex {
            action.title = Some(name.to_owned());
            action.mcp_server = Some(RESULT_SERVER.to_owned());
        }
        action.tool = Some(name.to_owned());
        action.command = Some("rm -rf /".to_owned());
        action.possible_paths.push(here.join("secret.txt"));
        policy.decide(&action).effect
    }

    #[test]
    fn one_tool_is_allowed_unless_a_rule_of_the_user_denies_it() {
        for call in [
            (
                Provider::Claude,
                ToolKind::Mcp,
                "mcp__lapidary-result__submit_result",
            ),
            (
                Provider::Gemini,
                ToolKind::Mcp,
                "mcp_lapidary-result_submit_result",
            ),
            (
                Provider::Acp,
                ToolKind::Mcp,
                "lapidary-result_submit_result",
            ),
            (
                Provider::Codex,
                ToolKind::Execute,
                "mcp.lapidary-result.submit_result",
            ),
        ] {
            for deny in [None, Some("edit:secret.txt"), Some("execute")] {
                let effect = decided(call.clone(), deny);
                assert_eq!(effect, PermissionEffect::Allow, "{call:?}, {deny:?}");
            }
            for deny in ["*", "mcp", "tool=*submit_result"] {
                let effect = decided(call.clone(), Some(deny));
                assert_eq!(effect, PermissionEffect::Deny, "{call:?}, {deny}");
            }
        }
        for call in [
            (
                Provider::Claude,
                ToolKind::Execute,
                "mcp__lapidary-result__submit_result",
            ),
            (
                Provider::Claude,
                ToolKind::Mcp,
                "mcp__lapidary-result__other",
            ),
            (
                Provider::Claude,
                ToolKind::Mcp,
                "mcp__lapidary__submit_result",
            ),
            (
                Provider::Claude,
                ToolKind::Execute,
                "mcp.lapidary-result.submit_result",
            ),
            (Provider::Acp, ToolKind::Mcp, "submit_result"),
            (
                Provider::Codex,
                ToolKind::Execute,
                "mcp.lapidary-result.submit_result2",
            ),
        ] {
            let effect = decided(call.clone(), None);
            assert_eq!(effect, PermissionEffect::Deny, "{call:?}");
        }
    }

    fn inbox(schema: &str) -> SubmissionInbox {
        let schema = OutputSchema::new(JsonSchema::parse(schema).unwrap());
        SubmissionInbox::new(&schema, &Provider::Claude)
    }

    fn arguments(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_last_answer_that_fits_counts_and_wrong_ones_are_answered_with_their_pointers() {
        let inbox = inbox(r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#);
        inbox.submit(&arguments(r#"{"n": 1}"#)).unwrap();
        inbox
            .submit(&arguments(r#"{"n": 9007199254740993}"#))
            .unwrap();
        let refused = inbox.submit(&arguments(r#"{"n": "3"}"#)).unwrap_err();
        assert!(refused.contains("* `/n` must be integer"), "{refused}");
        let twice = inbox.submit(&arguments(r#"{"n": 1, "n": 2}"#)).unwrap_err();
        assert!(twice.contains("cannot be checked"), "{twice}");
        let turn = inbox.take_turn();
        let answer = turn.fitting.unwrap();
        assert_eq!(answer.data.unwrap().as_str(), r#"{"n": 9007199254740993}"#);
        assert!(turn.misfit.is_some());
        assert!(
            inbox.take_turn().fitting.is_none(),
            "the next turn has none"
        );
    }

    #[test]
    fn a_list_is_handed_over_as_one_argument() {
        let inbox = inbox(r#"{"type": "array", "items": {"type": "integer"}}"#);
        let refused = inbox.submit(&arguments("{}")).unwrap_err();
        assert!(refused.contains("the argument `result`"), "{refused}");
        let refused = inbox
            .submit(&arguments(r#"{"result": [1, "2"]}"#))
            .unwrap_err();
        assert!(refused.contains("* `/1` must be integer"), "{refused}");
        inbox.submit(&arguments(r#"{"result": [1, 2]}"#)).unwrap();
        let answer = inbox.take_turn().fitting.unwrap();
        assert_eq!(answer.data.unwrap().as_str(), "[1, 2]");
    }
}
