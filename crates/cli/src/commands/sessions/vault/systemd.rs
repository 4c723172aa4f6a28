//! A timer of systemd that copies sessions.

use std::io::{self, Write};

use lapidary::engine::detect::SearchEnvironment;

/// Variables that place the vault and the directories of agents. systemd starts a unit without those of a shell.
const PLACES: [&str; 7] = [
    "LAPIDARY_STATE_DIR",
    "XDG_STATE_HOME",
    "GEMINI_CLI_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "QWEN_HOME",
    "QWEN_RUNTIME_DIR",
];

/// Writes the unit and its timer, with the commands that install them. Nothing is installed.
pub(super) fn write_units(
    command: &[String],
    environment: &SearchEnvironment,
    out: &mut dyn Write,
) -> io::Result<()> {
    let command: Vec<_> = command.iter().map(|word| quoted(word, "%$")).collect();
    let command = command.join(" ");
    let variables = variable_lines(environment);
    write!(
        out,
        "\
# ~/.config/systemd/user/lapidary-vault.service
[Unit]
Description=Copy sessions of agents into the vault of Lapidary

[Service]
Type=oneshot
{variables}ExecStart={command}
Nice=10
IOSchedulingClass=idle
TimeoutStartSec=30min

# ~/.config/systemd/user/lapidary-vault.timer
[Unit]
Description=Copy sessions of agents every hour

[Timer]
OnCalendar=hourly
RandomizedDelaySec=5min
Persistent=true

[Install]
WantedBy=timers.target

# Save each part under the name above it, then:
#   systemctl --user daemon-reload
#   systemctl --user enable --now lapidary-vault.timer
"
    )
}

/// A line for each of these variables that is set.
fn variable_lines(environment: &SearchEnvironment) -> String {
    let mut lines = String::new();
    for name in PLACES {
        let value = environment.vars.get(std::ffi::OsStr::new(name));
        let value = value.map(|it| it.to_string_lossy());
        if let Some(value) = value.filter(|it| !it.is_empty()) {
            let assigned = quoted(&format!("{name}={value}"), "%");
            lines.extend(["Environment=", &assigned, "\n"]);
        }
    }
    lines
}

/// A word as systemd reads it: in quotation marks, and these letters doubled.
fn quoted(word: &str, doubled: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if doubled.contains(c) => text.extend([c, c]),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_odd_letters_is_one_word_for_systemd() {
        assert_eq!(quoted("/usr/bin/lapidary", "%$"), "/usr/bin/lapidary");
        let path = "/my programs/50%\"$x";
        assert_eq!(quoted(path, "%$"), "\"/my programs/50%%\\\"$$x\"");
        // In an assignment `$` stands for itself.
        assert_eq!(quoted(path, "%"), "\"/my programs/50%%\\\"$x\"");
    }
}
