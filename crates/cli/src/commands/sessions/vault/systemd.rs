//! A timer of systemd that copies sessions.

use std::io::{self, Write};
use std::path::Path;

/// Writes the unit and its timer, with the commands that install them. Nothing is installed.
pub(super) fn write_units(program: &Path, agents: &str, out: &mut dyn Write) -> io::Result<()> {
    let program = quoted(&program.to_string_lossy());
    let agents = quoted(agents);
    write!(
        out,
        "\
# ~/.config/systemd/user/lapidary-vault.service
[Unit]
Description=Copy sessions of agents into the vault of Lapidary

[Service]
Type=oneshot
ExecStart={program} sessions vault add --agent {agents} --format text
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

/// A word of a command line as systemd reads it: in quotation marks, `%` and `$` doubled.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '%' | '$' => text.extend([c, c]),
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
        assert_eq!(quoted("/usr/bin/lapidary"), "/usr/bin/lapidary");
        assert_eq!(
            quoted("/my programs/50%\"$x"),
            "\"/my programs/50%%\\\"$$x\""
        );
    }
}
