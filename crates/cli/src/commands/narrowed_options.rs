//! Options of `run` for a command that has no use for some of them: those are hidden from its help, and refused.

use anyhow::anyhow;
use clap::Command;

use crate::failure::Failure;

/// Hides options from the help, by their ids.
pub(super) fn hide_options(command: Command, ids: &[&'static str]) -> Command {
    let ids = ids.iter().copied();
    ids.fold(command, |command, id| {
        command.mut_arg(id, |option| option.hide(true))
    })
}

/// Refuses the first option that was given and would change nothing: dropping it in silence would mislead.
pub(super) fn refuse_given(
    subject: &str,
    given: &[(&str, bool)],
    hint: &'static str,
) -> Result<(), Failure> {
    let Some((flag, _)) = given.iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let failure = Failure::usage(anyhow!("{subject} has no use for {flag}"));
    Err(failure.with_hint(hint))
}
