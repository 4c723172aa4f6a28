//! Programs that run the command in their arguments, and how many of their options stand before it.

/// A program that runs another one.
#[derive(Debug)]
pub(super) struct WrapperProgram {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with a value, beside them or as the next word.
    valued: &'static str,
    /// Long options whose value may be the next word.
    long_valued: &'static [&'static str],
    /// How many words stand between the options and the command: the duration of `timeout`, the host of `ssh`.
    operands: usize,
    /// Arguments that are command lines.
    pub(super) takes_lines: bool,
}

const fn plain_wrapper(name: &'static str) -> WrapperProgram {
    WrapperProgram {
        name,
        flags: "",
        valued: "",
        long_valued: &[],
        operands: 0,
        takes_lines: false,
    }
}

/// A program that has other words before the command, such as `setarch x86_64`: each of them may be the command.
const fn behind_words(name: &'static str) -> WrapperProgram {
    WrapperProgram {
        operands: ANY_WORDS,
        ..plain_wrapper(name)
    }
}

/// Any number of words may stand before the command.
const ANY_WORDS: usize = usize::MAX;

const fn shell_wrapper(name: &'static str) -> WrapperProgram {
    WrapperProgram {
        flags: "abcefhiklmnprstuvxBCDEHPT",
        valued: "oO",
        long_valued: &["rcfile", "init-file", "emulate"],
        takes_lines: true,
        ..plain_wrapper(name)
    }
}

const WRAPPERS: &[WrapperProgram] = &[
    shell_wrapper("sh"),
    shell_wrapper("bash"),
    shell_wrapper("zsh"),
    shell_wrapper("dash"),
    shell_wrapper("ksh"),
    shell_wrapper("mksh"),
    shell_wrapper("ash"),
    shell_wrapper("fish"),
    shell_wrapper("csh"),
    shell_wrapper("tcsh"),
    shell_wrapper("rbash"),
    shell_wrapper("yash"),
    shell_wrapper("posh"),
    shell_wrapper("bash-static"),
    shell_wrapper("nu"),
    shell_wrapper("pwsh"),
    shell_wrapper("powershell"),
    WrapperProgram {
        flags: "AbEHiKklnPSsVv",
        valued: "CDghprtTuU",
        long_valued: &[
            "user",
            "group",
            "host",
            "prompt",
            "chdir",
            "chroot",
            "close-from",
            "role",
            "type",
            "command-timeout",
            "other-user",
        ],
        ..plain_wrapper("sudo")
    },
    WrapperProgram {
        flags: "Lns",
        valued: "aCu",
        ..plain_wrapper("doas")
    },
    WrapperProgram {
        flags: "i0v",
        valued: "uC",
        long_valued: &["unset", "chdir"],
        takes_lines: true, // `-S`
        ..plain_wrapper("env")
    },
    WrapperProgram {
        flags: "fpv",
        valued: "sk",
        long_valued: &["signal", "kill-after"],
        operands: 1,
        ..plain_wrapper("timeout")
    },
    WrapperProgram {
        valued: "n",
        long_valued: &["adjustment"],
        ..plain_wrapper("nice")
    },
    WrapperProgram {
        flags: "t",
        valued: "cnpPu",
        long_valued: &["class", "classdata"],
        ..plain_wrapper("ionice")
    },
    WrapperProgram {
        valued: "ioe",
        long_valued: &["input", "output", "error"],
        ..plain_wrapper("stdbuf")
    },
    WrapperProgram {
        flags: "0oprtx",
        valued: "adEILnPs",
        long_valued: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-chars",
            "max-lines",
            "max-procs",
            "process-slot-var",
        ],
        ..plain_wrapper("xargs")
    },
    WrapperProgram {
        flags: "apvqV",
        valued: "fo",
        long_valued: &["format", "output"],
        ..plain_wrapper("time")
    },
    WrapperProgram {
        flags: "cfw",
        ..plain_wrapper("setsid")
    },
    WrapperProgram {
        flags: "pvV",
        ..plain_wrapper("command")
    },
    WrapperProgram {
        flags: "cl",
        valued: "a",
        ..plain_wrapper("exec")
    },
    WrapperProgram {
        flags: "a",
        operands: 1,
        ..plain_wrapper("taskset")
    },
    WrapperProgram {
        flags: "abdefgimoprRv",
        valued: "DPT",
        operands: 1,
        ..plain_wrapper("chrt")
    },
    WrapperProgram {
        flags: "bdehptwxc",
        valued: "dnq",
        long_valued: &["interval"],
        takes_lines: true,
        ..plain_wrapper("watch")
    },
    WrapperProgram {
        flags: "enosux",
        valued: "EwW",
        operands: 1,
        takes_lines: true,
        ..plain_wrapper("flock")
    },
    WrapperProgram {
        takes_lines: true,
        operands: 1,
        ..plain_wrapper("ssh")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("su")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("runuser")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("script")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("eval")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("trap")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("parallel")
    },
    WrapperProgram {
        operands: 1,
        ..plain_wrapper("chroot")
    },
    WrapperProgram {
        valued: "aeEoOpPsSuUX",
        ..plain_wrapper("strace")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("tmux")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("hyperfine")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("entr")
    },
    WrapperProgram {
        takes_lines: true,
        ..plain_wrapper("expect")
    },
    behind_words("setarch"),
    behind_words("prlimit"),
    behind_words("numactl"),
    behind_words("bwrap"),
    behind_words("proot"),
    behind_words("start-stop-daemon"),
    behind_words("gdb"),
    behind_words("cgexec"),
    plain_wrapper("npx"),
    plain_wrapper("uvx"),
    behind_words("cmd"),
    plain_wrapper("linux32"),
    plain_wrapper("linux64"),
    plain_wrapper("ltrace"),
    plain_wrapper("valgrind"),
    plain_wrapper("fakeroot"),
    plain_wrapper("runcon"),
    plain_wrapper("catchsegv"),
    plain_wrapper("dbus-run-session"),
    plain_wrapper("dbus-launch"),
    plain_wrapper("xvfb-run"),
    plain_wrapper("rlwrap"),
    plain_wrapper("screen"),
    plain_wrapper("gosu"),
    plain_wrapper("su-exec"),
    plain_wrapper("tini"),
    plain_wrapper("dumb-init"),
    plain_wrapper("noglob"),
    plain_wrapper("nocorrect"),
    plain_wrapper("-"),
    plain_wrapper("unbuffer"),
    plain_wrapper("proxychains"),
    plain_wrapper("nohup"),
    plain_wrapper("builtin"),
    plain_wrapper("busybox"),
    plain_wrapper("toybox"),
    plain_wrapper("coproc"),
    plain_wrapper("unshare"),
    plain_wrapper("nsenter"),
    plain_wrapper("pkexec"),
    plain_wrapper("systemd-run"),
    plain_wrapper("setpriv"),
    plain_wrapper("firejail"),
    plain_wrapper("torsocks"),
    plain_wrapper("if"),
    plain_wrapper("then"),
    plain_wrapper("else"),
    plain_wrapper("elif"),
    plain_wrapper("while"),
    plain_wrapper("until"),
    plain_wrapper("do"),
    plain_wrapper("!"),
    plain_wrapper("{"),
    plain_wrapper("&"),
];

