//! Denied calls, and the outcome of a run that had some.
//!
//! Over ACP a denial is a `permission_decision`, or a sentence of Gemini CLI where its own policy denies, as in plan mode. Gemini
//! CLI's stream never asks: where it cannot ask, it omits tools that need approval, and a call of one fails as
//! `tool_not_registered`; a call that its own rules or hooks deny fails as `policy_violation`.

use lapidary_json::Token;
use lapidary_vocab::event::{
    PermissionDecision, PermissionDenial, PermissionOutcome, Provider, RunEnd, ToolCallStatus,
    ToolCompletion, ToolInvocation, ToolKind,
};
use lapidary_vocab::{Body, Cause, Event, Json, Text};

use crate::OnDenied;
use crate::excerpt::shortened_name;
use crate::pending::PendingById;
use crate::tools;

/// How many denials are listed. More are counted.
const MOST_LISTED: usize = 256;

/// How many bytes of arguments are repeated in all denials together.
const MOST_INPUT: usize = 1024 * 1024;

/// A longer path is not repeated in a flag.
const LONGEST_PATH: usize = 120;

/// How many denials are named in a sentence.
const MOST_NAMED: usize = 3;

/// Tools of Gemini CLI 0.61 that it leaves out without a terminal, and has under a wider `--approval-mode`. Measured with each mode:
/// `default` lacks all of these, `auto_edit` the last three, `yolo` none. (`ask_user` is left out in every mode.)
const NEEDS_APPROVAL: [&str; 6] = [
    "write_file",
    "replace",
    "web_fetch",
    "run_shell_command",
    "activate_skill",
    "write_todos",
];

/// Prefixes of tools that no rule of Gemini CLI allows where it cannot ask: those of MCP servers, and those found by a command.
const NEEDS_APPROVAL_PREFIXES: [&str; 2] = ["mcp_", "discovered_tool_"];

/// Denied calls of a turn or of a run.
#[derive(Debug, Default)]
pub struct DeniedCalls {
    listed: Vec<PermissionDenial>,
    /// Denials that are not listed.
    unlisted: usize,
    /// Bytes of arguments in the listed calls.
    input_bytes: usize,
    /// What would have allowed them: values of `--allow`, each once.
    remedies: Vec<String>,
    /// A call was denied because there was no one to ask.
    was_unattended: bool,
    /// A call was denied that the agent offers no way to refuse: the turn was cancelled for it.
    has_no_refusal: bool,
    /// A call that needs permission was completed.
    has_acted: bool,
    /// Commands run where nothing can be written: one that is completed needed no permission.
    commands_only_read: bool,
    /// Calls that have no result yet.
    calls: PendingById<OpenCall, Text>,
    /// The turn is over: later decisions change nothing.
    is_over: bool,
    /// The run has no rules: they need ACP.
    needs_acp: bool,
    /// Gemini CLI is in plan mode, which the caller has chosen: tools omitted there are denied by that choice.
    is_planning: bool,
}

/// A call that has no result yet.
#[derive(Debug)]
struct OpenCall {
    name: Text,
    kind: ToolKind,
    input: Json,
}

impl DeniedCalls {
    /// Denials of a run in which rules need another transport.
    pub(crate) fn without_rules() -> Self {
        Self {
            needs_acp: true,
            ..Self::default()
        }
    }

    /// Takes in an event.
    pub fn push(&mut self, event: &Event) {
        if matches!(event.body, Body::StreamDelta(_)) {
            return; // nearly all of them
        }
        if event.base.extensions.contains_key("acp.replay") {
            return; // it was denied long ago
        }
        match &event.body {
            Body::SessionInit(init) => {
                self.is_planning = init
                    .permission_mode
                    .as_ref()
                    .is_some_and(|mode| *mode == *"plan");
            }
            Body::UserInput(input) if !input.is_synthetic => self.is_over = false,
            Body::TurnComplete(_) => self.is_over = true,
            _ if self.is_over => {}
            Body::ToolInvocation(call) => self.note_call(call),
            Body::ToolCompletion(done) => self.note_completion(done, event),
            Body::PermissionDecision(decision) => self.note_decision(decision),
            _ => {}
        }
    }

