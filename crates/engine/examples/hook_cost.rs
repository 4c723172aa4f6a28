//! The cost of a hook beside the same command started directly: `cargo run --release --example hook_cost -- COUNT ROUNDS
//! BALLAST_MB`.
//!
//! Both take turns in one process: the command directly, as a hook, and directly again. It prints six numbers. First the CPU
//! time of one of each in microseconds, of parent and child, user and system, in the median round: directly, directly again, as
//! a hook. Then, in the median round too, how many times the one is the other: a hook of the two around it, and the second of
//! the first. Other load on the machine disturbs neighbours alike. Last, how late twenty hooks that do not want to end have
//! their result, in milliseconds.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "a program reads its arguments, and starts commands to compare with"
)]
mod unix {
    use std::collections::BTreeMap;
    use std::io::{Write as _, stdout};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use lapidary_engine::hooks::{HookContext, fire};
    use lapidary_gemini::hooks::{Hook, HookEvent, HookPlan, HookSource};
    use lapidary_wire::gemini::hooks::{EventDetails, HookInput, HookToolCall};
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    /// Runs of the stubborn hooks; the least late counts.
    const LATE_RUNS: u32 = 5;

    type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

    /// A command that ends neither when its time is up nor on SIGTERM.
    const STUBBORN: &str = "trap '' TERM; (setsid sleep 60 &); sleep 60";

    const COMMAND: &str = "read -r line; echo '{\"decision\":\"allow\"}'";

    pub(super) fn main() -> Result<()> {
        let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>());
        let mut number = |or| numbers.next().unwrap_or(Ok(or));
        let (count, rounds, ballast) = (number(200)?, number(5)?, number(0)?);
        let ballast = vec![1_u8; usize::try_from(ballast)? << 20];
        let around = around()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut all: [Vec<f64>; 5] = Default::default();
        for _ in 0..rounds {
            let direct = cost(|| directly(count, &around))?;
            let hook = cost(|| runtime.block_on(as_hooks(count, &around)))?;
            let again = cost(|| directly(count, &around))?;
            let each = |of: f64| of / f64::from(count);
            let numbers = [
                each(direct),
                each(again),
                each(hook),
                hook / f64::midpoint(direct, again),
                again / direct,
            ];
            for (all, number) in all.iter_mut().zip(numbers) {
                all.push(number);
            }
        }
        let [direct, again, hook, times, control] = all.map(median);
        let late = (0..LATE_RUNS).map(|_| runtime.block_on(lateness(&around)));
        let late = late.fold(f64::INFINITY, f64::min);
        writeln!(
            stdout(),
            "{direct:.0} {again:.0} {hook:.0} {times:.3} {control:.3} {late:.0}"
        )?;
        drop(ballast);
        Ok(())
    }

    fn around() -> Result<HookContext> {
        Ok(HookContext {
            cwd: std::env::current_dir()?,
            session_id: "session".to_owned(),
            plans_dir: PathBuf::from("/plans"),
            variables: std::env::vars_os().collect(),
            is_trusted: true,
            ..HookContext::default()
        })
    }

    fn input(around: &HookContext) -> HookInput {
        around.input(EventDetails::BeforeTool(HookToolCall {
            name: "read_file".to_owned(),
            input: json!({"file_path": "a.txt"}),
            ..HookToolCall::default()
        }))
    }

    fn plan(command: &str, timeout: Option<Duration>, count: usize) -> HookPlan {
        let hook = Hook {
            event: HookEvent::BeforeTool,
            name: None,
            description: None,
            command: command.to_owned(),
            timeout,
            env: BTreeMap::new(),
            fail_open: false,
            matcher: None,
            sequential: false,
            source: HookSource::Project,
            scope: None,
            origin: PathBuf::new(),
            place: Vec::new(),
        };
        HookPlan {
            hooks: vec![hook; count],
            ..HookPlan::default()
        }
    }

    /// How long after their time twenty stubborn hooks are over, in milliseconds.
    async fn lateness(around: &HookContext) -> f64 {
        let time = Duration::from_millis(400);
        let plan = plan(STUBBORN, Some(time), 20);
        let began = Instant::now();
        fire(&plan, input(around), around, &CancellationToken::new()).await;
        began.elapsed().saturating_sub(time).as_secs_f64() * 1000.0
    }

    async fn as_hooks(count: u32, around: &HookContext) -> Result<()> {
        let plan = plan(COMMAND, None, 1);
        for _ in 0..count {
            let fired = fire(&plan, input(around), around, &CancellationToken::new()).await;
            if !fired.runs[0].is_success() {
                return Err("the hook failed".into());
            }
        }
        Ok(())
    }

    fn directly(count: u32, around: &HookContext) -> Result<()> {
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

    fn median(mut all: Vec<f64>) -> f64 {
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The CPU time of this process and of the children that it has waited for, in microseconds.
    fn cost(run: impl FnOnce() -> Result<()>) -> Result<f64> {
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
        Ok(f64::from(i32::try_from(spent()? - before)?))
    }
}
