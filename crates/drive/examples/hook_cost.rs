//! What a hook costs beside the same command started directly: `cargo run --release --example hook_cost -- COUNT ROUNDS BALLAST_MB`.
//!
//! Both take turns in one process, and the least of all rounds counts. It prints the CPU time of one hook in microseconds, of parent
//! and child, user and system: started directly, started directly again, and run as a hook.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::io::{Write as _, stdout};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use lapidary_drive::hooks::{Surroundings, fire};
    use lapidary_home::hooks::{Event, Hook, Plan, Source};
    use lapidary_wire::gemini::hooks::{Details, Input, ToolCall};
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

    const COMMAND: &str = "read -r line; echo '{\"decision\":\"allow\"}'";

    pub(super) fn main() -> Result<()> {
        let mut numbers = std::env::args()
            .skip(1)
            .map(|number| number.parse::<usize>());
        let mut number = |or| numbers.next().unwrap_or(Ok(or));
        let (count, rounds, ballast) = (number(200)?, number(5)?, number(0)?);
        let ballast = vec![1_u8; ballast << 20];
        let around = around()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut least = [Duration::MAX; 3];
        for _ in 0..rounds {
            let costs = [
                cost(|| directly(count, &around))?,
                cost(|| runtime.block_on(as_hooks(count, &around)))?,
                cost(|| directly(count, &around))?,
            ];
            for (least, cost) in least.iter_mut().zip(costs) {
                *least = cost.min(*least);
            }
        }
        let [direct, hook, again] =
            least.map(|all| all.as_micros() / u128::try_from(count).unwrap_or(1));
        writeln!(stdout(), "{direct} {again} {hook}")?;
        drop(ballast);
        Ok(())
    }

    fn around() -> Result<Surroundings> {
        Ok(Surroundings {
            cwd: std::env::current_dir()?,
            session_id: "session".to_owned(),
            plans_dir: PathBuf::from("/plans"),
            variables: std::env::vars_os().collect(),
            is_trusted: true,
            ..Surroundings::default()
        })
    }

    fn input(around: &Surroundings) -> Input {
        around.input(Details::BeforeTool(ToolCall {
            name: "read_file".to_owned(),
            input: json!({"file_path": "a.txt"}),
            ..ToolCall::default()
        }))
    }

    async fn as_hooks(count: usize, around: &Surroundings) -> Result<()> {
        let hook = Hook {
            event: Event::BeforeTool,
            name: None,
            description: None,
            command: COMMAND.to_owned(),
            timeout: None,
            env: BTreeMap::new(),
            matcher: None,
            sequential: false,
            source: Source::Project,
            scope: None,
            origin: PathBuf::new(),
            place: Vec::new(),
        };
        let plan = Plan {
            hooks: vec![hook],
            ..Plan::default()
        };
        for _ in 0..count {
            let fired = fire(&plan, input(around), around, &CancellationToken::new()).await;
            if !fired.runs[0].is_success() {
                return Err("the hook failed".into());
            }
        }
        Ok(())
    }

    fn directly(count: usize, around: &Surroundings) -> Result<()> {
        for _ in 0..count {
            let mut child = Command::new("bash")
                .args(["-c", COMMAND])
                .current_dir(&around.cwd)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(input(around).to_json().as_bytes())?;
            }
            if !child.wait_with_output()?.status.success() {
                return Err("the command failed".into());
            }
        }
        Ok(())
    }

    /// The CPU time of this process and of those that it has waited for.
    fn cost(run: impl FnOnce() -> Result<()>) -> Result<Duration> {
        let spent = || -> Result<i64> {
            let all = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN];
            let mut spent = 0;
            for who in all {
                let usage = getrusage(who)?;
                spent += (usage.user_time() + usage.system_time()).num_microseconds();
            }
            Ok(spent)
        };
        let before = spent()?;
        run()?;
        Ok(Duration::from_micros(u64::try_from(spent()? - before)?))
    }
}