    /// A prompt that follows the end of a turn begins another one, with denials of its own.
    pub(crate) fn begin_turn(&mut self) {
        if self.is_over {
            *self = Self {
                is_planning: self.is_planning,
                needs_acp: self.needs_acp,
                ..Self::default()
            };
        }
    }

    /// A denial that the agent lists at the end of its turn.
    pub(crate) fn add_reported(&mut self, denial: PermissionDenial) {
        let kind = tools::kind_of_any_agent(&denial.tool_name.to_str());
        self.add_denial(denial, &kind);
    }

    /// An action that needs permission was done through the client.
    pub(crate) fn note_action(&mut self) {
        self.has_acted = true;
    }

    /// Whether commands run where nothing can be written.
    pub(crate) fn note_sandbox(&mut self, is_read_only: bool) {
        self.commands_only_read = is_read_only;
    }

    /// The agent offered no way to refuse a call that was denied.
    pub(crate) fn could_not_refuse(&mut self) {
        self.has_no_refusal = true;
    }

    /// The denials, in order.
    pub fn listed(&self) -> &[PermissionDenial] {
        &self.listed
    }

    /// True if a call was denied.
    pub fn is_any(&self) -> bool {
        !self.listed.is_empty()
    }

    /// The denied calls, how many times and how to allow them, in one line. `None` if no call was denied.
    pub fn summary(&self) -> Option<String> {
        let what = format!("{}: {}", self.denial_count_text(), self.denied_names());
        let why = self.remedy_or_reason().unwrap_or_default();
        self.is_any().then(|| format!("{what}; {why}"))
    }

    /// The end of a run after its denials are considered.
    pub(crate) fn judge_end(
        &self,
        on_denied: OnDenied,
        was_stopped: bool,
        mut end: RunEnd,
    ) -> RunEnd {
        if !self.is_any() {
            return end;
        }
        end.evidence.push(format!(
            "{}: {}",
            self.denial_count_text(),
            self.denied_names()
        ));
        // A turn that is cancelled without an order of the client was cancelled by a denial that the agent had no answer for.
        let was_cancelled = end.cause == Cause::CancelledByClient && !was_stopped;
        let is_done = end.cause == Cause::EndTurn || was_cancelled;
        let refuses = match on_denied {
            _ if was_cancelled && self.has_no_refusal => true,
            OnDenied::Auto => self.was_unattended && !self.has_acted,
            OnDenied::Fail => true,
            OnDenied::Warn => false,
        };
        if is_done && refuses {
            end.cause = Cause::PermissionDenied;
            end.outcome = end.cause.outcome();
            end.exit_code = end.cause.exit_code();
            end.message = Some(Text::from(format!(
                "{}: {}",
                self.denial_count_text(),
                self.denied_names()
            )));
            let last = if was_cancelled && self.has_no_refusal {
                "the agent offers no way to refuse a call, so its turn was cancelled"
            } else {
                "`--on-denied warn` accepts it"
            };
            let hints = self.remedy_or_reason().into_iter();
            let hints: Vec<_> = hints.chain([last.to_owned()]).collect();
            end.hint = Some(hints.join("; "));
        } else {
            end.warnings.extend(self.summary());
        }
        end
    }

    fn note_call(&mut self, call: &ToolInvocation) {
        let (id, size) = (&call.call_id, call.input.as_str().len());
        self.calls.close_text(id);
        let open = OpenCall {
            name: call.tool_name.detached(),
            kind: call.kind.clone(),
            input: call.input.detached(),
        };
        self.calls.open_text(id, open, size);
    }

