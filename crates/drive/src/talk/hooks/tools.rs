//! Tools: what they are called, and what hooks say about them.

use std::collections::HashSet;

use lapidary_home::hooks::{Event, Plan};
use lapidary_normalize::tools;
use lapidary_vocab::Json;
use lapidary_vocab::event::{DecidedBy, ToolKind};
use lapidary_wire::gemini::hooks::{Details, ToolCall};
use serde_json::{Map, Value, json};

use super::{Finished, Firing, Place};
use crate::hooks::{Effect as Wish, Fired, aggregate};
use crate::policy::{Decision, Deed, Effect};

/// What hooks say about something that an agent wants to do.
#[derive(Debug, PartialEq)]
pub(in crate::talk) enum Verdict {
    /// Nothing against it.
    Silent,
    /// Somebody has to be asked.
    Ask(Option<String>),
    /// It may not.
    Denied(Decision),
    /// It may not, and has to stop altogether.
    Stopped(Decision),
}

/// Something that an agent wants to do.
#[derive(Debug, Clone, Copy)]
pub(in crate::talk) struct Wanted<'a> {
    pub(in crate::talk) deed: &'a Deed,
    pub(in crate::talk) input: &'a Json,
}

impl Verdict {
    /// What becomes of a decision.
    pub(in crate::talk) fn over(self, decision: impl FnOnce() -> Decision) -> Decision {
        match self {
            Self::Denied(denied) | Self::Stopped(denied) => denied,
            Self::Silent => decision(),
            Self::Ask(message) => match decision() {
                Decision {
                    effect: Effect::Allow,
                    ..
                } => Decision {
                    effect: Effect::Ask,
                    by: DecidedBy::Hook,
                    rule: None,
                    reason: message.unwrap_or_else(|| "a hook wants it to be asked".to_owned()),
                },
                stricter => stricter,
            },
        }
    }
}

impl Firing {
    /// May it? Hooks for any of the names that its tool goes by are heard. None if they were ended before they could say.
    pub(in crate::talk) async fn before_tool(
        &self,
        wanted: Wanted<'_>,
        place: Place<'_>,
    ) -> Option<Verdict> {
        let mut runs = Vec::new();
        for (name, plan) in self.plans(Event::BeforeTool, wanted, place) {
            let details = Details::BeforeTool(call(name, wanted));
            let fired = self.fire_plan(plan, details, place).await;
            runs.extend(fired.runs);
        }
        let outputs = runs.iter().filter_map(|ran| ran.answer.output.as_ref());
        let fired = Fired {
            event: Event::BeforeTool,
            aggregate: aggregate(Event::BeforeTool, outputs),
            runs,
        };
        (!self.under_way.is_over()).then(|| self.judged(&fired, place))
    }

    /// What a tool has done cannot be undone, but what comes next can be kept from happening. True if everything is to stop.
    pub(in crate::talk) async fn after_tool(&self, done: &Finished) -> bool {
        let place = done.place();
        if !done.is_asked && !done.is_served {
            self.unasked(done, place);
        }
        if done.is_denied {
            return false;
        }
        let mut stops = false;
        for (name, plan) in self.plans(Event::AfterTool, done.wanted(), place) {
            let details = Details::AfterTool(call(name, done.wanted()), done.response.clone());
            let fired = self.fire_plan(plan, details, place).await;
            stops |= fired.effects().iter().any(|it| matches!(it, Wish::Stop(_)));
            self.lost_on_results(&fired, place);
        }
        stops
    }

    /// Says how many calls have been left without the hooks that come after them, if there are any such hooks.
    pub(in crate::talk) fn not_after(&self, calls: usize, why: &str) {
        let enabled = self.hooks.registry.hooks.iter().filter(|it| it.enabled);
        let is_any = enabled
            .into_iter()
            .any(|it| it.hook.event == Event::AfterTool);
        if calls > 0 && is_any {
            let message = format!("no `AfterTool` hook was run for {calls} calls: {why}");
            self.note(self.say.latest(), message);
        }
    }

    /// Whether hooks come after this call.
    pub(in crate::talk) fn comes_after(&self, done: &Finished) -> bool {
        let mut names = names(done.wanted()).into_iter();
        !done.is_denied && names.any(|name| self.has(Event::AfterTool, Some(&name)))
    }

    /// Somebody is asked.
    pub(in crate::talk) async fn notify(&self, wanted: Wanted<'_>, place: Place<'_>) {
        if !self.has(Event::Notification, None) {
            return;
        }
        let (message, details) = notice(wanted);
        let details = Details::Notification {
            notification_type: "ToolPermission".to_owned(),
            message,
            details,
        };
        self.fire(details, place).await;
    }

