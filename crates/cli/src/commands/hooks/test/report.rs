//! The results of hooks, as programs read them.

use std::time::Duration;

use lapidary::engine::hooks::{AnswerFormat, AppliedEffect, HookError, HookResult, HookResults};
use lapidary::engine::process::Exit;
use lapidary::gemini::hooks::{HookEvent, HookRegistry, PassedOver, RunOrder};
use lapidary::vocab::Json;
use lapidary::vocab::hook_test::{
    HookEffect, HookEffectKind as Kind, HookFormat, HookMoment, HookNotRun, HookOrder, HookTrial,
};
use lapidary::wire::gemini::hooks::{HookInput, JsonObject};
use serde_json::Value;

use super::super::list::is_of_another;
use super::PlannedTest;

/// Skipped definitions of this event or of no known event, with their reasons.
pub(super) fn left_out(registry: &HookRegistry, event: HookEvent) -> Vec<String> {
    let all = registry.left_out.iter();
    let all = all.filter(|left| !is_of_another(left, event));
    all.map(|left| format!("{}: {}: {}", left.origin.display(), left.what, left.why))
        .collect()
}

pub(super) fn moment_report(planned: &PlannedTest, fired: &HookResults) -> HookMoment {
    let PlannedTest { input, plan, .. } = planned;
    let effects = fired.effects().into_iter().map(published_effect).collect();
    let aggregate = fired.aggregate.as_ref();
    let unheard = fired.runs.iter().filter_map(HookResult::unheard);
    let unheard = unheard.filter(|_| fired.event == HookEvent::BeforeTool);
    let unheard = unheard.map(|why| format!("with `--hooks` the call is held back: {why}"));
    HookMoment {
        context: input.context().map(str::to_owned),
        payload: published_json(&input.to_object()),
        order: match plan.order {
            RunOrder::Parallel => HookOrder::Parallel,
            RunOrder::Sequential => HookOrder::Sequential,
        },
        aggregate: aggregate.map(|output| published_json(&output.0)),
        effects,
        diagnostics: plan.diagnostics.iter().cloned().chain(unheard).collect(),
        hooks: fired
            .runs
            .iter()
            .map(|ran| hook_trial(ran, input))
            .collect(),
        not_run: planned.passed_over.iter().map(not_run).collect(),
    }
}

fn not_run(passed_over: &PassedOver) -> HookNotRun {
    let PassedOver { hook, why } = passed_over;
    HookNotRun {
        hook: hook.display_name().to_owned(),
        origin: hook.origin.display().to_string(),
        reason: why.clone(),
    }
}

fn hook_trial(ran: &HookResult, first: &HookInput) -> HookTrial {
    let hook = &ran.hook;
    let (exit_code, signal) = match ran.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let is_changed = ran.input.details != first.details;
    let left_out = ran.stdout.left_out + ran.stderr.left_out;
    HookTrial {
        hook: hook.display_name().to_owned(),
        command: hook.command.clone(),
        origin: hook.origin.display().to_string(),
        source: hook.source.as_str().to_owned(),
        matcher: hook.matcher.clone(),
        timeout_ms: whole_milliseconds(hook.deadline()),
        payload: is_changed.then(|| published_json(&ran.input.to_object())),
        exit_code,
        signal,
        duration_ms: whole_milliseconds(ran.duration),
        stdout: ran.stdout.text(),
        stderr: ran.stderr.text(),
        left_out_bytes: Some(left_out).filter(|bytes| *bytes > 0),
        format: ran.answer.format.map(|format| match format {
            AnswerFormat::Json => HookFormat::Json,
            AnswerFormat::Text => HookFormat::Text,
        }),
        output: ran
            .answer
            .output
            .as_ref()
            .map(|output| published_json(&output.0)),
        stricter: ran.answer.is_stricter,
        timed_out: matches!(ran.error, Some(HookError::TimedOut { .. })),
        error: ran.error.as_ref().map(ToString::to_string),
    }
}

fn published_effect(effect: AppliedEffect) -> HookEffect {
    let said = |effect, text| HookEffect {
        effect,
        text: Some(text),
        value: None,
    };
    let given = |effect, value: &Value| HookEffect {
        effect,
        text: None,
        value: Some(Json::from_value(value)),
    };
    match effect {
        AppliedEffect::Stop(reason) => said(Kind::Stop, reason),
        AppliedEffect::Block(reason) => said(Kind::Block, reason),
        AppliedEffect::Ask(message) => HookEffect {
            effect: Kind::Ask,
            text: message,
            value: None,
        },
        AppliedEffect::ReplaceToolInput(input) => given(Kind::ReplaceToolInput, &input.into()),
        AppliedEffect::AddContext(context) => said(Kind::AddContext, context),
        AppliedEffect::RunAnotherTool(call) => given(Kind::RunAnotherTool, &call.into()),
        AppliedEffect::GoOn(prompt) => said(Kind::GoOn, prompt),
        AppliedEffect::ForgetContext => HookEffect {
            effect: Kind::ForgetContext,
            text: None,
            value: None,
        },
        AppliedEffect::ReplaceRequest(request) => given(Kind::ReplaceRequest, &request),
        AppliedEffect::ReplaceResponse(response) => given(Kind::ReplaceResponse, &response),
        AppliedEffect::SelectTools(tools) => given(Kind::SelectTools, &tools),
        AppliedEffect::Tell(message) => said(Kind::Tell, message),
    }
}

fn published_json(object: &JsonObject) -> Json {
    Json::from_value(object)
}

fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
