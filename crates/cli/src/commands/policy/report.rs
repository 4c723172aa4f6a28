//! The decisions of the rules on past calls, as people and programs read them.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use lapidary::engine::policy::{PermissionEffect, Policy, PolicyEvaluation, StandingAnswer};
use lapidary::render::plain::one_line;
use lapidary::vocab::event::{DecidedBy, PermissionOutcome};
use lapidary::vocab::line;
use lapidary::vocab::policy_report::{
    JudgedCall, PolicyEffect, PolicyReport, RecordedAnswer, RuleUse, SCHEMA, StoppedBy,
};

use super::layers::stopping_layers;
use super::past::{PastCall, RecordedPermissions};
use crate::printer::Printer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PolicyFormat {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema policy` describes it
    Json,
}

impl PolicyFormat {
    /// The given format, else text on a terminal and JSON when piped.
    pub(super) fn or_usual(asked: Option<Self>, out: &Printer) -> Self {
        asked.unwrap_or(if out.is_terminal {
            Self::Text
        } else {
            Self::Json
        })
    }
}

/// How much of a command or of a list of files is shown.
const LONGEST: usize = 100;

/// The rules that count with the agent of a run.
pub(super) struct CountingRules {
    policy: Policy,
    /// The place of each among all rules.
    places: Vec<usize>,
}

impl CountingRules {
    /// The rules of the policy that apply to an agent with these names.
    pub(super) fn new(policy: &Policy, names: &[String]) -> Self {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let rules = policy.rules().iter().enumerate();
        let counting = rules.filter(|(_, rule)| rule.is_for_agent(&names));
        Self {
            policy: Policy::new(policy.rules().for_agent(&names), policy.mode()),
            places: counting.map(|(at, _)| at).collect(),
        }
    }

    /// The decision about a call, with the places of rules among all rules.
    fn judge_call(&self, policy: &Policy, call: &PastCall) -> PolicyEvaluation {
        let place = |at: usize| self.places[at];
        let judgement = policy.judge(&call.action);
        PolicyEvaluation {
            decided: judgement.decided.into_iter().map(place).collect(),
            matched: judgement.matched.into_iter().map(place).collect(),
            ..judgement
        }
    }
}

pub(super) struct PolicyOutput {
    format: PolicyFormat,
    /// The agent whose layers are shown.
    agent: Option<String>,
    whole: PolicyReport,
    /// For each rule the rules that decided calls in its place.
    others: Vec<Vec<usize>>,
}

impl PolicyOutput {
    pub(super) fn new(format: PolicyFormat, agent: Option<String>, policy: &Policy) -> Self {
        let rules = policy.rules().iter().map(|rule| RuleUse {
            rule: rule.name.clone(),
            effect: published_effect(rule.then),
            matched: 0,
            decided: 0,
            shadowed_by: Vec::new(),
        });
        Self {
            format,
            agent,
            whole: PolicyReport {
                schema: SCHEMA.into(),
                permission_mode: policy.mode().as_str().to_owned(),
                calls: Vec::new(),
                rules: rules.collect(),
            },
            others: vec![Vec::new(); policy.rules().len()],
        }
    }

    /// Judges a run. People see it at once.
    pub(super) fn take_run(
        &mut self,
        past: RecordedPermissions,
        rules: &CountingRules,
        out: &mut Printer,
    ) -> io::Result<()> {
        let first = self.whole.calls.len();
        for call in past.calls {
            let policy = rules.policy.clone().with_roots([call.dir.clone()]);
            let judgement = rules.judge_call(&policy, &call);
            self.count_judgement(&judgement);
            let agent = self.agent.as_deref();
            let stopped_by = agent.map(|agent| stopping_layers(agent, &policy, &call, &judgement));
            let mut judged = judged_call(&past.name, call, judgement);
            judged.stopped_by = stopped_by.unwrap_or_default();
            self.whole.calls.push(judged);
        }
        if self.format == PolicyFormat::Text {
            show_calls(&past.name, &self.whole.calls[first..], out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn count_judgement(&mut self, judgement: &PolicyEvaluation) {
        for at in &judgement.matched {
            self.whole.rules[*at].matched += 1;
            self.others[*at].extend(&judgement.decided);
        }
        for at in &judgement.decided {
            self.whole.rules[*at].decided += 1;
        }
    }

    pub(super) fn finish(mut self, out: &mut Printer) -> io::Result<()> {
        let names: Vec<_> = self
            .whole
            .rules
            .iter()
            .map(|rule| rule.rule.clone())
            .collect();
        for (rule, mut others) in self.whole.rules.iter_mut().zip(self.others) {
            if rule.matched > 0 && rule.decided == 0 {
                others.sort_unstable();
                others.dedup();
                rule.shadowed_by = others.iter().map(|at| names[*at].clone()).collect();
            }
        }
        match self.format {
            PolicyFormat::Json => line::write(out, &self.whole),
            PolicyFormat::Text => show_rules(&self.whole, out),
        }
    }
}

fn judged_call(recording: &str, call: PastCall, judgement: PolicyEvaluation) -> JudgedCall {
    let paths = call.action.paths.iter();
    let decision = judgement.decision;
    JudgedCall {
        recording: recording.to_owned(),
        call_id: call.id,
        tool_name: call.tool,
        title: call.title,
        paths: paths
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
        kind: call.action.kind,
        command: call.action.command,
        mcp_server: call.action.mcp_server,
        effect: published_effect(decision.effect),
        decided_by: decision.by,
        rule: decision.rule,
        reason: decision.reason,
        stopped_by: Vec::new(),
        happened: call.happened,
        answer: call.answer,
    }
}

fn published_effect(effect: PermissionEffect) -> PolicyEffect {
    PolicyEffect::from(effect.as_str())
}

fn show_calls(name: &str, calls: &[JudgedCall], out: &mut Printer) -> io::Result<()> {
    writeln!(out, "{}", one_line(name))?;
    if calls.is_empty() {
        writeln!(out, "  no tool was called")?;
    }
    let by = calls
        .iter()
        .map(|call| decider_text(call).chars().count())
        .max();
    let by = by.unwrap_or(0);
    let was = calls
        .iter()
        .map(|call| past_end_text(call).chars().count())
        .max();
    let was = was.unwrap_or(0).max(9);
    for call in calls {
        let style = effect_style(&call.effect, out.colour);
        let kind = one_line(call.kind.as_str());
        let effect = call.effect.as_str();
        writeln!(
            out,
            "  {style}{effect:5}{style:#}  {:by$}  was {:was$}  {kind:8}  {}{}",
            decider_text(call),
            past_end_text(call),
            call_subject(call),
            stopping_layers_text(call),
        )?;
    }
    Ok(())
}

/// The layers that would stop it.
fn stopping_layers_text(call: &JudgedCall) -> String {
    let layers = call.stopped_by.iter().map(|layer| match layer {
        StoppedBy::AgentPolicy => "its own policy",
        StoppedBy::Asked => "asking us",
        StoppedBy::Watched => "being watched (the run stops)",
        StoppedBy::Confinement => "the kernel, if confined",
        other => other.as_str(),
    });
    let layers: Vec<_> = layers.collect();
    match layers.as_slice() {
        [] => String::new(),
        layers => format!("  [stopped by {}]", layers.join(", then ")),
    }
}

/// The rule or the mode that decided, if one did.
fn decider_text(call: &JudgedCall) -> String {
    match (&call.rule, &call.decided_by) {
        (Some(rule), _) => one_line(rule),
        (None, DecidedBy::Mode) => "the mode".to_owned(),
        (None, _) => "no rule".to_owned(),
    }
}

/// The end of the call in the past run, and the answer of the user or program, if there was one.
fn past_end_text(call: &JudgedCall) -> String {
    let happened = one_line(call.happened.as_str());
    let answer = call.answer.as_ref();
    let Some(answer) = answer.filter(|answer| is_answered(answer)) else {
        return happened;
    };
    let is_earlier = answer.rule.is_some();
    let answered = match (&answer.decision, answer.for_run) {
        (PermissionOutcome::Allowed, _) if is_earlier => "always before",
        (PermissionOutcome::Allowed, true) => "always",
        (PermissionOutcome::Allowed, false) => "yes",
        (PermissionOutcome::Denied, _) => "no",
        (other, _) => other.as_str(),
    };
    format!("{happened} (answered {})", one_line(answered))
}

/// Whether a user or a program has answered, now or with an earlier `always`.
fn is_answered(answer: &RecordedAnswer) -> bool {
    let rule = answer.rule.as_ref().map(ToString::to_string);
    let is_earlier = rule.is_some_and(|rule| rule.starts_with(StandingAnswer::RULE));
    is_earlier || matches!(answer.decided_by, Some(DecidedBy::User | DecidedBy::Peer))
}

/// The subject of a call: its command, its files, its title or its tool.
fn call_subject(call: &JudgedCall) -> String {
    let about = match (&call.command, call.paths.as_slice()) {
        (Some(command), _) => command.clone(),
        (None, []) => match &call.title {
            Some(title) => title.to_string(),
            None => call.tool_name.to_string(),
        },
        (None, paths) => paths.join(" "),
    };
    let about = one_line(&about);
    match about.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &about[..end]),
        None => about,
    }
}

fn show_rules(report: &PolicyReport, out: &mut Printer) -> io::Result<()> {
    let width = report
        .rules
        .iter()
        .map(|rule| one_line(&rule.rule).chars().count());
    let width = width.max().unwrap_or(0);
    if !report.rules.is_empty() {
        writeln!(out, "\nrules")?;
    }
    for rule in &report.rules {
        let style = effect_style(&rule.effect, out.colour);
        let effect = rule.effect.as_str();
        let name = one_line(&rule.rule);
        writeln!(
            out,
            "  {style}{effect:5}{style:#}  {name:width$}  {}",
            rule_use_text(rule)
        )?;
    }
    let count = |effect: &PolicyEffect| {
        let calls = report.calls.iter();
        calls.filter(|call| call.effect == *effect).count()
    };
    let calls = report.calls.len();
    writeln!(
        out,
        "\n{calls} {}: {} allowed, {} denied, {} to be asked about",
        if calls == 1 { "call" } else { "calls" },
        count(&PolicyEffect::Allow),
        count(&PolicyEffect::Deny),
        count(&PolicyEffect::Ask),
    )
}

/// How often a rule matched and decided.
fn rule_use_text(rule: &RuleUse) -> String {
    match (rule.matched, rule.decided) {
        (0, _) => "never matched".to_owned(),
        (matched, 0) if rule.shadowed_by.is_empty() => format!("matched {matched}, decided none"),
        (matched, 0) => {
            let others = one_line(&rule.shadowed_by.join(", "));
            format!("matched {matched}, decided none: {others} decided instead")
        }
        (matched, decided) => format!("matched {matched}, decided {decided}"),
    }
}

fn effect_style(effect: &PolicyEffect, colour: bool) -> Style {
    if !colour {
        return Style::new();
    }
    match effect {
        PolicyEffect::Allow => AnsiColor::Green.on_default(),
        PolicyEffect::Deny => AnsiColor::Red.on_default(),
        _ => AnsiColor::Yellow.on_default(),
    }
}