    /// What hooks would have held back, had the agent asked.
    fn unasked(&self, done: &Finished, place: Place<'_>) {
        let names = names(done.wanted());
        let Some(name) = names
            .into_iter()
            .find(|name| self.has(Event::BeforeTool, Some(name)))
        else {
            return;
        };
        self.once("unasked", place, || {
            format!(
                "the agent ran `{name}` without asking: `BeforeTool` hooks cannot hold back what it does not ask about"
            )
        });
    }

    /// The plans for each of the names, none of whose hooks is in another.
    fn plans(&self, event: Event, wanted: Wanted<'_>, place: Place<'_>) -> Vec<(String, Plan)> {
        let mut seen = HashSet::new();
        let plans = names(wanted).into_iter().map(|name| {
            let mut plan = self.plan(event, Some(&name), place);
            plan.hooks.retain(|hook| seen.insert(hook.key()));
            (name, plan)
        });
        plans.filter(|(_, plan)| !plan.hooks.is_empty()).collect()
    }

    async fn fire_plan(&self, plan: Plan, details: Details, place: Place<'_>) -> Fired {
        let around = self.around(place.session);
        let input = around.input(details);
        self.under_way
            .fire(plan, input, around, self.told(place))
            .await
    }

    fn judged(&self, fired: &Fired, place: Place<'_>) -> Verdict {
        let mut verdict = Verdict::Silent;
        for effect in fired.effects() {
            match effect {
                Wish::Stop(reason) => return Verdict::Stopped(denied(&reason)),
                Wish::Block(reason) => return Verdict::Denied(denied(&reason)),
                Wish::Ask(message) => verdict = Verdict::Ask(message),
                Wish::ReplaceToolInput(_) => self.once("tool_input", place, || {
                    "a hook wants other arguments for a tool, which nobody can give an agent over ACP: it runs with its own".to_owned()
                }),
                _ => {}
            }
        }
        verdict
    }

    /// What a hook says about a result does not reach the model over ACP.
    fn lost_on_results(&self, fired: &Fired, place: Place<'_>) {
        for effect in fired.effects() {
            let (key, what) = match effect {
                Wish::Block(_) => ("hidden", "hides a tool's result"),
                Wish::AddContext(_) => ("context", "adds to a tool's result"),
                Wish::RunAnotherTool(_) => ("another", "wants another tool to run"),
                _ => continue,
            };
            self.once(key, place, || {
                format!("an `AfterTool` hook {what}, which nobody can do to an agent over ACP: the agent goes on with what it has")
            });
        }
    }
}

fn denied(reason: &str) -> Decision {
    Decision {
        effect: Effect::Deny,
        by: DecidedBy::Hook,
        rule: None,
        reason: format!("a hook denied it: {reason}"),
    }
}

/// What a tool goes by: the agent's own name for it, and what Gemini CLI calls a tool that does the same, as matchers have it. There is
/// always one, so that a hook for all tools hears of all; and a name alone keeps nobody from hearing what is really done.
fn names(wanted: Wanted<'_>) -> Vec<String> {
    let deed = wanted.deed;
    let is_word = |char: char| char.is_ascii_alphanumeric() || "_-.:".contains(char);
    let own = deed.tool.as_deref().filter(|name| !name.is_empty());
    let word = own.filter(|name| name.chars().all(is_word));
    let is_known = word.is_some_and(|own| own.contains('_') && tools::kind(own) == deed.kind);
    let runs_a_command = arguments(wanted)
        .get("command")
        .is_some_and(Value::is_string);
    let same: &[&str] = match deed.kind {
        _ if is_known => &[],
        ToolKind::Execute => &["run_shell_command"],
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => &["write_file", "replace"],
        ToolKind::Read => &["read_file"],
        ToolKind::Search => &["grep_search", "glob"],
        ToolKind::Fetch => &["web_fetch"],
        ToolKind::Browse => &["google_web_search"],
        _ if runs_a_command => &["run_shell_command"],
        _ => &[],
    };
    let mut names: Vec<String> = word.map(str::to_owned).into_iter().collect();
    names.extend(same.iter().map(|name| (*name).to_owned()));
    if names.is_empty() {
        let title = own.or(deed.title.as_deref()).unwrap_or("unknown");
        names.push(title.to_owned());
    }
    names
}

fn call(name: String, wanted: Wanted<'_>) -> ToolCall {
    ToolCall {
        name,
        input: arguments(wanted),
        ..ToolCall::default()
    }
}

