//! One value of every kind, each with all its fields set. No `..` here: the compiler finds a field that is missing.
#![expect(
    clippy::unnecessary_wraps,
    reason = "most fields are optional, and here all of them are set"
)]

use std::collections::BTreeMap;

use lapidary_vocab::capabilities::{
    AgentConfinement, Capabilities, DenialLayers, FoundBy, Model, ProviderMetadata, RuleKeeping,
    RuleSupport, TriedPlace,
};
use lapidary_vocab::command::{self, Command};
use lapidary_vocab::config_report::{
    self, ConfigCheck, ConfigFile, ConfigFinding, ConfigOwner, ConfigRule, ConfigSetting,
    ConfigSeverity, ConfigShown,
};
use lapidary_vocab::content::*;
use lapidary_vocab::doctor::{
    Card, CardAbilities, CardCancel, CardSession, CardShutdown, CardTurn, CardUnknownMethod, Check,
    CheckName, CheckState, Checkup, DenialHolder, ProvenDenial, ServerReach,
};
use lapidary_vocab::event::*;
use lapidary_vocab::hook_test::{
    self, HookEffect, HookEffectKind, HookFormat, HookMoment, HookNotRun, HookOrder, HookTest,
    HookTrial,
};
use lapidary_vocab::message::*;
use lapidary_vocab::policy_report::{
    self, CompiledPolicy, Happened, JudgedCall, PolicyEffect, PolicyReport, RecordedAnswer,
    RuleUse, StoppedBy,
};
use lapidary_vocab::result::{self, Files, LineSample, ResultError};
use lapidary_vocab::runtime::{self, *};
use lapidary_vocab::usage::{ModelTokenUsage, TokenUsage};
use lapidary_vocab::{
    Cause, DataSource, DataViolation, Json, Number, Outcome, RunResult, SharedToken,
    StructuredAnswer, Text,
};

fn text(text: &'static str) -> Text {
    text.into()
}

fn some(text: &'static str) -> Option<Text> {
    Some(text.into())
}

fn json(token: &str) -> Json {
    Json::from(SharedToken::parse(token).unwrap())
}

/// A number as an agent wrote it, digit for digit.
fn number(token: &str) -> Option<Number> {
    Number::from_token(SharedToken::parse(token).unwrap())
}

fn token_usage() -> TokenUsage {
    TokenUsage {
        total_tokens: Some(Number::from(127)),
        input_tokens: number("9007199254740993"),
        output_tokens: number("10"),
        cache_read_tokens: number("80"),
        cache_creation_tokens: number("0"),
    }
}

fn model_usage() -> ModelTokenUsage {
    ModelTokenUsage {
        total_tokens: Some(Number::from(127)),
        input_tokens: number("100"),
        output_tokens: number("10"),
        cache_read_tokens: number("80"),
        cache_creation_tokens: number("0"),
        cost_usd: number("1.10"),
        context_window: number("1048576"),
        web_search_requests: number("2"),
    }
}

