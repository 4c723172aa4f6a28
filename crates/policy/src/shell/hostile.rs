//! Lines by which an agent might run a denied program unseen. Most of them were run in bash; the others are variants of those.

use std::path::Path;

use lapidary_vocab::event::ToolKind;

use crate::{PermissionEffect, PermissionMode, Policy, Rule, Rules, ToolAction};

/// The decision about a line that is allowed but for one rule.
fn line_effect(rule: &str, line: &str) -> PermissionEffect {
    let rule = Rule::parse_flag(PermissionEffect::Deny, rule, Path::new("/work")).unwrap();
    let policy = Policy::new(Rules::new([rule]), PermissionMode::BypassPermissions);
    let action = ToolAction {
        command: Some(line.to_owned()),
        ..ToolAction::new(ToolKind::Execute)
    };
    policy.decide(&action).effect
}

const LINES: &[&str] = &[
    // Words that a shell makes of others.
    "{touch,x}",
    "sudo {touch,x}",
    "timeout {5,touch} x",
    "timeout $(echo 5 touch) x",
    "{t..t}ouch x",
    "/usr/bin/tou?h x",
    "/usr/bin/[t]ouch x",
    "./touc* x",
    "touch${IFS}x",
    "=touch x",
    // Names that mean another program.
    "alias t=touch\nt x",
    "hash -p /usr/bin/touch t; t x",
    "enable -f ./x.so t; t x",
    "x=$'\\x74ouch x'; $x",
    // The output of another command.
    ". /dev/stdin <<< $'\\x74ouch x'",
    "printf 'to%s x' uch | . /dev/stdin",
    "source <(printf 'to%s x' uch)",
    "bash <(printf 'to%s x' uch)",
    "bash /dev/stdin <<< $'\\x74ouch x'",
    "bash -o pipefail <<< $'\\x74ouch x'",
    "bash --noprofile --norc -o posix <<< $'\\x74ouch x'",
    "sudo -s <<< $'\\x74ouch x'",
    "printf 'to%s x' uch | parallel",
    "printf 'to%s x' uch | at now",
    "printf 'to%s x' uch | xargs env",
    "printf 'to%s x' uch | xargs -n2 nice",
    "printf 'to%s x' uch | xargs -I{} sh -c {}",
    "printf 'to%s' uch | xargs -I % % x",
    "BASH_ENV=<(printf 'to%s x' uch) bash -c :",
    // Here-documents, whose quotes mean nothing.
    "cat <<E\n'\nE\nto\\\nuch x #'",
    "cat <<E\n\"\nE\n/usr/bin/tou?h x #\"",
    "cat <<E\n' $({touch,x}) '\nE",
    "cat <<-E\n\t'\n\tE\n{touch,x} #'",
    // Redirections that have no file, or a dash.
    "3>&- touch x",
    "<&- touch x",
    ">- touch x",
    // Programs that run others.
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch x",
    "setarch x86_64 touch x",
    "linux64 touch x",
    "prlimit --nofile=100 touch x",
    "env - touch x",
    "env -iS'touch x'",
    "env -vS 'touch x'",
    "a[0]=1 touch x",
    "noglob touch x",
    "npx touch x",
    "uv run --with y touch x",
    "poetry run touch x",
    "fd . -X touch x",
    // Options and variables whose value is run.
    "git -c alias.x='!touch x' x",
    "GIT_EDITOR='touch x' git config -e",
    "PROMPT_COMMAND='touch x' bash -i",
    "git rebase --exec 'touch x' HEAD~1",
    "git rebase -x 'touch x' HEAD~1",
    "git bisect run touch x",
    "git submodule foreach touch x",
    "tar cf y --checkpoint-action=exec='touch x' z",
    "split --filter='touch x' y",
    "ssh -oProxyCommand='touch x' host",
    "mapfile -C 'touch x #' -c 1 <<< a",
    // Builtins that evaluate.
    "let 'a[$({touch,x})]=1'",
    "test -v 'a[$({touch,x})]'",
    "(( 1 #2 )); to$'u'ch x",
];

