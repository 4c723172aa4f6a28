//! The results of hooks, as people read them. All output of hooks is filtered.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use lapidary::render::plain::{one_line, sanitize};
use lapidary::vocab::hook_test::{
    HookEffect, HookEffectKind, HookMoment, HookNotRun, HookTest, HookTrial,
};

use crate::printer::Printer;

/// How many lines of an output are shown.
const MOST_LINES: usize = 20;

/// How much of a payload or an answer is shown.
const LONGEST: usize = 2000;

pub(super) fn print_test(test: &HookTest, out: &mut Printer) -> io::Result<()> {
    for left_out in &test.left_out {
        out.print_message(&format!("warning: skipped: {left_out}"));
    }
    if test.moments.is_empty() {
        let event = &test.event;
        return out.print_note(&format!("the recording has no moment for `{event}` hooks"));
    }
    for (number, moment) in test.moments.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        show_moment(test, moment, out)?;
    }
    if let Some(untrusted) = &test.untrusted {
        out.flush()?;
        out.print_message(&format!("warning: {}", one_line(untrusted)));
        out.print_message("hint: `--trust-workspace` runs them, for this test only");
    }
    Ok(())
}

fn show_moment(test: &HookTest, moment: &HookMoment, out: &mut Printer) -> io::Result<()> {
    let event = &test.event;
    let context = moment
        .context
        .as_deref()
        .map(|it| format!(" {}", one_line(it)));
    let hooks = match moment.hooks.len() {
        0 => "no hooks".to_owned(),
        1 => "1 hook".to_owned(),
        count => format!("{count} hooks, {}", moment.order.as_str()),
    };
    writeln!(out, "{event}{}: {hooks}", context.unwrap_or_default())?;
    for diagnostic in &moment.diagnostics {
        writeln!(out, "  note      {}", one_line(diagnostic))?;
    }
    writeln!(out, "  payload   {}", shorten_line(moment.payload.as_str()))?;
    for (number, trial) in moment.hooks.iter().enumerate() {
        show_trial(number + 1, trial, out)?;
    }
    for HookNotRun { hook, reason, .. } in &moment.not_run {
        let (hook, reason) = (one_line(hook), one_line(reason));
        writeln!(out, "  not run   {hook}: {}", cut_text(&reason))?;
    }
    let none = || "nothing".to_owned();
    let aggregate = moment.aggregate.as_ref();
    let aggregate = aggregate.map_or_else(none, |it| shorten_line(it.as_str()));
    writeln!(out, "  together  {aggregate}")?;
    if test.untrusted.is_some() {
        writeln!(
            out,
            "  effect    unknown: the folder is not trusted, so hooks did not run"
        )?;
    } else if moment.effects.is_empty() {
        writeln!(out, "  effect    none: it goes on")?;
    }
    for effect in &moment.effects {
        show_effect(effect, out)?;
    }
    Ok(())
}

fn show_trial(number: usize, trial: &HookTrial, out: &mut Printer) -> io::Result<()> {
    writeln!(out, "  {number}. {}", one_line(&trial.hook))?;
    if trial.hook != trial.command {
        writeln!(out, "     command  {}", one_line(&trial.command))?;
    }
    let matcher = trial.matcher.as_deref();
    let matcher = matcher.map(|matcher| format!(", matcher `{matcher}`"));
    let origin = format!("{}{}", trial.origin, matcher.unwrap_or_default());
    writeln!(out, "     from     {}", one_line(&origin))?;
    if let Some(payload) = &trial.payload {
        writeln!(out, "     input    {}", shorten_line(payload.as_str()))?;
    }
    writeln!(out, "     ended    {}", trial_end(trial))?;
    show_output("stdout", &trial.stdout, out)?;
    show_output("stderr", &trial.stderr, out)?;
    if let (Some(format), Some(output)) = (&trial.format, &trial.output) {
        let output = shorten_line(output.as_str());
        writeln!(out, "     {:8} {output}", format!("as {}", format.as_str()))?;
    } else if let (None, Some(output)) = (&trial.format, &trial.output) {
        writeln!(out, "     means    {}", shorten_line(output.as_str()))?;
    } else if trial.error.is_none() {
        writeln!(out, "     means    nothing: it decides nothing")?;
    }
    if trial.stricter {
        let note = "it exits with 2, which blocks; Gemini CLI (0.61) would let it pass";
        writeln!(out, "     note     {note}")?;
    }
    Ok(())
}

fn trial_end(trial: &HookTrial) -> String {
    let how = match (trial.exit_code, trial.signal) {
        _ if trial.timed_out => "timed out".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "not run".to_owned(),
    };
    let error = trial
        .error
        .as_ref()
        .map(|error| format!(": {}", one_line(error)));
    let error = error.unwrap_or_default();
    format!("{how} after {} ms{error}", trial.duration_ms)
}

fn show_output(name: &str, text: &str, out: &mut Printer) -> io::Result<()> {
    let text = sanitize(text);
    let lines: Vec<_> = text.lines().collect();
    for (number, line) in lines.iter().take(MOST_LINES).enumerate() {
        let name = if number == 0 { name } else { "" };
        writeln!(out, "     {name:8} {}", cut_text(line))?;
    }
    match lines.len().checked_sub(MOST_LINES) {
        Some(more @ 1..) => writeln!(out, "              … {more} more lines"),
        _ => Ok(()),
    }
}

fn show_effect(effect: &HookEffect, out: &mut Printer) -> io::Result<()> {
    let style = effect_style(&effect.effect, out.colour);
    let word = match effect.effect {
        // Claude Code gives it to the model.
        HookEffectKind::Tell => "shown to you, not to the model".to_owned(),
        _ => effect.effect.as_str().replace('_', " "),
    };
    let text = effect.text.as_deref().map(one_line);
    let value = effect
        .value
        .as_ref()
        .map(|value| shorten_line(value.as_str()));
    let what = text.or(value).map(|what| format!(": {}", cut_text(&what)));
    writeln!(
        out,
        "  effect    {style}{word}{style:#}{}",
        what.unwrap_or_default()
    )
}

fn effect_style(effect: &HookEffectKind, colour: bool) -> Style {
    if !colour {
        return Style::new();
    }
    match effect {
        HookEffectKind::Stop | HookEffectKind::Block => AnsiColor::Red.on_default(),
        HookEffectKind::Ask | HookEffectKind::GoOn => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Green.on_default(),
    }
}

fn shorten_line(text: &str) -> String {
    cut_text(&one_line(text))
}

fn cut_text(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
