//! Keys among hooks that Gemini CLI ignores without a word, and the key that was probably meant.

use super::super::names::nearest;
use super::super::{HookEvent, HookRegistry};
use super::positions::PositionedText;
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::jsonc::JsoncNode;

const SECTIONS: [&str; 2] = ["hooks", "hooksConfig"];
const CONFIG: [&str; 3] = ["enabled", "disabled", "notifications"];
const DEFINITION: [&str; 3] = ["matcher", "sequential", "hooks"];
/// `failOpen` is ours: Gemini CLI passes over it.
const HOOK: [&str; 7] = [
    "type",
    "command",
    "name",
    "description",
    "timeout",
    "env",
    "failOpen",
];

/// An unknown key, and where it begins.
struct UnlistedKey {
    key: String,
    start: usize,
    /// Its parent: an event, or a section of the settings.
    subject: String,
    /// The kind of its parent.
    within: KeyContext,
}

#[derive(Clone, Copy, PartialEq)]
enum KeyContext {
    Settings,
    Config,
    Definition,
    Hook,
}

impl KeyContext {
    fn known_keys(self) -> &'static [&'static str] {
        match self {
            Self::Settings => &SECTIONS,
            Self::Config => &CONFIG,
            Self::Definition => &DEFINITION,
            Self::Hook => &HOOK,
        }
    }

    fn context_name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Config => "`hooksConfig`",
            Self::Definition => "a definition",
            Self::Hook => "a hook",
        }
    }
}

pub(super) fn check_keys(report: &mut FindingReport<'_>, registry: &HookRegistry) {
    for path in report.hook_files(registry) {
        let Some(text) = report.spots.positioned_text(&path) else {
            continue;
        };
        let unknown = find_unknown_keys(text).into_iter();
        let placed: Vec<_> = unknown
            .map(|it| (text.byte_position(it.start), it))
            .collect();
        for (place, unknown) in placed {
            report.add_at(&path, Some(place), unknown_key_finding(&unknown));
        }
    }
}

fn unknown_key_finding(unknown: &UnlistedKey) -> UnplacedFinding<'_> {
    let UnlistedKey { key, within, .. } = unknown;
    let is_switch = *within == KeyContext::Hook && matches!(key.as_str(), "enabled" | "disabled");
    let hint = if is_switch {
        Some("`hooksConfig.disabled` has the names of disabled hooks".to_owned())
    } else {
        let meant = nearest(key, within.known_keys().iter().copied());
        meant.map(|meant| format!("did you mean `{meant}`?"))
    };
    UnplacedFinding {
        severity: LintSeverity::Warning,
        code: "unknown_key",
        subject: &unknown.subject,
        sentence: format!(
            "`{key}` is not a key of {} that Gemini CLI knows: it is passed over",
            within.context_name()
        ),
        hint,
    }
}

fn find_unknown_keys(text: &PositionedText) -> Vec<UnlistedKey> {
    let mut found = Vec::new();
    let root = &text.tree.root;
    for child in &root.children {
        let is_known = SECTIONS.contains(&child.key.as_str());
        // Other sections are none of ours; one that is nearly ours is a slip.
        if !is_known && nearest(&child.key, SECTIONS.into_iter()).is_some() {
            found.push(UnlistedKey {
                key: child.key.clone(),
                start: child.start,
                subject: child.key.clone(),
                within: KeyContext::Settings,
            });
        }
    }
    if let Some(config) = root.child_by_key("hooksConfig") {
        collect_unknown_keys(&config.node, "hooksConfig", KeyContext::Config, &mut found);
    }
    for event in root
        .child_by_key("hooks")
        .iter()
        .flat_map(|it| &it.node.children)
    {
        if event.key.parse::<HookEvent>().is_ok() {
            for definition in list_items(text, &event.node) {
                definition_keys(text, definition, &event.key, &mut found);
            }
        }
    }
    found
}

fn definition_keys(
    text: &PositionedText,
    definition: &JsoncNode,
    event: &str,
    found: &mut Vec<UnlistedKey>,
) {
    // One without hooks is none, and that is said.
    let Some(hooks) = definition
        .child_by_key("hooks")
        .filter(|_| is_object(text, definition))
    else {
        return;
    };
    collect_unknown_keys(definition, event, KeyContext::Definition, found);
    let hooks = hooks.node.children.iter().map(|hook| &hook.node);
    for hook in hooks.filter(|hook| is_object(text, hook)) {
        collect_unknown_keys(hook, event, KeyContext::Hook, found);
    }
}

fn collect_unknown_keys(
    object: &JsoncNode,
    subject: &str,
    within: KeyContext,
    found: &mut Vec<UnlistedKey>,
) {
    // Where comments are not allowed, people write them as keys.
    let is_remark = |key: &str| key.starts_with(['_', '$', '/', '#']);
    for child in &object.children {
        let key = child.key.as_str();
        if !within.known_keys().contains(&key) && !is_remark(key) {
            found.push(UnlistedKey {
                key: key.to_owned(),
                start: child.start,
                subject: subject.to_owned(),
                within,
            });
        }
    }
}

/// The items of a list; one that stands alone is a list of one.
fn list_items<'a>(text: &PositionedText, node: &'a JsoncNode) -> Vec<&'a JsoncNode> {
    if is_object(text, node) {
        return vec![node];
    }
    node.children.iter().map(|child| &child.node).collect()
}

fn is_object(text: &PositionedText, node: &JsoncNode) -> bool {
    let bytes = text.tree.plain.text.as_bytes();
    bytes.get(node.span.start) == Some(&b'{')
}
