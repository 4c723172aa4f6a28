//! Events that are neither words nor tools: warnings, errors, diagnostics, changes of state. One line each, for every format.

use lapidary_vocab::event::{
    CommandResult, ContextCompaction, Diagnostic, DiagnosticKind, ElicitationAction,
    ElicitationRequest, ElicitationResult, HookRun, SessionState, SessionStatus, SubagentComplete,
    SubagentSpawn, TextEvent, TextKind,
};
use lapidary_vocab::{Body, Event, Json, Text};

use crate::notice::{Notice, NoticeLevel};
use crate::{json_text, permission};

/// How many characters are shown of a line that could not be read.
const LONGEST_SAMPLE: usize = 200;

/// The notice that an event is, if it is one.
pub(crate) fn notice_for(event: &Event) -> Option<Notice> {
    match &event.body {
        Body::SessionStatus(status) => Some(session_status(status, event)),
        Body::Text(text) => text_notice(text, event),
        // Handshakes and the like are nothing to look at.
        Body::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::Protocol => None,
        Body::Diagnostic(diagnostic) => Some(diagnostic_notice(diagnostic, event)),
        Body::PermissionDecision(decision) => Some(permission::decision_notice(decision)),
        Body::ElicitationRequest(request) => Some(elicitation_notice(request)),
        Body::ElicitationResult(result) => not_filled_in(result),
        Body::CommandResult(result) => failed_command(result),
        Body::HookRun(run) => Some(hook_notice(run)),
        Body::SubagentSpawn(spawn) => Some(spawn_notice(spawn)),
        Body::SubagentComplete(done) => Some(report_notice(done)),
        Body::ContextCompaction(compaction) => Some(compaction_notice(compaction)),
        Body::SessionMode(mode) => Some(Notice::new(
            NoticeLevel::Info,
            "mode of the agent",
            mode.current_mode_id.to_str(),
        )),
        Body::Unknown(whole) => Some(unknown_notice(whole)),
        _ => None,
    }
}

fn session_status(status: &SessionStatus, event: &Event) -> Notice {
    let word =
        extension_text(event, "gemini.severity").or_else(|| extension_text(event, "acp.severity"));
    let level = match (&status.status, word.as_deref()) {
        (SessionState::Error, Some("warning")) => NoticeLevel::Warning,
        (SessionState::Error, _) => NoticeLevel::Error,
        _ => NoticeLevel::Info,
    };
    let message = status
        .message
        .as_ref()
        .map(Text::to_str)
        .unwrap_or_default();
    let label = match level {
        NoticeLevel::Info => status.status.as_str(),
        NoticeLevel::Warning | NoticeLevel::Error => level.level_word(),
    };
    Notice::new(level, label, message)
}

/// A text that is not an answer: an error of the agent, or what Gemini records as info and warning.
fn text_notice(text: &TextEvent, event: &Event) -> Option<Notice> {
    let message_type = extension_text(event, "gemini.messageType");
    let level = match (&text.kind, message_type.as_deref()) {
        (TextKind::Error, _) | (_, Some("error")) => NoticeLevel::Error,
        (_, Some("warning")) => NoticeLevel::Warning,
        (_, Some("info")) => NoticeLevel::Info,
        _ => return None,
    };
    Some(Notice::new(level, level.level_word(), text.text.to_str()))
}

fn diagnostic_notice(diagnostic: &Diagnostic, event: &Event) -> Notice {
    let raw = event
        .base
        .raw
        .as_ref()
        .map(|raw| json_text::readable_text(raw.token()));
    match (&diagnostic.kind, raw) {
        // Records that were replaced are no fault: every tool call of a session file replaces one.
        (DiagnosticKind::SessionRecords, _) => {
            Notice::new(NoticeLevel::Info, "note", diagnostic.message.as_str())
        }
        // A notice of ours is no fault.
        (DiagnosticKind::Notice, _) => {
            Notice::new(NoticeLevel::Warning, "note", diagnostic.message.as_str())
        }
        // The line itself tells more than the message that it is not JSON.
        (DiagnosticKind::Noise, Some(line)) => Notice::new(NoticeLevel::Warning, "not JSON", line),
        (kind, raw) => {
            let label = format!("diagnostic: {}", kind.as_str().replace('_', " "));
            let text = match (kind, &raw) {
                (DiagnosticKind::MalformedLine, Some(line)) => {
                    let sample = crate::plain::first_line(line, LONGEST_SAMPLE);
                    format!("{}: {sample}", diagnostic.message)
                }
                _ => diagnostic.message.clone(),
            };
            let mut notice = Notice::new(NoticeLevel::Warning, &label, text);
            notice.detail = raw;
            notice
        }
    }
}