/// The row of a program, by its name or by the path to it.
pub(super) fn find_wrapper(program: &str) -> Option<&'static WrapperProgram> {
    let name = program.rsplit('/').next().unwrap_or(program);
    if name.starts_with("ld-") && name.contains(".so") {
        return Some(&LOADER);
    }
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// The loader of programs, `/lib64/ld-linux-x86-64.so.2`, under the name that it has on some systems.
const LOADER: WrapperProgram = plain_wrapper("ld.so");

/// Programs that run a command behind one of [`RUN_WORDS`]: `uv run rm x`, `git submodule foreach rm x`.
const RUNNERS: [&str; 16] = [
    "git", "npm", "pnpm", "yarn", "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle",
    "conda", "mise", "asdf", "direnv", "nix",
];

const RUN_WORDS: [&str; 6] = ["run", "exec", "foreach", "x", "dlx", "--"];

/// Where a command may begin among the words behind a program that runs commands behind a word of its own.
pub(super) fn starts_behind_words(program: &str, words: &[String]) -> Vec<usize> {
    let name = program.rsplit('/').next().unwrap_or(program);
    if !RUNNERS.contains(&name) {
        return Vec::new();
    }
    let is_run = |at: &usize| RUN_WORDS.contains(&words[*at].as_str());
    let runs = (0..words.len()).filter(is_run).take(MOST_STARTS);
    let starts = runs.flat_map(|run| {
        let starts = LOADER.command_starts(&words[run + 1..]);
        starts.into_iter().map(move |start| run + 1 + start)
    });
    starts.collect()
}

/// Words of which each may be the command.
const MOST_STARTS: usize = 8;

