//! The command of a terminal.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use lapidary_vocab::event::ToolKind;

use super::params::{RequestParams, bad_params, without_nul};
use super::roots::place_in;
use super::{CREATE, ServicesInner};
use crate::acp::RpcError;
use crate::policy::{ToolAction, command_line, quoted};

/// Runs a command line that is no program.
const SHELL: &str = "/bin/sh";

/// A command for a terminal.
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no terminals"))]
pub(super) struct TerminalLaunch {
    pub(super) session: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// How many bytes of its output are kept.
    pub(super) output_bytes: usize,
    /// The command as a person would type it.
    shown: String,
}

impl TerminalLaunch {
    pub(super) fn parse(
        inner: &ServicesInner,
        params: &RequestParams<'_>,
    ) -> Result<Self, RpcError> {
        let command = without_nul("command", params.required_text("command")?)?;
        if command.trim().is_empty() {
            return Err(bad_params("`command` is empty"));
        }
        let args = params.text_list("args")?;
        let directory = directory_of(inner, params)?;
        let variables = params.variable_list("env")?;
        let environment = environment_of(inner, &directory, &variables);
        let wanted = params.optional_count("outputByteLimit")?;
        let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        let is_line = args.is_empty()
            && command.contains(char::is_whitespace)
            && !is_program(&command, &directory, &environment);
        let typed = if is_line {
            command.clone()
        } else {
            command_line(&command, args.iter().map(String::as_str))
        };
        let (program, args) = if is_line {
            (SHELL.to_owned(), vec!["-c".to_owned(), command])
        } else {
            (command, args)
        };
        Ok(Self {
            session: params.session_id()?,
            program,
            args,
            directory,
            environment,
            output_bytes: wanted
                .unwrap_or(inner.limits.output_bytes)
                .min(inner.limits.max_output_bytes),
            shown: typed_assignments(&variables) + &typed,
        })
    }

    pub(super) fn tool_action(&self) -> ToolAction {
        let action = ToolAction {
            tool: Some(CREATE.to_owned()),
            command: Some(self.shown.clone()),
            paths: vec![self.directory.clone()],
            ..ToolAction::new(ToolKind::Execute)
        };
        action.with_files_of_command(&self.directory)
    }
}

/// The directory of the terminal: the directory of its session, unless the agent names another.
fn directory_of(inner: &ServicesInner, params: &RequestParams<'_>) -> Result<PathBuf, RpcError> {
    let path = match params.get("cwd") {
        Some(_) => place_in(&inner.roots, params, "cwd")?.path,
        None => inner.session_home(&params.session_id()?)?,
    };
    if !path.is_dir() {
        let path = path.display();
        return Err(bad_params(format!("`{path}` is not a directory")));
    }
    Ok(path)
}

/// Our variables, then `TERM` and `PWD`, then the agent's variables: the last of a name counts.
fn environment_of(
    inner: &ServicesInner,
    directory: &Path,
    variables: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let mut all = inner.environment.clone();
    // No terminal emulator shows the output.
    all.push(("TERM".into(), "dumb".into()));
    all.push(("PWD".into(), directory.into()));
    let added = variables.iter();
    all.extend(added.map(|(name, value)| (name.into(), value.into())));
    all
}

/// Whether there is a program of this name, which has a space in it.
fn is_program(command: &str, directory: &Path, environment: &[(OsString, OsString)]) -> bool {
    if command.contains('/') {
        return directory.join(command).is_file();
    }
    let path = environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, path)| path);
    std::env::split_paths(path).any(|place| directory.join(place).join(command).is_file())
}

/// The variables that are set for a command, as they are typed before it: the permission prompt shows them, so that a user who
/// allows the command sees, for example, a preloaded library.
fn typed_assignments(variables: &[(String, String)]) -> String {
    let typed = |(name, value): &(String, String)| format!("{}={} ", quoted(name), quoted(value));
    variables.iter().map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_spelled_as_they_are_typed() {
        let variables = [("LD_PRELOAD".to_owned(), "/x/y z.so".to_owned())];
        assert_eq!(typed_assignments(&variables), "LD_PRELOAD='/x/y z.so' ");
    }
}