/// Every kind of content block.
pub(crate) fn content_blocks() -> Vec<ContentBlock> {
    vec![
        ContentBlock::Text(text_block()),
        ContentBlock::Thinking(thinking_block()),
        ContentBlock::ToolUse(tool_use_block()),
        ContentBlock::ToolResult(tool_result_block()),
        ContentBlock::Image(ImageBlock {
            source: Some(json(
                r#"{"type":"base64","media_type":"image/png","data":"iVBORw0="}"#,
            )),
            data: some("iVBORw0="),
            mime_type: some("image/png"),
            uri: some("file:///project/a.png"),
        }),
        ContentBlock::Audio(AudioBlock {
            data: some("UklGRg=="),
            mime_type: some("audio/wav"),
            uri: some("file:///project/a.wav"),
        }),
        ContentBlock::Resource(ResourceBlock {
            resource: Some(json(r#"{"uri":"file:///project/a.txt","text":"a"}"#)),
            uri: some("file:///project/a.txt"),
            name: some("a.txt"),
            title: some("A"),
            size: number("1"),
            contents: Some(json(r#"["a"]"#)),
        }),
        ContentBlock::ResourceLink(ResourceLinkBlock {
            uri: text("file:///project/a.txt"),
            name: some("a.txt"),
            mime_type: some("text/plain"),
        }),
        ContentBlock::Diff(DiffBlock {
            path: some("a.txt"),
            old_text: some("a\n"),
            new_text: some("b\n"),
            unified: some("@@ -1 +1 @@\n-a\n+b\n"),
        }),
        ContentBlock::Terminal(TerminalBlock {
            terminal_id: some("t-1"),
            output: some("\u{1b}[1mdone\u{1b}[0m\n"),
            truncated: Some(true),
            exit_code: number("0"),
            signal: some("SIGTERM"),
        }),
    ]
}

fn text_block() -> TextBlock {
    TextBlock {
        text: Text::from_token(
            SharedToken::parse(r#""an escape kept as it came: \u00e9""#).unwrap(),
        ),
    }
}

fn thinking_block() -> ThinkingBlock {
    ThinkingBlock {
        thinking: text("**Looking**\n\nat it"),
        signature: some("c2lnbmVk"),
    }
}

fn tool_use_block() -> ToolUseBlock {
    ToolUseBlock {
        id: text("call-1"),
        name: text("Read"),
        input: json(r#"{"file_path":"a.txt","limit":1e2}"#),
    }
}

fn tool_result_block() -> ToolResultBlock {
    ToolResultBlock {
        tool_use_id: text("call-1"),
        content: Some(json(r#""a\n""#)),
        is_error: Some(false),
    }
}

/// Every kind of event.
pub(crate) fn events() -> Vec<Event> {
    let bodies = [
        Body::SessionInit(Box::new(SessionInit {
            model: some("gemini-2.5-flash"),
            reasoning_effort: some("high"),
            cwd: some("/work"),
            available_tools: vec![text("read_file")],
            mcp_servers: vec![json(r#"{"name":"files","status":"connected"}"#)],
            permission_mode: some("default"),
            account: Some(json(r#"{"email":"ada@example.org"}"#)),
            slash_commands: vec![json(r#"{"name":"help"}"#)],
            available_models: vec![json(r#"{"value":"gemini-2.5-pro"}"#)],
        })),
        Body::ConfigOptions(ConfigOptions {
            config_options: vec![json(r#"{"id":"mode"}"#)],
        }),
        Body::AvailableCommands(AvailableCommands {
            available_commands: vec![json(r#"{"name":"memory"}"#)],
        }),
        Body::SessionMode(SessionMode {
            current_mode_id: text("plan"),
            available_modes: vec![json(r#"{"id":"plan"}"#)],
        }),
        Body::SessionStatus(SessionStatus {
            status: SessionState::Error,
            message: some("Loop detected, stopping execution"),
        }),
        Body::Text(TextEvent {
            text: text("Hello \"world\"\n"),
            kind: TextKind::Text,
            parent_call_id: some("call-0"),
            model: some("gemini-2.5-flash"),
        }),
        Body::UserInput(UserInput {
            text: text("Say hello"),
            images: vec![json(r#"{"mediaType":"image/png","data":"iVBORw0="}"#)],
            is_synthetic: true,
        }),
        Body::ToolInvocation(Box::new(ToolInvocation {
            call_id: text("call-1"),
            tool_name: text("read_file"),
            kind: ToolKind::Read,
            input: json(r#"{"file_path":"a.txt"}"#),
            parent_call_id: some("call-0"),
            title: some("ReadFile"),
            locations: vec![text("a.txt")],
            model: some("gemini-2.5-flash"),
        })),
        Body::ToolCompletion(Box::new(ToolCompletion {
            parent_call_id: some("c0"),
            call_id: text("call-1"),
            status: ToolCallStatus::Failed,
            output: Some(json(r#""no such file""#)),
            is_error: true,
            content: content_blocks(),
            locations: vec![text("a.txt")],
            command: Some(text("cat a.txt")),
            command_output: Some(text("no such file")),
            mutation: Some(text("replace a.txt: failed")),
        })),
        Body::SubagentSpawn(SubagentSpawn {
            call_id: text("call-2"),
            agent_type: some("codebase_investigator"),
            description: some("find the parser"),
            is_resume: true,
            resume_agent_id: some("agent-1"),
        }),
        Body::SubagentComplete(SubagentComplete {
            call_id: text("call-2"),
            agent_id: some("agent-1"),
            status: some("completed"),
            summary: some("it is in scan.rs"),
        }),
        Body::TurnComplete(Box::new(TurnComplete {
            is_error: true,
            subtype: some("error"),
            errors: vec![text("[API Error: quota]")],
            result: some("Hello"),
            cost_usd: number("0.0010"),
            duration_ms: number("5522"),
            duration_api_ms: number("5000"),
            num_turns: number("2"),
            usage: Some(token_usage()),
            model_usage: BTreeMap::from([("gemini-2.5-flash".to_owned(), model_usage())]),
            permission_denials: vec![denial()],
        })),
        Body::ContextCompaction(ContextCompaction {
            trigger: CompactionTrigger::Auto,
            pre_tokens: number("900000"),
            summary: some("we fixed the parser"),
        }),
        Body::PermissionRequest(Box::new(PermissionRequest {
            request_id: text("request-1"),
            tool_name: text("run_shell_command"),
            tool_kind: ToolKind::Execute,
            tool_input: json(r#"{"command":"rm -r target"}"#),
            tool_use_id: some("call-3"),
            title: some("remove what was built"),
            command: some("rm -r target"),
            content: vec![diff()],
            options: vec![option()],
            reason: some("it deletes files"),
            blocked_path: some("/project/target"),
            suggestions: vec![json(r#"{"type":"allow_once"}"#)],
        })),
        Body::StreamDelta(StreamDelta {
            kind: StreamDeltaKind::ToolInput,
            text_delta: some("Hel"),
            json_delta: some("{\"file"),
            block_index: number("0"),
            call_id: some("call-1"),
            parent_call_id: some("call-0"),
        }),
        Body::UsageUpdate(UsageUpdate {
            parent_call_id: some("c0"),
            model: some("gemini-2.5-flash"),
            step_usage: json(r#"{"input_tokens":100,"output_tokens":10,"total_tokens":110}"#),
        }),
        Body::RateLimitUpdate(RateLimitUpdate {
            primary: Some(json(r#"{"usedPercent":12.50}"#)),
            secondary: Some(json(r#"{"usedPercent":1}"#)),
            credits: Some(json(r#"{"unlimited":false}"#)),
            plan_type: some("free"),
        }),
        Body::RunEnd(RunEnd {
            outcome: Outcome::Failed,
            cause: Cause::AgentCrashed,
            exit_code: 15,
            agent_exit_code: Some(-1),
            signal: Some("SIGKILL".to_owned()),
            duration_ms: number("1234"),
            message: some("out of memory"),
            evidence: vec!["exit status 137".to_owned()],
            hint: Some("give it more memory".to_owned()),
            warnings: vec!["the turn ended with a tool call".to_owned()],
            violations: vec![violation()],
            answer: Some(Box::new(answer())),
        }),
        Body::Diagnostic(Diagnostic {
            kind: DiagnosticKind::MalformedLine,
            message: "unexpected end at byte 6".to_owned(),
            count: Some(3),
        }),
        Body::HookRun(HookRun {
            hook_event: text("BeforeTool"),
            hook: text("./guard.sh"),
            exit_code: Some(2),
            signal: Some("SIGKILL".to_owned()),
            duration_ms: number("12"),
            decision: some("deny"),
            reason: some("not on a Friday"),
            message: some("ask again on Monday"),
            timed_out: true,
            error: some("it had not ended after 12 ms"),
        }),
        Body::PermissionDecision(Box::new(PermissionDecision {
            request_id: text("0"),
            tool_use_id: some("call-1"),
            tool_name: text("run_shell_command"),
            tool_kind: ToolKind::Execute,
            tool_input: json(r#"{"command":"rm -r target"}"#),
            title: some("rm -r target"),
            command: some("rm -r target"),
            content: vec![diff()],
            options: vec![option()],
            decision: PermissionOutcome::Denied,
            decided_by: Some(DecidedBy::Rule),
            rule: some("lapidary.toml:12"),
            reason: some("not on a Friday"),
            unattended: true,
            for_run: true,
            option_id: some("reject"),
        })),
        Body::CommandResult(Box::new(CommandResult {
            command_id: Some(json("7")),
            command: text("set_model"),
            is_error: true,
            message: some("no such model"),
            result: Some(json("{}")),
            answer: Some(Box::new(answer())),
        })),
        Body::ElicitationRequest(Box::new(ElicitationRequest {
            request_id: text("1"),
            mode: text("form"),
            message: text("Which branch?"),
            requested_schema: Some(json(r#"{"type":"object","properties":{}}"#)),
            url: some("https://example.com/sign-in"),
            elicitation_id: some("e-1"),
            tool_use_id: some("call-1"),
        })),
        Body::ElicitationResult(Box::new(ElicitationResult {
            request_id: text("1"),
            action: ElicitationAction::Accept,
            content: Some(json(r#"{"branch":"main"}"#)),
            decided_by: Some(DecidedBy::Peer),
            reason: some("the user filled it in"),
        })),
    ];
    let with_base = |(seq, body)| Event {
        body,
        base: event_base(seq),
    };
    (0..).zip(bodies).map(with_base).collect()
}

fn diff() -> ContentBlock {
    ContentBlock::Diff(DiffBlock {
        path: some("a.txt"),
        old_text: some("a"),
        new_text: some("b"),
        unified: some("@@ -1 +1 @@"),
    })
}

fn option() -> PermissionOption {
    PermissionOption {
        id: text("reject"),
        name: text("No"),
        kind: text("reject_once"),
    }
}

fn violation() -> PermissionViolation {
    PermissionViolation {
        tool_name: text("Bash"),
        tool_use_id: some("call-2"),
        title: some("rm -rf build"),
        command: some("rm -rf build"),
        paths: vec![text("/work/build")],
        rule: some("--deny 'execute'"),
        reason: text("denied by --deny 'execute'"),
        message: text("`rm -rf build` ran before it could be denied: denied by --deny 'execute'"),
    }
}

fn denial() -> PermissionDenial {
    PermissionDenial {
        tool_name: text("write_file"),
        tool_use_id: some("call-1"),
        tool_input: Some(json(r#"{"file_path":"a.txt"}"#)),
        title: some("a.txt"),
        rule: some("lapidary.toml:12"),
        reason: text("not on a Friday"),
        unattended: true,
    }
}

fn event_base(seq: u64) -> Base {
    Base {
        schema: some(lapidary_vocab::event::SCHEMA),
        id: format!("run-{seq}"),
        seq,
        timestamp: some("2026-11-15T18:19:26.575Z"),
        provider: Provider::Gemini,
        session_id: some("2571a25a-c6c5-4920-a1ff-8824c9c44051"),
        extensions: BTreeMap::from([("gemini.severity".to_owned(), json("\"warning\""))]),
        raw_is_text: true,
        raw_base64: Some("/w==".to_owned()),
        raw: Some(json(r#"{"n":[1.10,1e2],"s":"\u00e9"}"#)),
        other: BTreeMap::new(), // fields of a newer version: none in a version's own samples
    }
}

/// A message of blocks of every kind, and a plain one.
pub(crate) fn messages() -> Vec<Message> {
    let blocks = Content::Blocks(vec![
        MessageBlock::Thinking(thinking_block()),
        MessageBlock::ToolUse(tool_use_block()),
        MessageBlock::ToolResult(tool_result_block()),
        MessageBlock::Text(text_block()),
        MessageBlock::SlashCommand(SlashCommandBlock {
            command: text("/review"),
            message: some("review the parser"),
            args: some("parser"),
        }),
        MessageBlock::Image(MessageImage {
            source: ImageSource {
                r#type: text("base64"),
                media_type: text("image/png"),
                data: text("iVBORw0="),
            },
        }),
    ]);
    let message = |content| Message {
        id: text("run-m0"),
        role: Role::Assistant,
        content,
        timestamp: Some(1_794_766_766_575),
        tool: text("gemini"),
        model: some("gemini-2.5-flash"),
        usage: Some(MessageUsage {
            input_tokens: number("100"),
            output_tokens: number("10"),
            total_tokens: number("110"),
            cache_read_input_tokens: number("80"),
        }),
        original: json(r#"[{"type":"message","n":1.10}]"#),
    };
    vec![message(blocks), message(Content::Plain(text("")))]
}

/// Every kind of runtime event.
pub(crate) fn runtime_events() -> Vec<RuntimeEvent> {
    let bodies = [
        RuntimeBody::OutputProduced(OutputProduced {
            stream: OutputStream::Command,
            text: text("ok\n"),
            snapshot: true,
            derived: true,
            command: some("cargo test"),
            call_id: some("call-1"),
            tool: some("run_shell_command"),
            category: Some(Category::Command),
            status: some("error"),
            error: Some(json(r#"{"type":"shell","message":"exit 1"}"#)),
        }),
        RuntimeBody::ToolCallRequested(ToolCallRequested {
            call_id: text("call-1"),
            tool: text("run_shell_command"),
            category: Some(Category::Command),
            arguments: json(r#"{"command":"cargo test"}"#),
        }),
        RuntimeBody::TurnDiffUpdated(TurnDiffUpdated {
            diff: text("--- a\n+++ b\n"),
            derived: true,
            call_id: some("call-1"),
        }),
        RuntimeBody::TokenUsageUpdated(TokenUsageUpdated {
            total_input_tokens: number("100"),
            total_output_tokens: number("10"),
            total_cached_input_tokens: number("80"),
            total_tokens: number("110"),
            cost_usd: number("1.10"),
            model_context_window: number("1048576"),
        }),
        RuntimeBody::TurnCompleted(TurnCompleted {
            status: text("completed"),
            duration_ms: number("5522"),
        }),
        RuntimeBody::TurnFailed(TurnFailed {
            status: text("failed"),
            cause: Cause::QuotaTerminal,
            error: TurnError {
                message: text("[API Error: quota]"),
                additional_details: Some("result.status is error".to_owned()),
            },
        }),
        RuntimeBody::TaskStatus(TaskStatus {
            status_type: text("warning"),
            text: text("Loop detected"),
        }),
    ];
    let with_base = |(seq, body)| RuntimeEvent {
        body,
        base: runtime_base(seq),
    };
    (0..).zip(bodies).map(with_base).collect()
}

fn runtime_base(seq: u64) -> RuntimeBase {
    RuntimeBase {
        schema: some(runtime::SCHEMA),
        seq,
        timestamp: some("2026-11-15T18:19:26.575Z"),
        provider: Provider::Gemini,
        thread_id: some("2571a25a-c6c5-4920-a1ff-8824c9c44051"),
        turn_id: "run-turn-0".to_owned(),
        raw_is_text: true,
        raw_base64: Some("gA==".to_owned()),
        raw: Some(json(r#""not JSON""#)),
    }
}

/// A result with everything in it.
fn answer() -> StructuredAnswer {
    StructuredAnswer {
        data: Some(json("null")),
        data_source: Some(DataSource::Tool),
        violations: vec![DataViolation {
            pointer: "/a".to_owned(),
            message: "must be string".to_owned(),
        }],
    }
}

pub(crate) fn result() -> RunResult {
    RunResult {
        terminate_reason: some("GOAL"),
        recovered_from: some("MAX_TURNS"),
        output: Some(json(r#""x""#)),
        schema: text(result::SCHEMA),
        success: false,
        outcome: Outcome::Failed,
        cause: Cause::MaxTurns,
        exit_code: 17,
        agent_exit_code: Some(53),
        session_id: some("2571a25a-c6c5-4920-a1ff-8824c9c44051"),
        duration_ms: number("5522"),
        response: text("```json\n{\"n\":1}\n```"),
        data: Some(json(r#"{"n":1}"#)),
        data_source: Some(DataSource::Text),
        texts: vec![text("Let me see."), text("```json\n{\"n\":1}\n```")],
        permission_denials: vec![denial()],
        violations: vec![violation()],
        files: Files(vec!["b.txt".to_owned(), "a.txt".to_owned()]),
        usage: Some(token_usage()),
        error: Some(ResultError {
            message: text("the limit of turns was reached"),
            hint: Some("raise it".to_owned()),
            data_violations: answer().violations,
        }),
        warnings: vec![text("Loop detected")],
        diagnostics: BTreeMap::from([("noise".to_owned(), 2)]),
        diagnostic_samples: vec![LineSample {
            kind: "noise".to_owned(),
            message: "text that is not JSON".to_owned(),
            line: "Warning: …".to_owned(),
        }],
    }
}

/// Every kind of command.
pub(crate) fn commands() -> Vec<Command> {
    vec![
        Command::SendMessage(command::SendMessage {
            session_id: some("s"),
            text: text("Say hello"),
            content: vec![json(r#"{"type":"text","text":"please"}"#)],
            output_schema: Some(json(r#"{"type":"object"}"#)),
            schema_repairs: Some(1),
        }),
        Command::Steer(command::Steer {
            session_id: some("s"),
            text: text("hurry"),
        }),
        Command::PermissionResponse(command::PermissionResponse {
            request_id: text("request-1"),
            allowed: true,
            for_run: Some(true),
            message: some("go on"),
            updated_input: Some(json(r#"{"optionId":"allow"}"#)),
            updated_permissions: vec![json(r#"{"toolName":"read_file"}"#)],
            interrupt: Some(false),
        }),
        Command::ElicitationResponse(command::ElicitationResponse {
            request_id: text("1"),
            action: text("accept"),
            content: Some(json(r#"{"branch":"main"}"#)),
        }),
        Command::Interrupt(command::Interrupt {
            session_id: some("s"),
        }),
        Command::Kill(command::Kill {
            session_id: some("s"),
        }),
        Command::SetModel(command::SetModel {
            session_id: some("s"),
            model: text("gemini-2.5-pro"),
        }),
        Command::SetPermissionMode(command::SetPermissionMode {
            session_id: some("s"),
            mode: text("plan"),
        }),
        Command::SetConfigOption(command::SetConfigOption {
            session_id: some("s"),
            config_id: text("mode"),
            value: json("\"fast\""),
        }),
        Command::SetReasoningEffort(command::SetReasoningEffort {
            session_id: some("s"),
            effort: text("high"),
        }),
        Command::CreateSession(command::CreateSession {
            cwd: text("/work"),
            prompt: some("Say hello"),
            options: Some(json(r#"{"model":"auto"}"#)),
        }),
        Command::LoadSession(command::LoadSession {
            session_id: text("s-1"),
            cwd: some("/work"),
        }),
        Command::ResumeSession(command::ResumeSession {
            session_id: text("s-1"),
            cwd: some("/work"),
        }),
        Command::ListSessions(command::ListSessions {
            cwd: some("/work"),
            cursor: some("page 2"),
        }),
        Command::CloseSession(command::CloseSession {
            session_id: text("s-1"),
        }),
        Command::DeleteSession(command::DeleteSession {
            session_id: text("s-1"),
        }),
        Command::SetMode(command::SetMode {
            session_id: some("s-1"),
            mode_id: text("plan"),
        }),
        Command::Authenticate(command::Authenticate {
            method_id: text("gemini-api-key"),
        }),
    ]
}

fn denial_layers() -> DenialLayers {
    DenialLayers {
        read: RuleKeeping::Enforced,
        search: RuleKeeping::Enforced,
        edit: RuleKeeping::Asked,
        delete: RuleKeeping::Watched,
        r#move: RuleKeeping::Watched,
        execute: RuleKeeping::Partly,
        fetch: RuleKeeping::Enforced,
        mcp: RuleKeeping::Asked,
    }
}

pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        schema: lapidary_vocab::capabilities::SCHEMA.into(),
        agent: "gemini".to_owned(),
        installed: true,
        url: Some("wss://agents.example/acp".to_owned()),
        cli_path: Some("/usr/local/bin/gemini".to_owned()),
        found_by: Some(FoundBy::Path),
        version: Some("0.61.0".to_owned()),
        tried: vec![TriedPlace {
            path: "/opt/gemini".to_owned(),
            place: FoundBy::Variable,
            refused: "no such file".to_owned(),
        }],
        supports_slash_commands: false,
        supports_models: true,
        models: vec![Model {
            id: "gemini-2.5-pro".to_owned(),
            name: "Gemini 2.5 Pro".to_owned(),
        }],
        supports_web_search: true,
        supports_thinking: true,
        supports_stream_json: true,
        supports_resume: true,
        supports_plan_mode: true,
        supports_acp: true,
        permission_modes: vec!["default".to_owned()],
        rules: RuleSupport {
            acp: Some(RuleKeeping::Asked),
            stream_json: Some(RuleKeeping::Enforced),
            acp_denials: Some(denial_layers()),
            stream_json_denials: Some(denial_layers()),
        },
        install: Some("npm install -g @google/gemini-cli".to_owned()),
        confinement: Some(AgentConfinement {
            default: "workspace".to_owned(),
            landlock_abi: 6,
            state: vec!["/home/me/.gemini".to_owned()],
        }),
        metadata: ProviderMetadata {
            name: "gemini-cli".to_owned(),
            description: "Gemini CLI".to_owned(),
            requires_config: false,
            config_keys: vec!["model".to_owned()],
            default_response_timeout: 600,
            fs_ability: "local-write".to_owned(),
        },
    }
}

pub(crate) fn checkup() -> Checkup {
    let full = |name, state: &str| {
        Check::new(
            name,
            state.into(),
            "it is not in the list of trusted folders",
        )
        .remedy("trust it")
        .details(["as an older version would".to_owned()])
        .took(std::time::Duration::from_millis(2100))
        .server_reach(ServerReach::SessionNew)
        .denials(vec![ProvenDenial {
            kind: ToolKind::Delete,
            transport: "acp".to_owned(),
            held_by: DenialHolder::Question,
        }])
    };
    let checks = vec![
        full(CheckName::Trust, CheckState::Problem.as_str()),
        full("horoscope".into(), "postponed"),
    ];
    Checkup::new("gemini", checks).with_card(Some(card()))
}

fn card() -> Card {
    let word = || Some("default".to_owned());
    Card {
        command: vec!["gemini".to_owned(), "--acp".to_owned()],
        start_ms: Some(2100),
        protocol_version: Some(1),
        agent_name: word(),
        agent_version: word(),
        abilities: Some(CardAbilities {
            load: true,
            ..CardAbilities::default()
        }),
        rules: Some(RuleKeeping::Watched),
        auth_methods: vec!["oauth-personal".to_owned()],
        session: Some(CardSession {
            opened: true,
            error_code: Some(-32000),
            mode: word(),
            modes: vec!["default".to_owned()],
            options: vec!["model".to_owned()],
            models: vec!["auto".to_owned()],
        }),
        turn: Some(CardTurn {
            stop_reason: "end_turn".to_owned(),
            model_asked: true,
            text_arrived: true,
            asks_before_shell: Some(true),
            asks_before_read_only_shell: Some(false),
            usage_in: vec!["usage_update".to_owned()],
        }),
        cancel: Some(CardCancel {
            ms: 30,
            stop_reason: Some("cancelled".to_owned()),
        }),
        unknown_method: Some(CardUnknownMethod {
            answered: true,
            code: Some(-32601),
            ms: 2,
        }),
        shutdown: Some(CardShutdown {
            by: "sunset".into(),
            ms: 100,
        }),
        noise_lines: 1,
    }
}

pub(crate) fn hook_test() -> HookTest {
    HookTest {
        schema: hook_test::SCHEMA.to_owned(),
        event: "BeforeTool".to_owned(),
        untrusted: Some("no hook of the settings ran".to_owned()),
        moments: vec![HookMoment {
            context: Some("write_file".to_owned()),
            payload: json(r#"{"tool_name":"write_file"}"#),
            order: HookOrder::Sequential,
            hooks: vec![HookTrial {
                hook: "guard".to_owned(),
                command: "./guard.sh".to_owned(),
                origin: "/srv/.gemini/settings.json".to_owned(),
                source: "project".to_owned(),
                matcher: Some("write_.*".to_owned()),
                timeout_ms: 60_000,
                payload: Some(json(r#"{"tool_name":"write_file","tool_input":{}}"#)),
                exit_code: Some(2),
                signal: Some(9),
                duration_ms: 12,
                stdout: "no".to_owned(),
                stderr: "why".to_owned(),
                left_out_bytes: Some(1),
                format: Some(HookFormat::Text),
                output: Some(json(r#"{"decision":"deny","reason":"no"}"#)),
                stricter: true,
                timed_out: true,
                error: Some("it had not ended after 12 ms".to_owned()),
            }],
            not_run: vec![HookNotRun {
                hook: "other".to_owned(),
                origin: "/srv/.gemini/settings.json".to_owned(),
                reason: "matcher \"glob\" does not match \"write_file\"".to_owned(),
            }],
            aggregate: Some(json(r#"{"decision":"deny","reason":"no"}"#)),
            effects: vec![HookEffect {
                effect: HookEffectKind::Block,
                text: Some("no".to_owned()),
                value: Some(json("{}")),
            }],
            diagnostics: vec!["the matcher takes too long".to_owned()],
        }],
        left_out: vec!["settings.json: x: why".to_owned()],
        warnings: vec!["beware".to_owned()],
    }
}

pub(crate) fn compiled_policy() -> CompiledPolicy {
    CompiledPolicy {
        schema: policy_report::COMPILED_SCHEMA.into(),
        agent: "claude".to_owned(),
        keeping: RuleKeeping::Asked,
        args: vec!["--admin-policy".to_owned(), "rules.toml".to_owned()],
        env: [("X".to_owned(), "y".to_owned())].into(),
        file: Some("[[rule]]".to_owned()),
        session_meta: Some(json(r#"{"a":1}"#)),
        notices: vec!["a note".to_owned()],
    }
}

pub(crate) fn policy_report() -> PolicyReport {
    PolicyReport {
        schema: policy_report::SCHEMA.into(),
        permission_mode: "default".to_owned(),
        calls: vec![JudgedCall {
            recording: "runs/one".to_owned(),
            call_id: text("c1"),
            tool_name: text("run_shell_command"),
            kind: ToolKind::Execute,
            title: some("ls"),
            command: Some("ls".to_owned()),
            paths: vec!["/srv".to_owned()],
            mcp_server: Some("files".to_owned()),
            effect: PolicyEffect::Deny,
            decided_by: DecidedBy::Rule,
            rule: Some("lapidary.toml:12".to_owned()),
            reason: "denied by lapidary.toml:12".to_owned(),
            stopped_by: vec![StoppedBy::Asked, StoppedBy::Confinement],
            happened: Happened::Completed,
            answer: Some(RecordedAnswer {
                decision: PermissionOutcome::Allowed,
                decided_by: Some(DecidedBy::User),
                rule: some("lapidary.toml:9"),
                reason: some("the user allowed it"),
                for_run: true,
            }),
        }],
        rules: vec![RuleUse {
            rule: "lapidary.toml:12".to_owned(),
            effect: PolicyEffect::Deny,
            matched: 1,
            decided: 1,
            shadowed_by: vec!["lapidary.toml:3".to_owned()],
        }],
    }
}

fn config_file() -> ConfigFile {
    ConfigFile {
        owner: ConfigOwner::Project,
        path: "/p/lapidary.toml".to_owned(),
        exists: true,
    }
}

pub(crate) fn config_shown() -> ConfigShown {
    ConfigShown {
        schema: config_report::SHOW_SCHEMA.to_owned(),
        files: vec![config_file()],
        settings: vec![ConfigSetting {
            key: "timeout".to_owned(),
            value: Some(json("600")),
            is_default: false,
            path: Some("/p/lapidary.toml".to_owned()),
            line: Some(3),
        }],
        rules: vec![ConfigRule {
            rule: "lapidary.toml:12".to_owned(),
            effect: "deny".to_owned(),
        }],
        agents: vec!["mine".to_owned()],
        warnings: vec!["unknown key ignored: `x`".to_owned()],
    }
}

pub(crate) fn config_check() -> ConfigCheck {
    ConfigCheck {
        schema: config_report::CHECK_SCHEMA.to_owned(),
        files: vec![config_file()],
        errors: 1,
        warnings: 0,
        findings: vec![ConfigFinding {
            severity: ConfigSeverity::Error,
            path: "/p/lapidary.toml".to_owned(),
            line: Some(2),
            column: Some(11),
            message: "timeout must be > 0".to_owned(),
            hint: Some("leave it out for the default".to_owned()),
        }],
    }
}
