//! `--prove`: the installed agent, run for real against a model that is played.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use lapidary::drive::detect::{self, Environment};
use lapidary::drive::process::{self, Supervisor};
use lapidary::drive::run::Run;
use lapidary::vocab::doctor::{Check, CheckName, CheckState};
use lapidary::vocab::event::RunEnd;
use lapidary::vocab::{Body, Cause, Event};
use lapidary_standin::api::{Chunk, FakeApi, Script, Turn};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::report::Report;
use super::world::World;
use crate::failure::Failure;

/// The longest that a run may take, all its own deadlines missed.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long the model pauses between the pieces of its answer.
const PAUSE: Duration = Duration::from_millis(400);

/// How long a cancelled agent may take to be gone: its grace, and a little.
const GONE_BY: Duration = Duration::from_secs(8);

/// Makes every proof, one after the other.
pub(super) async fn prove(
    environment: &Environment,
    supervisor: &Supervisor,
    scratch: &Path,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let Ok(found) = detect::gemini(environment) else {
        let message = "there is no agent to prove anything with";
        report.tell(Check::new(
            CheckName::ProveStart,
            CheckState::Skipped,
            message,
        ));
        return Ok(());
    };
    let root = scratch.join("world");
    let world = World::make(&root, &found.path, supervisor, environment);
    let world = world
        .context("cannot make a throw-away home")
        .map_err(Failure::internal)?;
    // The mark of these runs must be nobody else's.
    let proofs = Proofs {
        world,
        id: format!("doctor-{}", std::process::id()),
    };
    if !proofs.streaming(report).await? {
        return Ok(());
    }
    proofs.tool(report).await?;
    proofs.cancel(report).await?;
    proofs.leftovers(report).await
}

struct Proofs<'a> {
    world: World<'a>,
    id: String,
}

/// When a run is to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cancel {
    Never,
    /// As soon as the model has been asked.
    OnceAsked,
}

/// A run, seen from outside.
struct Seen {
    run: String,
    /// What was told, and when.
    events: Vec<(Duration, Event)>,
    cancelled: Option<Duration>,
    took: Duration,
}

impl Proofs<'_> {
    /// Whether a run begins at all: if not, there is nothing more to see.
    async fn streaming(&self, report: &mut Report<'_>) -> Result<bool, Failure> {
        let turn = Turn::chunks([
            Chunk::text("One"),
            Chunk::text(", two").delay(PAUSE),
            Chunk::text(", three.").delay(PAUSE),
        ]);
        let seen = self
            .play("streaming", Script::new().stream(turn), Cancel::Never)
            .await?;
        let began = seen.first(|body| matches!(body, Body::SessionInit(_)));
        let Some(began) = began else {
            report.tell(seen.failure(CheckName::ProveStart, "no run began"));
            return Ok(false);
        };
        report.tell(proven(CheckName::ProveStart, "a run begins", began));
        report.tell(streamed(&seen));
        Ok(true)
    }

    async fn tool(&self, report: &mut Report<'_>) -> Result<(), Failure> {
        let command = json!({ "command": "printf '%s-%s' lapidary 42" });
        let script = Script::new()
            .stream(Turn::call("run_shell_command", command))
            .stream("Done.");
        let seen = self.play("tool", script, Cancel::Never).await?;
        let answered = seen.first(|body| match body {
            Body::ToolCompletion(tool) => {
                let output = tool.output.as_ref();
                output.is_some_and(|output| output.as_str().contains("lapidary-42"))
            }
            _ => false,
        });
        report.tell(match answered {
            Some(_) if seen.cause() == Some(&Cause::EndTurn) => proven(
                CheckName::ProveTool,
                "a tool is called, and its output seen",
                seen.took,
            ),
            _ => seen.failure(CheckName::ProveTool, "the output of a tool was not seen"),
        });
        Ok(())
    }

    async fn cancel(&self, report: &mut Report<'_>) -> Result<(), Failure> {
        let script = Script::new().stream(Turn::text("Wait").hang());
        let seen = self.play("cancel", script, Cancel::OnceAsked).await?;
        let name = CheckName::ProveCancel;
        let took = seen.cancelled.map(|at| seen.took.saturating_sub(at));
        report.tell(match (took, seen.cause()) {
            (Some(took), Some(Cause::CancelledByClient))
                if took <= GONE_BY && self.left(&seen.run).is_empty() =>
            {
                proven(
                    name,
                    "a run that hangs is cancelled, and the agent gone",
                    took,
                )
            }
            (None, _) => seen.failure(name, "the model was never asked"),
            _ => seen.failure(name, "a run that hangs could not be cancelled in time"),
        });
        Ok(())
    }

    async fn leftovers(&self, report: &mut Report<'_>) -> Result<(), Failure> {
        let command = json!({ "command": "sleep 600 >/dev/null 2>&1 & echo $! > pid" });
        let script = Script::new()
            .stream(Turn::call("run_shell_command", command))
            .stream("Done.");
        let seen = self.play("leftovers", script, Cancel::Never).await?;
        let pid = fs::read_to_string(self.world.project().join("pid")).unwrap_or_default();
        let name = CheckName::ProveLeftovers;
        let Ok(pid) = pid.trim().parse() else {
            report.tell(seen.failure(name, "no process could be left behind to look for"));
            return Ok(());
        };
        let mut left: Vec<_> = ["streaming", "tool", "cancel", "leftovers"]
            .iter()
            .flat_map(|run| self.left(&self.run_id(run)))
            .collect();
        left.extend(process::is_alive(pid).then_some(pid));
        report.tell(if left.is_empty() {
            proven(
                name,
                "what a tool leaves running ends with the run",
                seen.took,
            )
        } else {
            let pids: Vec<_> = left.iter().map(i32::to_string).collect();
            seen.failure(
                name,
                &format!("still alive after the run: {}", pids.join(", ")),
            )
        });
        Ok(())
    }

    fn run_id(&self, name: &str) -> String {
        format!("{}-{name}", self.id)
    }

    fn left(&self, run: &str) -> Vec<i32> {
        process::marked("LAPIDARY_RUN", run)
    }

    async fn play(&self, name: &str, script: Script, cancel: Cancel) -> Result<Seen, Failure> {
        let api = FakeApi::start(script).await;
        let api = api
            .context("cannot play a model")
            .map_err(Failure::internal)?;
        let run = self.run_id(name);
        let job = self.world.job(&run, &api.base_url());
        let job = job
            .context("cannot prepare a run")
            .map_err(Failure::internal)?;
        let started = Instant::now();
        let mut seen = Seen {
            run,
            events: Vec::new(),
            cancelled: None,
            took: Duration::ZERO,
        };
        // A run that ignores all its own deadlines is ended by being dropped.
        let _ = timeout(PATIENCE, seen.watch(job.start(), &api, cancel, started)).await;
        seen.took = started.elapsed();
        api.stop().await;
        Ok(seen)
    }
}