/// The words that may follow an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionTail {
    /// The next option, or the command.
    Next,
    /// Its value.
    Value,
    /// Either: the option is not in the table.
    Either,
}

impl WrapperProgram {
    /// True for a shell, which runs its stdin if it has no command and no file.
    pub(super) fn is_shell(&self) -> bool {
        self.valued == "oO"
    }

    /// Where the command may begin among the words behind the program: more than one place where an option is not known.
    pub(super) fn command_starts(&self, words: &[String]) -> Vec<usize> {
        if self.operands == ANY_WORDS {
            let is_word = |word: &String| !word.starts_with('-');
            return (0..words.len())
                .filter(|at| is_word(&words[*at]))
                .take(MOST_STARTS)
                .collect();
        }
        let mut starts = Vec::new();
        // Places to look at, and the operands that are still to come there.
        let mut seen = vec![[false; 2]; words.len()];
        let mut open = vec![(0, self.operands.min(1))];
        while let Some((at, operands)) = open.pop() {
            let Some(word) = words.get(at) else { continue };
            if std::mem::replace(&mut seen[at][operands], true) {
                continue;
            }
            if word == "--" {
                open.push((at + 1, operands));
            } else if word.len() > 1 && word.starts_with(['-', '+']) {
                let follows = self.option_tail(word);
                if follows != OptionTail::Value {
                    open.push((at + 1, operands));
                }
                if follows != OptionTail::Next {
                    open.push((at + 2, operands));
                }
            } else if is_assignment(word) {
                open.push((at + 1, operands));
            } else if operands > 0 {
                open.push((at + 1, operands - 1));
            } else {
                starts.push(at);
            }
        }
        starts
    }

    fn option_tail(&self, option: &str) -> OptionTail {
        if let Some(long) = option.strip_prefix("--") {
            return match long.split_once('=') {
                Some(_) => OptionTail::Next,
                None if self.long_valued.contains(&long) => OptionTail::Value,
                None if self.is_shell() => OptionTail::Next,
                None => OptionTail::Either,
            };
        }
        // `-n5` has its value beside it, `-eo pipefail` behind it.
        let letters = &option[1..];
        for (at, letter) in letters.char_indices() {
            let is_last = at + letter.len_utf8() == letters.len();
            if self.valued.contains(letter) {
                let is_shells = self.is_shell(); // `-oe pipefail` is read on, and takes the next word
                return if is_last || is_shells {
                    OptionTail::Value
                } else {
                    OptionTail::Next
                };
            }
            if !self.flags.contains(letter) {
                return OptionTail::Either;
            }
        }
        OptionTail::Next
    }
}

/// `A=1`
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = name.split('[').next().unwrap_or(name); // `a[0]=1`
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name
                .chars()
                .all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let starts = find_wrapper(&words[0]).unwrap().command_starts(&words[1..]);
        let mut found: Vec<_> = starts.iter().map(|at| words[at + 1].as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn the_command_begins_behind_options_and_their_values() {
        for line in [
            "sudo -u root rm x",
            "sudo --user root rm x",
            "sudo --user=root -n rm x",
            "sudo -nu root rm x",
            "env -u X rm x",
            "env -i A=1 B=2 rm x",
            "timeout -s KILL 5 rm x",
            "timeout -k5 5 rm x",
            "stdbuf -o L rm x",
            "stdbuf -oL -eL rm x",
            "bash -euo pipefail -c rm x",
            "bash -o pipefail -c rm x",
            "bash +O extglob -c rm x",
            "xargs -a list rm",
            "xargs -0 -n1 -P 4 rm",
            "nice -n 5 rm x",
            "nice -5 rm x",
            "sudo -- rm x",
            "/usr/bin/sudo rm x",
        ] {
            let wanted = |found: &&str| *found == "rm";
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let starts = find_wrapper(&words[0]).unwrap().command_starts(&words[1..]);
            let mut found = starts.iter().map(|at| words[at + 1].as_str());
            assert!(found.any(|it| wanted(&it)), "{line}");
        }
        check("sudo -u root rm x", &["rm"]);
        check("sudo -n git rm x", &["git"]);
        check("timeout -s KILL 5 rm x", &["rm"]);
        check("bash -euo pipefail -c rm x", &["rm"]);
    }

    #[test]
    fn behind_an_unknown_option_both_are_looked_at() {
        check("sudo --odd rm x", &["rm", "x"]);
        check("nohup -z rm x", &["rm", "x"]);
    }
}
