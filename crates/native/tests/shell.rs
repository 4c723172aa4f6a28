//! Commands as `run_shell_command` runs them: real shells under a real supervisor, which is this program again.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program of tests that reads its arguments and says what it did"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(unix)]
fn main() -> ExitCode {
    if let Some(code) = lapidary_process::supervisor::run_if_asked(std::env::args_os()) {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == mcp_servers::SERVE)
    {
        mcp_servers::serve(arguments.get(1).map_or("", String::as_str));
        return ExitCode::SUCCESS;
    }
    let before = std::iter::once("").chain(arguments.iter().map(String::as_str));
    let is_filter = |(before, argument): &(&str, &String)| {
        *before != "--test-threads" && !argument.starts_with('-')
    };
    let filters: Vec<_> = before
        .zip(&arguments)
        .filter(is_filter)
        .map(|(_, filter)| filter)
        .collect();
    let is_wanted = |name: &str| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    };
    let wanted = tests::ALL.iter().chain(&mcp_servers::ALL);
    let count = wanted.clone().count();
    let wanted = wanted.filter(|(name, _)| is_wanted(name));
    let mut passed = 0;
    for (name, test) in wanted {
        if arguments.iter().any(|argument| argument == "--list") {
            println!("{name}: test");
            continue;
        }
        if *name == tests::NEEDS_PEERS && !cfg!(feature = "peers") {
            println!("test {name} ... ignored, needs the real Gemini CLI: run `cargo xtask test`");
            continue;
        }
        test();
        println!("test {name} ... ok");
        passed += 1;
    }
    println!(
        "test result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; {} filtered out",
        count - passed
    );
    ExitCode::SUCCESS
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
#[path = "shell/mcp_servers.rs"]
mod mcp_servers;

#[cfg(unix)]
#[path = "shell/oracle.rs"]
mod oracle;

#[cfg(unix)]
mod tests {
    use std::sync::Arc;

    use lapidary_native::tool::{Tool as _, ToolOutput};
    use lapidary_native::tools::{RunShellCommandTool, ShellSettings};
    use lapidary_native::workspace::Workspace;
    use lapidary_process::Supervisor;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::{Duration, PathBuf};

    pub(super) const ALL: [(&str, fn()); 9] = [
        (
            "the_result_of_a_command_has_its_exit_code_and_both_outputs",
            the_result_of_a_command_has_its_exit_code_and_both_outputs,
        ),
        (
            "a_signal_is_reported_by_its_number",
            a_signal_is_reported_by_its_number,
        ),
        (
            "a_command_that_is_silent_for_too_long_is_ended",
            a_command_that_is_silent_for_too_long_is_ended,
        ),
        (
            "a_cancelled_command_leaves_nothing_running",
            a_cancelled_command_leaves_nothing_running,
        ),
        (
            "what_a_command_leaves_behind_ends_with_it",
            what_a_command_leaves_behind_ends_with_it,
        ),
        (
            "a_flood_is_cut_and_kept_in_a_file",
            a_flood_is_cut_and_kept_in_a_file,
        ),
        (
            "a_command_may_remove_its_own_directory",
            a_command_may_remove_its_own_directory,
        ),
        (
            "a_command_outside_the_workspace_is_refused",
            a_command_outside_the_workspace_is_refused,
        ),
        (
            NEEDS_PEERS,
            super::oracle::commands_are_answered_as_by_gemini_cli,
        ),
    ];
    pub(super) const NEEDS_PEERS: &str = "commands_are_answered_as_by_gemini_cli";

    pub(super) struct Scene {
        _folder: tempfile::TempDir,
        pub(super) root: PathBuf,
        workspace: Arc<Workspace>,
        settings: ShellSettings,
    }

    impl Scene {
        pub(super) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            let root = top.join("project");
            std::fs::create_dir(&root).unwrap();
            let environment = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
            Self {
                workspace: Workspace::open(&root, &top.join("temporary")).unwrap(),
                settings: ShellSettings::new(
                    Supervisor::at(std::env::current_exe().unwrap()),
                    environment,
                ),
                root,
                _folder: folder,
            }
        }

        pub(super) fn run(&self, arguments: &Value) -> ToolOutput {
            self.run_until(arguments, &CancellationToken::new(), async {})
        }

        /// Runs a command while `beside` runs.
        fn run_until(
            &self,
            arguments: &Value,
            cancelled: &CancellationToken,
            beside: impl Future<Output = ()>,
        ) -> ToolOutput {
            let tool = RunShellCommandTool::new(Arc::clone(&self.workspace), self.settings.clone());
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            match tool.prepare(arguments.as_object().unwrap()) {
                Ok(call) => {
                    runtime.block_on(async { tokio::join!(call.run(cancelled.clone()), beside).0 })
                }
                Err(error) => ToolOutput::from_error(error),
            }
        }