    fn note_completion(&mut self, done: &ToolCompletion, event: &Event) {
        let Some(call) = self.calls.close_text(&done.call_id) else {
            return;
        };
        if done.status == ToolCallStatus::Completed {
            let only_read = self.commands_only_read && call.kind == ToolKind::Execute;
            self.has_acted |= needs_permission(&call.kind) && !only_read;
            return;
        }
        let error = event.base.extensions.get("gemini.error").map(Json::token);
        let error_type = error.and_then(|error| error.get("type")?.string());
        let is_gemini = event.base.provider == Provider::Gemini;
        let output = done.output.as_ref().and_then(|it| it.token().string());
        let is_left_out = match error_type.as_deref() {
            Some("tool_not_registered") if is_of_wider_mode(&call.name.to_str()) => true,
            Some("policy_violation") => false,
            None if is_gemini && output.as_deref().is_some_and(is_denial_by_policy) => false,
            _ => return,
        };
        let message = error.and_then(|error| error.get("message")?.string());
        let message = message.or(output);
        let unattended = is_left_out && !self.is_planning;
        let reason = match (is_left_out, self.is_planning) {
            (true, true) => format!("Gemini CLI has no `{}` in plan mode", call.name),
            (true, false) => format!(
                "`{}` needs approval, and Gemini CLI removes such tools where no person can be asked",
                call.name
            ),
            (false, _) => message.unwrap_or_default().into_owned(),
        };
        let denial = PermissionDenial {
            tool_name: call.name,
            tool_use_id: Some(done.call_id.detached()),
            tool_input: Some(call.input),
            title: None,
            rule: None,
            reason: Text::from(reason),
            unattended,
        };
        self.add_denial(denial, &call.kind);
    }

    fn note_decision(&mut self, decision: &PermissionDecision) {
        // A form that is not filled in is no call.
        let is_form = decision.tool_name == *"elicitation/create";
        if decision.decision != PermissionOutcome::Denied || is_form {
            return;
        }
        let denial = PermissionDenial {
            tool_name: decision.tool_name.detached(),
            tool_use_id: decision.tool_use_id.as_ref().map(Text::detached),
            tool_input: Some(decision.tool_input.detached()),
            title: decision.title.as_ref().map(Text::detached),
            rule: decision.rule.as_ref().map(Text::detached),
            reason: decision
                .reason
                .as_ref()
                .map_or_else(|| Text::from("it was denied"), Text::detached),
            unattended: decision.unattended,
        };
        self.add_denial(denial, &decision.tool_kind);
    }

    fn add_denial(&mut self, mut denial: PermissionDenial, kind: &ToolKind) {
        // Notes that an agent keeps for itself change nothing.
        self.was_unattended |= denial.unattended && *kind != ToolKind::Think;
        let remedy = denial.unattended.then(|| allowing_rule(&denial, kind));
        if let Some(remedy) = remedy.filter(|it| !self.remedies.contains(it))
            && self.remedies.len() < MOST_NAMED
        {
            self.remedies.push(remedy);
        }
        if self.listed.len() >= MOST_LISTED {
            self.unlisted += 1;
            return;
        }
        let size = denial
            .tool_input
            .as_ref()
            .map_or(0, |input| input.as_str().len());
        if self.input_bytes + size > MOST_INPUT {
            denial.tool_input = None;
        } else {
            self.input_bytes += size;
        }
        self.listed.push(denial);
    }

    fn denial_count_text(&self) -> String {
        let why = if self.was_unattended {
            " because no person could be asked"
        } else {
            ""
        };
        match self.listed.len() + self.unlisted {
            1 => format!("1 call was denied{why}"),
            many => format!("{many} calls were denied{why}"),
        }
    }

    fn denied_names(&self) -> String {
        let named = self.listed.iter().take(MOST_NAMED).map(denied_call_name);
        let named = named.collect::<Vec<_>>().join(", ");
        match (self.listed.len() + self.unlisted).saturating_sub(MOST_NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }

    /// What would have allowed the calls; else why the first was denied.
    fn remedy_or_reason(&self) -> Option<String> {
        self.remedy_hint().or_else(|| {
            let first = self.listed.first()?;
            Some(one_line(&first.reason.to_str()))
        })
    }

    /// The options that would have allowed the calls that were denied for want of a prompt.
    fn remedy_hint(&self) -> Option<String> {
        let flags = self
            .remedies
            .iter()
            .map(|value| format!("--allow '{value}'"));
        let flags = flags.collect::<Vec<_>>().join(" ");
        let over = if self.needs_acp { " over ACP" } else { "" };
        (!flags.is_empty()).then(|| format!("`{flags}` would allow it{over}"))
    }
}

/// The sentences with which Gemini CLI (0.61) answers a call that its own policy denies. Over ACP they are all that it says.
fn is_denial_by_policy(output: &str) -> bool {
    let rest = output.strip_prefix("Tool execution ");
    rest.is_some_and(|rest| {
        rest.starts_with("denied by policy.")
            || rest.starts_with("for \"") && rest.contains("\" denied by policy.")
    })
}

/// Whether an agent has to ask before such a call.
fn needs_permission(kind: &ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Execute
            | ToolKind::Fetch
            | ToolKind::Mcp
    )
}

