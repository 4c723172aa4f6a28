//! The flags among the user's own arguments.

use std::ffi::OsString;

use super::problem::LaunchError;

/// Flags that Lapidary sets itself: a second one would break the run.
const RESERVED: &[(&str, &[&str], &str)] = &[
    (
        "-o",
        &["--output-format"],
        "the output format is chosen with `--transport`",
    ),
    ("-p", &["--prompt"], "the prompt is passed by us"),
    (
        "-i",
        &["--prompt-interactive"],
        "no person can type into this run",
    ),
    ("-r", &["--resume"], "sessions are resumed with `--resume`"),
    (
        "",
        &["--session-id", "--session-file"],
        "sessions are chosen by us",
    ),
    (
        "",
        &["--acp", "--experimental-acp"],
        "it is another protocol",
    ),
    ("", &["--"], "nothing behind it would be an option any more"),
];

/// The options that the user's own arguments set already.
#[derive(Debug, Default)]
pub(super) struct ExtraArguments {
    pub(super) model: bool,
    pub(super) permission: bool,
    pub(super) sandbox: bool,
}

impl ExtraArguments {
    pub(super) fn from_args(args: &[OsString]) -> Result<Self, LaunchError> {
        let mut extra = Self::default();
        for arg in args {
            let arg = arg.to_string_lossy();
            let (name, _) = arg.split_once('=').unwrap_or((&arg, ""));
            let name = &kebab_case(name);
            for (short, long, reason) in RESERVED {
                if is(name, short, long) {
                    return Err(LaunchError::Reserved {
                        argument: name.to_owned(),
                        reason,
                    });
                }
            }
            extra.model |= is(name, "-m", &["--model"]);
            extra.sandbox |= is(name, "-s", &["--sandbox", "--no-sandbox"]);
            extra.permission |= is(name, "-y", &["--yolo", "--no-yolo"]);
            extra.permission |= is(name, "", &["--approval-mode"]);
        }
        Ok(extra)
    }
}

/// Whether the user's own arguments see to trust.
pub(crate) fn skips_trust(args: &[OsString]) -> bool {
    args.iter().any(|arg| {
        let arg = arg.to_string_lossy();
        kebab_case(&arg).starts_with("--skip-trust")
    })
}

/// Whether the user's own arguments ask for the sandbox.
pub(crate) fn asks_for_sandbox(args: &[OsString]) -> bool {
    args.iter().any(|arg| {
        let arg = arg.to_string_lossy();
        let (name, value) = arg.split_once('=').unwrap_or((&arg, "true"));
        is(&kebab_case(name), "-s", &["--sandbox"]) && value != "false"
    })
}

/// The beginning of the commands that an entry of `allowed_tools` allows, such as `run_shell_command(git status)`.
pub(crate) fn allowed_command(tool: &str) -> Option<&str> {
    let inner = tool.strip_prefix("run_shell_command(")?;
    inner.strip_suffix(')').filter(|inner| !inner.is_empty())
}

/// Whether the user's own arguments choose the approval mode, or allow tools.
pub(crate) fn sets_permissions(args: &[OsString]) -> bool {
    args.iter().any(|arg| {
        let arg = arg.to_string_lossy();
        let (name, _) = arg.split_once('=').unwrap_or((&arg, ""));
        let long = [
            "--yolo",
            "--approval-mode",
            "--allowed-tools",
            "--policy",
            "--admin-policy",
        ];
        is(&kebab_case(name), "-y", &long)
    })
}

/// The CLI takes `--outputFormat` for `--output-format`.
fn kebab_case(name: &str) -> String {
    if !name.starts_with("--") {
        return name.to_owned();
    }
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            kebab.push('-');
        }
        kebab.push(letter.to_ascii_lowercase());
    }
    kebab
}

/// Short flags may have their value right behind them: `-mgemini-2.5-pro`.
fn is(name: &str, short: &str, long: &[&str]) -> bool {
    let is_long = name.starts_with("--");
    (!is_long && !short.is_empty() && name.starts_with(short)) || long.contains(&name)
}
