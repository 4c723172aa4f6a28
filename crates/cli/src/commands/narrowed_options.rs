//! Options of `run` for a command that has no use for some of them: those are hidden from its help, and refused.

use std::fmt::Debug;

use anyhow::anyhow;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::failure::Failure;

/// A command that has no use for some options.
pub(super) trait OptionNarrowing: Debug {
    /// All options.
    type All: Args + Debug;
    /// The options that the help does not list, by their ids.
    const HIDDEN: &'static [&'static str];
}

/// The options of a command that has no use for some of them.
#[derive(Debug)]
pub(super) struct NarrowedOptions<N: OptionNarrowing>(pub(super) N::All);

impl<N: OptionNarrowing> Args for NarrowedOptions<N> {
    fn augment_args(command: Command) -> Command {
        hide_options(N::All::augment_args(command), N::HIDDEN)
    }

    fn augment_args_for_update(command: Command) -> Command {
        hide_options(N::All::augment_args_for_update(command), N::HIDDEN)
    }
}

impl<N: OptionNarrowing> FromArgMatches for NarrowedOptions<N> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        N::All::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

fn hide_options(command: Command, ids: &[&'static str]) -> Command {
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