/// Whether Gemini CLI has this tool under a wider approval mode.
fn is_of_wider_mode(name: &str) -> bool {
    let mut prefixes = NEEDS_APPROVAL_PREFIXES.iter();
    NEEDS_APPROVAL.contains(&name) || prefixes.any(|prefix| name.starts_with(prefix))
}

/// The tool, and the file or command that it was about: as its arguments say, else as its title does.
fn denied_call_name(denial: &PermissionDenial) -> String {
    let tool = denial.tool_name.to_str();
    let input = denial.tool_input.as_ref().map(Json::token);
    let titled = || subject_of_title(&tool, &denial.title.as_ref()?.to_str());
    match input.and_then(subject_of_input).or_else(titled) {
        Some(about) => format!("`{} {}`", shortened_name(&tool), one_line(&about)),
        None => format!("`{}`", shortened_name(&tool)),
    }
}

/// The part of a title beside the name of the tool: `edit a.txt` of an `edit` gives `a.txt`.
fn subject_of_title(tool: &str, title: &str) -> Option<String> {
    let rest = title.strip_prefix(tool).unwrap_or(title).trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The subject of a call, in one word or line of its arguments.
fn subject_of_input(input: Token<'_>) -> Option<String> {
    let keys = [
        "command",
        "cmd",
        "file_path",
        "path",
        "filePath",
        "url",
        "uri",
        "prompt",
        "name",
    ];
    let found = keys.iter().find_map(|key| input.get(key)?.string())?;
    (!found.trim().is_empty()).then(|| found.into_owned())
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened_name(&line).into_owned()
}

/// The value of `--allow` that would have allowed a call.
fn allowing_rule(denial: &PermissionDenial, kind: &ToolKind) -> String {
    let input = denial.tool_input.as_ref().map(Json::token);
    let command = || {
        let input = input?;
        input.get("command").or_else(|| input.get("cmd"))?.string()
    };
    match kind {
        ToolKind::Execute => match command().filter(|line| is_plain(line)) {
            Some(line) => format!("execute:{line}"),
            None => "execute".to_owned(),
        },
        ToolKind::Edit | ToolKind::Delete | ToolKind::Read => match input.and_then(rule_file) {
            Some(path) => format!("{kind}:{path}"),
            None => kind.as_str().to_owned(),
        },
        ToolKind::Move | ToolKind::Fetch | ToolKind::Search => kind.as_str().to_owned(),
        _ => format!("tool={}", shortened_name(&denial.tool_name.to_str())),
    }
}

/// The file of a call, if a rule can name it: a relative path would count from another directory in a flag.
fn rule_file(input: Token<'_>) -> Option<String> {
    let keys = ["file_path", "path", "filePath"];
    let path = keys.iter().find_map(|key| input.get(key)?.string())?;
    let is_fit = |c: char| !c.is_control() && !"'`*?{}\\".contains(c);
    let is_plain = path.starts_with('/') && path.len() <= LONGEST_PATH && path.chars().all(is_fit);
    is_plain.then(|| path.into_owned())
}

/// Whether a command can be repeated in single quotes, in one line that is not too long.
fn is_plain(command: &str) -> bool {
    let is_fit = |c: char| !c.is_control() && c != '\'' && c != '`' && c != '*';
    !command.trim().is_empty() && command.len() <= 60 && command.chars().all(is_fit)
}