        /// Waits until a command has written its process id to a file.
        async fn pid(&self, name: &str) -> i32 {
            let path = self.root.join(name);
            for _ in 0..1000 {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                if let Ok(pid) = text.trim().parse() {
                    return pid;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            panic!("no {name}");
        }
    }

    /// The text without the number of the process group.
    fn text(output: &ToolOutput) -> String {
        let lines = output
            .text
            .lines()
            .map(|line| match line.split_once("PGID: ") {
                Some((before, _)) => format!("{before}PGID: n"),
                None => line.to_owned(),
            });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn is_gone(pid: i32) -> bool {
        !lapidary_process::is_alive(pid)
    }

    fn the_result_of_a_command_has_its_exit_code_and_both_outputs() {
        let output = Scene::new().run(&json!({ "command": "echo out; echo err >&2; exit 3" }));
        assert_eq!(
            text(&output),
            "<untrusted_context>\nOutput: out\nerr\nExit Code: 3\nProcess Group PGID: n\n</untrusted_context>"
        );
        assert_eq!(output.error, None);
        let output = Scene::new().run(&json!({ "command": "true" }));
        assert_eq!(
            text(&output),
            "<untrusted_context>\nOutput: (empty)\nProcess Group PGID: n\n</untrusted_context>"
        );
    }

    fn a_signal_is_reported_by_its_number() {
        let output = Scene::new().run(&json!({ "command": "kill -9 $$" }));
        assert_eq!(
            text(&output),
            "<untrusted_context>\nOutput: (empty)\nSignal: 9\nProcess Group PGID: n\n</untrusted_context>"
        );
    }

    fn a_command_that_is_silent_for_too_long_is_ended() {
        let mut scene = Scene::new();
        scene.settings.silence = Duration::from_millis(300);
        let output = scene.run(&json!({ "command": "echo start; echo $$ > pid; sleep 1000" }));
        assert!(text(&output).contains("it exceeded the timeout of 0.0 minutes without output. Below is the output before it was cancelled:\nstart"), "{output:?}");
        let pid = std::fs::read_to_string(scene.root.join("pid")).unwrap();
        assert!(is_gone(pid.trim().parse().unwrap()));
    }

    fn a_cancelled_command_leaves_nothing_running() {
        let scene = Scene::new();
        let cancelled = CancellationToken::new();
        let command =
            "trap '' TERM; setsid sh -c 'echo $$ > deep; exec sleep 1000' & echo $$ > pid; wait";
        let output = scene.run_until(&json!({ "command": command }), &cancelled, async {
            scene.pid("pid").await;
            scene.pid("deep").await;
            cancelled.cancel();
        });
        assert!(
            text(&output).contains(
                "Command was cancelled by user before it could complete. There was no output"
            ),
            "{output:?}"
        );
        for name in ["pid", "deep"] {
            let pid = std::fs::read_to_string(scene.root.join(name)).unwrap();
            assert!(is_gone(pid.trim().parse().unwrap()), "{name}");
        }
    }

    fn what_a_command_leaves_behind_ends_with_it() {
        let scene = Scene::new();
        let command = "setsid sh -c 'echo $$ > deep; exec sleep 1000' & while [ ! -s deep ]; do :; done; echo done";
        let output = scene.run(&json!({ "command": command }));
        assert_eq!(
            text(&output),
            "<untrusted_context>\nOutput: done\nProcess Group PGID: n\n</untrusted_context>"
        );
        let pid = std::fs::read_to_string(scene.root.join("deep")).unwrap();
        assert!(is_gone(pid.trim().parse().unwrap()));
    }

    fn a_flood_is_cut_and_kept_in_a_file() {
        let scene = Scene::new();
        let output = scene.run(&json!({ "command": "head -c 3000000 /dev/zero | tr '\\0' x" }));
        let first = output.text.lines().next().unwrap();
        let path = first.strip_prefix("Output too large. Showing first 8,000 and last 32,000 characters. For full output see: ").unwrap();
        assert!(std::fs::metadata(path).unwrap().len() > 3_000_000);
        assert!(output.text.len() < 45_000);
    }

    fn a_command_may_remove_its_own_directory() {
        let scene = Scene::new();
        std::fs::create_dir(scene.root.join("own")).unwrap();
        let output =
            scene.run(&json!({ "command": "rm -rf \"$PWD\"; echo gone", "dir_path": "own" }));
        assert!(text(&output).contains("Output: gone"), "{output:?}");
        let output = scene.run(&json!({ "command": "echo again", "dir_path": "own" }));
        assert_eq!(
            output.error.map(|kind| kind.0),
            Some("shell_execute_error"),
            "{output:?}"
        );
        assert!(output.text.contains("Exit Code: 1"), "{output:?}");
    }

    fn a_command_outside_the_workspace_is_refused() {
        let scene = Scene::new();
        for arguments in [
            json!({ "command": "ls", "dir_path": "/" }),
            json!({ "command": " " }),
            json!({ "command": "ls", "is_background": true }),
        ] {
            let output = scene.run(&arguments);
            assert_eq!(
                output.error.map(|kind| kind.0),
                Some("invalid_tool_params"),
                "{output:?}"
            );
        }
    }
}
