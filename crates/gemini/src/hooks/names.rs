//! Names that people write in hooks: of tools, of events, and those of Claude Code for the same things.

use lapidary_wire::gemini::BUILT_IN_TOOLS;
use strsim::osa_distance;

use super::HookEvent;

/// No name is longer.
const LONGEST_WORD: usize = 64;

/// The tools of Gemini CLI, and one that it had before. Those of MCP servers begin with `mcp_`.
pub(super) fn known_tools() -> impl Iterator<Item = &'static str> {
    BUILT_IN_TOOLS.into_iter().chain(["save_memory"])
}

/// The events of Claude Code, and ours. An event that is only similar has none: a hook that denies must not become one that
/// cannot deny, nor a hook for failures one for every call.
const CLAUDE_EVENTS: [(&str, Option<HookEvent>); 15] = [
    ("PreToolUse", Some(HookEvent::BeforeTool)),
    ("PostToolUse", Some(HookEvent::AfterTool)),
    ("PostToolUseFailure", None),
    ("UserPromptSubmit", Some(HookEvent::BeforeAgent)),
    ("Stop", Some(HookEvent::AfterAgent)),
    ("SubagentStop", Some(HookEvent::AfterAgent)),
    ("SubAgentStop", Some(HookEvent::AfterAgent)), // never its name, but Gemini CLI thought so
    ("SessionStart", Some(HookEvent::SessionStart)),
    ("SessionEnd", Some(HookEvent::SessionEnd)),
    ("PreCompact", Some(HookEvent::PreCompress)),
    ("Notification", Some(HookEvent::Notification)),
    ("PermissionRequest", None),
    ("SubagentStart", None),
    ("TeammateIdle", None),
    ("TaskCompleted", None),
];

/// The tools of Claude Code, and Gemini CLI's names for them.
pub(super) const CLAUDE_TOOLS: [(&str, &str); 14] = [
    ("Bash", "run_shell_command"),
    ("Edit", "replace"),
    ("MultiEdit", "replace"),
    ("Read", "read_file"),
    ("Write", "write_file"),
    ("Glob", "glob"),
    ("Grep", "grep_search"),
    ("LS", "list_directory"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "google_web_search"),
    ("TodoWrite", "write_todos"),
    ("Task", "invoke_agent"),
    ("Skill", "activate_skill"),
    ("AskUserQuestion", "ask_user"),
];

/// Names that Gemini's tools had, show on the screen, or never had but are written all the same.
const OTHER_TOOLS: [(&str, &str); 12] = [
    ("WriteFile", "write_file"),
    ("ReadFile", "read_file"),
    ("ReadFolder", "list_directory"),
    ("Shell", "run_shell_command"),
    ("shell_execute", "run_shell_command"),
    ("shell", "run_shell_command"),
    ("bash", "run_shell_command"),
    ("search_file_content", "grep_search"),
    ("grep", "grep_search"),
    ("ls", "list_directory"),
    ("edit", "replace"),
    ("edit_file", "replace"),
];

/// What Claude Code calls an event, here: none if there is nothing like it. `Err` if Claude Code has no such event.
pub(super) fn claude_event(name: &str) -> Result<Option<HookEvent>, ()> {
    let found = CLAUDE_EVENTS.iter().find(|(claude, _)| *claude == name);
    found.map(|(_, event)| *event).ok_or(())
}

/// The event that an unknown name was probably meant to be, as a hint for its author.
pub fn event_meant(name: &str) -> String {
    match claude_event(name) {
        Ok(Some(event)) => format!("that is Claude Code's name; here it is `{event}`"),
        Ok(None) => "that is an event of Claude Code's; Gemini CLI has nothing like it".to_owned(),
        Err(()) => other_event(name),
    }
}

/// The same for a name that Claude Code does not know either.
pub(super) fn other_event(name: &str) -> String {
    let events = || HookEvent::ALL.into_iter().map(HookEvent::as_str);
    match nearest(name, events()) {
        Some(event) => format!("did you mean `{event}`?"),
        None => format!("there are {}", events().collect::<Vec<_>>().join(", ")),
    }
}

/// Gemini CLI's name of a tool that goes by another name.
pub(super) fn tool_meant(name: &str) -> Option<&'static str> {
    let known = CLAUDE_TOOLS.iter().chain(&OTHER_TOOLS);
    let known = known
        .filter(|(other, _)| *other == name)
        .map(|(_, ours)| *ours);
    let same = known_tools().filter(|tool| tool.eq_ignore_ascii_case(name) && *tool != name);
    known.chain(same).next()
}

/// The candidate that a word was probably meant to be, if it is close.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let word = word.to_ascii_lowercase();
    // Two neighbours that changed places are one mistake.
    let far = |candidate: &str| osa_distance(&word, &candidate.to_ascii_lowercase());
    let scored = candidates.map(|candidate| (far(candidate), candidate));
    let (distance, candidate) = scored.min_by_key(|(distance, _)| *distance)?;
    // A word of which no letter is right was not meant to be this one.
    (distance <= word.len().max(4) / 3 && distance < word.len()).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_close_is_found_and_no_other() {
        let events = || HookEvent::ALL.into_iter().map(HookEvent::as_str);
        assert_eq!(nearest("beforeTool", events()), Some("BeforeTool"));
        assert_eq!(nearest("BeforeTools", events()), Some("BeforeTool"));
        assert_eq!(nearest("SesionStart", events()), Some("SessionStart"));
        assert_eq!(nearest("Frobnicate", events()), None);
        assert_eq!(nearest(&"x".repeat(10_000), events()), None);
        assert_eq!(nearest("gaurd", ["guard"].into_iter()), Some("guard"));
        assert_eq!(osa_distance("kitten", "sitting"), 3);
        assert_eq!(osa_distance("gaurd", "guard"), 1);
        assert_eq!(osa_distance("ab", "ba"), 1);
        assert_eq!(osa_distance("", "abc"), 3);
    }
}