#[test]
fn no_line_that_runs_a_denied_program_is_allowed() {
    let allowed = LINES.iter();
    let allowed =
        allowed.filter(|line| line_effect("execute:touch *", line) == PermissionEffect::Allow);
    let allowed: Vec<_> = allowed.collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
    let layers = format!("{}touch x", "env ".repeat(40));
    assert_ne!(
        line_effect("execute:touch *", &layers),
        PermissionEffect::Allow
    );
    assert_ne!(
        line_effect("execute:reboot", "bash -c 're\\boot'"),
        PermissionEffect::Allow
    );
}

#[test]
fn options_before_a_subcommand_do_not_hide_it() {
    for line in [
        "git -C /repo push origin",
        "git --no-pager push origin",
        "git -c a=b -C . push origin",
        "sudo git -P push origin",
    ] {
        assert_eq!(
            line_effect("execute:git push *", line),
            PermissionEffect::Deny,
            "{line}"
        );
    }
    assert_eq!(
        line_effect("execute:git push *", "git -C . pull"),
        PermissionEffect::Allow
    );
    assert_eq!(
        line_effect("delete", "git -C . clean -fd"),
        PermissionEffect::Deny
    );
}

#[test]
fn usual_lines_are_not_asked_about_for_a_rule_that_they_do_not_match() {
    for line in [
        "cargo test 2>&1 | tail -5",
        "git commit -m 'touch up the docs'",
        "git commit -m \"$(cat <<'EOF'\nIt's done: don't touch it.\nEOF\n)\"",
        "cat > a.txt <<'EOF'\nit's \"one\nEOF\nls",
        "for f in *.rs; do rustfmt \"$f\"; done",
        "ls *.{rs,toml}",
        "[ -f x ] && echo {}",
        "[[ $x == y* ]] && make",
        "source venv/bin/activate && pytest -q",
        "find . -name '*.o' -print0 | xargs -0 wc -l",
        "X=$(date) make",
        "npm install touch",
        "timeout 5 make",
        "export PATH=\"$HOME/bin:$PATH\"; make",
        "grep -rn 'a\\[$(x)' src",
        "while read -r line; do echo \"$line\"; done < list",
        "python3 - <<'EOF'\nprint('it is')\nEOF",
    ] {
        let effect = line_effect("execute:touch *", line);
        assert_eq!(effect, PermissionEffect::Allow, "{line}");
    }
}

#[test]
fn no_line_that_writes_a_denied_file_is_allowed() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join("src")).unwrap();
    for name in ["secret.txt", "src/secret.txt"] {
        std::fs::write(project.path().join(name), "").unwrap();
    }
    let rule = Rule::parse_flag(
        PermissionEffect::Deny,
        "edit,delete:secret.txt",
        project.path(),
    )
    .unwrap();
    let policy = Policy::new(Rules::new([rule]), PermissionMode::BypassPermissions);
    let effect = |line: &str| {
        let action = ToolAction {
            command: Some(line.to_owned()),
            ..ToolAction::new(ToolKind::Execute)
        };
        let action = action.with_files_of_command(project.path());
        policy.decide(&action).effect
    };
    for line in [
        "rm *.txt",
        "rm src/../s?cret.t[wx]t",
        "cd src && rm ../*.txt",
        "cp a.txt {secret,other}.txt",
        "cp a.txt secret.{txt,md}",
        "f=secret.txt; rm \"$f\"",
        "curl -osecret.txt localhost",
        "cp src/secret.txt .",
        "mv src/secret.txt ./",
        "cp -t. src/secret.txt",
        "python3 -c \"open('secret.txt', 'w')\"",
        "perl -e 'open F, \">secret.txt\"'",
        "awk '{print > \"secret.txt\"}' a",
        "sed -n 'w secret.txt' a",
        "cat <<E >secret.txt\nit's\nE",
        "env A=1 tee secret.txt",
    ] {
        assert_ne!(effect(line), PermissionEffect::Allow, "{line}");
    }
    for line in [
        "rm *.o",
        "cat *.txt",
        "find . -name '*.txt'",
        "cp src/secret.txt src/other.txt",
        "git commit -m 'keep secret.txt'",
        "rm src/*.txt",
        "python3 -c 'print(1.5)'",
    ] {
        assert_eq!(effect(line), PermissionEffect::Allow, "{line}");
    }
}