fn elicitation_notice(request: &ElicitationRequest) -> Notice {
    let url = request.url.as_ref().map(|url| format!(" ({url})"));
    let text = format!("{}{}", request.message, url.unwrap_or_default());
    Notice::new(NoticeLevel::Info, "asks the user", text)
}

/// An accepted form needs no notice: the user filled it in. A form without an answer needs the reason.
fn not_filled_in(result: &ElicitationResult) -> Option<Notice> {
    let label = match &result.action {
        ElicitationAction::Accept => return None,
        ElicitationAction::Decline => "declined",
        _ => "not answered",
    };
    let reason = result.reason.as_ref().map(Text::to_string);
    Some(Notice::new(
        NoticeLevel::Info,
        label,
        reason.unwrap_or_default(),
    ))
}

fn failed_command(result: &CommandResult) -> Option<Notice> {
    let message = result.message.as_ref().map(Text::to_string);
    let text = format!("{}: {}", result.command, message.unwrap_or_default());
    let notice = || Notice::new(NoticeLevel::Error, "command failed", text);
    result.is_error.then(notice)
}

fn hook_notice(run: &HookRun) -> Notice {
    let failed =
        run.timed_out || run.error.is_some() || run.exit_code.is_some_and(|code| code != 0);
    let code = run
        .exit_code
        .filter(|code| *code != 0)
        .map(|code| format!("exit code {code}"));
    let decision = run
        .decision
        .as_ref()
        .map(|decision| format!("decided {decision}"));
    let timed_out = run.timed_out.then(|| timed_out(run));
    let reason = run.reason.as_ref().map(Text::to_string);
    let message = run.message.as_ref().map(Text::to_string);
    let error = run.error.as_ref().filter(|_| !run.timed_out);
    let error = error.map(Text::to_string);
    let said: Vec<_> = [timed_out, error, code, decision, reason, message]
        .into_iter()
        .flatten()
        .collect();
    let text = if said.is_empty() {
        run.hook.to_string()
    } else {
        format!("{}: {}", run.hook, said.join(", "))
    };
    let level = if failed {
        NoticeLevel::Warning
    } else {
        NoticeLevel::Info
    };
    Notice::new(level, &format!("hook {}", run.hook_event), text)
}

/// The words for a hook that timed out.
fn timed_out(run: &HookRun) -> String {
    let after = run.duration_ms.as_ref();
    let after = after.map(|time| format!(" after {time} ms"));
    let so = if run.decision.is_none() {
        "; it blocks nothing"
    } else {
        ""
    };
    format!("timed out{}{so}", after.unwrap_or_default())
}

fn spawn_notice(spawn: &SubagentSpawn) -> Notice {
    let name = spawn
        .agent_type
        .as_ref()
        .map_or_else(|| "agent".to_owned(), Text::to_string);
    let task = spawn
        .description
        .as_ref()
        .map(|task| format!(": {task}"))
        .unwrap_or_default();
    let verb = if spawn.is_resume {
        "sub-agent resumes"
    } else {
        "sub-agent starts"
    };
    Notice::new(NoticeLevel::Info, verb, name + &task)
}

fn report_notice(done: &SubagentComplete) -> Notice {
    let status = done
        .status
        .as_ref()
        .map_or_else(|| "done".to_owned(), Text::to_string);
    let mut notice = Notice::new(NoticeLevel::Info, "sub-agent ends", status);
    notice.detail = done.summary.as_ref().map(Text::to_string);
    notice
}

fn compaction_notice(compaction: &ContextCompaction) -> Notice {
    let before = compaction
        .pre_tokens
        .as_ref()
        .map(|tokens| format!(", {tokens} tokens before"));
    let text = format!("{}{}", compaction.trigger, before.unwrap_or_default());
    let mut notice = Notice::new(NoticeLevel::Info, "history shortened", text);
    notice.detail = compaction.summary.as_ref().map(Text::to_string);
    notice
}

fn unknown_notice(whole: &Json) -> Notice {
    let name = whole
        .token()
        .get("event")
        .map(json_text::readable_text)
        .unwrap_or_default();
    let mut notice = Notice::new(NoticeLevel::Warning, "event of an unknown kind", name);
    notice.detail = Some(json_text::pretty_json(whole.token()));
    notice
}

fn extension_text(event: &Event, key: &str) -> Option<String> {
    event
        .base
        .extensions
        .get(key)
        .map(|value| value.to_display().into_owned())
}