/// The arguments. Gemini CLI (0.61) sends none over ACP: then they are what is known about the call, under its own names.
fn arguments(wanted: Wanted<'_>) -> Value {
    let given = serde_json::from_str::<Map<String, Value>>(wanted.input.as_str());
    let mut given = given.unwrap_or_default();
    let Deed { command, paths, .. } = wanted.deed;
    let path = paths
        .first()
        .map(|path| path.to_string_lossy().into_owned());
    let known = [
        ("command", command.clone()),
        ("file_path", path.filter(|_| command.is_none())),
    ];
    for (key, value) in known {
        if let Some(value) = value
            && !given.contains_key(key)
        {
            given.insert(key.to_owned(), value.into());
        }
    }
    Value::Object(given)
}

/// What Gemini CLI says when it asks, as far as an agent tells.
fn notice(wanted: Wanted<'_>) -> (String, Value) {
    let deed = wanted.deed;
    let title = deed.title.as_deref().or(deed.tool.as_deref());
    let title = title.unwrap_or("tool");
    let path = deed.paths.first();
    let path = path.map(|path| path.to_string_lossy().into_owned());
    let (kind, what, mut details) = match &deed.kind {
        ToolKind::Execute => {
            let command = deed.command.clone().unwrap_or_default();
            let root = command.split_ascii_whitespace().next().map(str::to_owned);
            let details = json!({"command": command, "rootCommand": root.unwrap_or_default()});
            ("exec", "execution", details)
        }
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            let name = deed.paths.first().and_then(|path| path.file_name());
            let name = name.map(|name| name.to_string_lossy().into_owned());
            (
                "edit",
                "editing",
                json!({"fileName": name, "filePath": path}),
            )
        }
        ToolKind::Mcp => {
            let details = json!({"serverName": deed.mcp_server, "toolName": deed.tool});
            ("mcp", "MCP", details)
        }
        _ => ("info", "information", json!({"prompt": title})),
    };
    let mut all = json!({"type": kind, "title": title});
    if let (Value::Object(all), Value::Object(details)) = (&mut all, &mut details) {
        all.append(details);
        all.retain(|_, value| !value.is_null());
    }
    (format!("Tool {title} requires {what}"), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(kind: ToolKind, tool: &str) -> Deed {
        Deed {
            kind,
            tool: Some(tool.to_owned()),
            title: Some("Title".to_owned()),
            command: None,
            paths: vec!["/w/a.txt".into()],
            mcp_server: None,
        }
    }

    #[test]
    fn a_tool_goes_by_its_own_name_and_by_what_gemini_cli_calls_it() {
        let check = |kind, tool, expected: &[&str]| {
            let deed = deed(kind, tool);
            let input = Json::from(lapidary_json::SharedToken::parse("{}").unwrap());
            let wanted = Wanted {
                deed: &deed,
                input: &input,
            };
            assert_eq!(names(wanted), expected, "{tool}");
        };
        check(ToolKind::Edit, "write_file", &["write_file"]);
        check(ToolKind::Edit, "Edit", &["Edit", "write_file", "replace"]);
        check(
            ToolKind::Edit,
            "Writing to n.txt",
            &["write_file", "replace"],
        );
        check(ToolKind::Execute, "Bash", &["Bash", "run_shell_command"]);
        check(ToolKind::Mcp, "mcp_server_tool", &["mcp_server_tool"]);
        // What it calls itself hides nothing.
        let shell = ["read_file", "run_shell_command"];
        check(ToolKind::Execute, "read_file", &shell);
        check(
            ToolKind::Delete,
            "delete my file",
            &["write_file", "replace"],
        );
        check(ToolKind::Think, "think a while", &["think a while"]);
        check(ToolKind::Unclassified, "", &["Title"]);
        let service = ["write_file", "replace"];
        check(ToolKind::Edit, "fs/write_text_file", &service);
    }

    #[test]
    fn arguments_are_the_agents_own_and_what_is_known() {
        let check = |input: &str, deed: &Deed, expected: Value| {
            let input = Json::from(lapidary_json::SharedToken::parse(input).unwrap());
            assert_eq!(
                arguments(Wanted {
                    deed,
                    input: &input
                }),
                expected
            );
        };
        let edit = deed(ToolKind::Edit, "write_file");
        check("{}", &edit, json!({"file_path": "/w/a.txt"}));
        let own = json!({"file_path": "a.txt", "content": "x"});
        check(&own.to_string(), &edit, own);
        let run = Deed {
            command: Some("ls".to_owned()),
            ..deed(ToolKind::Execute, "run_shell_command")
        };
        check("{}", &run, json!({"command": "ls"}));
    }
}