impl Seen {
    /// Follows a run to its end. Both what is waited for can be cancelled.
    async fn watch(&mut self, mut run: Run, api: &FakeApi, cancel: Cancel, started: Instant) {
        loop {
            let is_due = cancel == Cancel::OnceAsked && self.cancelled.is_none();
            tokio::select! {
                event = run.next() => match event {
                    Some(event) => self.events.push((started.elapsed(), event)),
                    None => return,
                },
                () = api.requested(1), if is_due => {
                    self.cancelled = Some(started.elapsed());
                    run.stopper().cancel();
                }
            }
        }
    }

    fn first(&self, is_it: impl Fn(&Body) -> bool) -> Option<Duration> {
        let found = self.events.iter().find(|(_, event)| is_it(&event.body));
        found.map(|(at, _)| *at)
    }

    fn end(&self) -> Option<&RunEnd> {
        match &self.events.last()?.1.body {
            Body::RunEnd(end) => Some(end),
            _ => None,
        }
    }

    fn cause(&self) -> Option<&Cause> {
        self.end().map(|end| &end.cause)
    }

    /// What did not work, and how the run ended.
    fn failure(&self, name: CheckName, what: &str) -> Check {
        let check = Check::new(name, CheckState::Problem, what).took(self.took);
        let Some(end) = self.end() else {
            return check.details(["the run did not end in time".to_owned()]);
        };
        let message = end
            .message
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let check = check.details([format!("the run ended with {}: {message}", end.cause)]);
        match &end.hint {
            Some(hint) => check.remedy(hint),
            None => check,
        }
    }
}

/// Text that came in pieces while the model still spoke.
fn streamed(seen: &Seen) -> Check {
    let deltas: Vec<_> = seen
        .events
        .iter()
        .filter_map(|(at, event)| match &event.body {
            Body::StreamDelta(delta) => Some((*at, delta.text_delta.as_ref()?.to_string())),
            _ => None,
        })
        .collect();
    let text: String = deltas.iter().map(|(_, text)| text.as_str()).collect();
    let (first, last) = match deltas.as_slice() {
        [(first, _), .., (last, _)] => (*first, *last),
        _ => return seen.failure(CheckName::ProveStreaming, "text did not arrive in pieces"),
    };
    let spread = last.saturating_sub(first);
    if text != "One, two, three." {
        return seen.failure(
            CheckName::ProveStreaming,
            &format!("the text became {text:?}"),
        );
    }
    // Half of what the model took: a busy machine may be late for one piece and in time for the next.
    if spread < PAUSE {
        return seen.failure(CheckName::ProveStreaming, "all text arrived at once");
    }
    let pieces = deltas.len();
    let message = format!(
        "text arrives while the model speaks, in {pieces} pieces over {} ms",
        spread.as_millis()
    );
    proven(CheckName::ProveStreaming, &message, seen.took)
}

fn proven(name: CheckName, message: &str, took: Duration) -> Check {
    Check::new(name, CheckState::Ok, message).took(took)
}
