//! `--prove`: runs the installed agent against a mock model.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use lapidary::engine::config::TransportChoice;
use lapidary::engine::detect::{self, SearchEnvironment};
use lapidary::engine::gemini_cli;
use lapidary::engine::headless::settings_layer_obstacle;
use lapidary::engine::process::{self, Supervisor};
use lapidary::vocab::doctor::{Check, CheckName, CheckState};
use lapidary::vocab::{Body, Cause};
use lapidary_standin::api::{Chunk, FakeApi, Script, Turn};
use lapidary_standin::attempt::AgentTools;
use serde_json::json;

use super::denials::{DenialProof, ServerOffer};
use super::observed_run::{ObservedRun, RunCancel};
use super::proof_sandbox::ProofSandbox;
use super::report::DoctorReport;
use crate::failure::Failure;

/// How long the model pauses between the pieces of its answer.
const PAUSE: Duration = Duration::from_millis(700);

/// How long a cancelled agent may take to be gone: its grace, and a little.
const GONE_BY: Duration = Duration::from_secs(8);

/// Makes every proof, one after the other.
pub(super) async fn prove_all(
    environment: &SearchEnvironment,
    supervisor: &Supervisor,
    (scratch, records): (&Path, &Path),
    report: &mut DoctorReport<'_>,
) -> Result<(), Failure> {
    let Ok(found) = detect::gemini(environment) else {
        let message = "no agent is installed to test";
        report.add_check(Check::new(
            CheckName::ProveStart,
            CheckState::Skipped,
            message,
        ));
        return Ok(());
    };
    let root = scratch.join("world");
    let world = ProofSandbox::make_sandbox(&root, &found.path, supervisor, environment);
    let world = world
        .context("cannot make a throw-away home")
        .map_err(Failure::internal)?;
    // The mark of these runs must be unique, and only these runs use this directory.
    let name = scratch.file_name().unwrap_or_default();
    let proofs = ProofList {
        world,
        records,
        id: name.to_string_lossy().into_owned(),
        speaks_acp: gemini_cli::speaks_acp(found.version.as_ref()),
    };
    if !proofs.prove_streaming(report).await? {
        return Ok(());
    }
    proofs.prove_tool_call(report).await?;
    proofs.prove_cancel(report).await?;
    proofs.prove_no_leftovers(report).await?;
    proofs.prove_denials(report).await
}

struct ProofList<'a> {
    world: ProofSandbox<'a>,
    /// The directory of the user's recordings.
    records: &'a Path,
    id: String,
    speaks_acp: bool,
}

impl ProofList<'_> {
    /// Whether a run begins at all: if not, there is nothing more to see.
    async fn prove_streaming(&self, report: &mut DoctorReport<'_>) -> Result<bool, Failure> {
        let turn = Turn::chunks([
            Chunk::text("One"),
            Chunk::text(", two").delay(PAUSE),
            Chunk::text(", three.").delay(PAUSE),
        ]);
        let seen = self
            .play_script("streaming", Script::new().stream(turn), RunCancel::Never)
            .await?;
        let began = seen.first_event_time(|body| matches!(body, Body::SessionInit(_)));
        let Some(began) = began else {
            report.add_check(seen.failed_check(CheckName::ProveStart, "no run began"));
            return Ok(false);
        };
        report.add_check(passed_check(CheckName::ProveStart, "a run begins", began));
        report.add_check(streaming_check(&seen));
        Ok(true)
    }

    /// Over each transport that a run may take.
    async fn prove_tool_call(&self, report: &mut DoctorReport<'_>) -> Result<(), Failure> {
        let name = CheckName::ProveTool;
        let mut took = Duration::ZERO;
        for (transport, over) in self.proof_transports() {
            let command = json!({ "command": "printf '%s-%s' lapidary 42" });
            let script = Script::new()
                .stream(Turn::call("run_shell_command", command))
                .stream("Done.");
            let run = format!("tool-{over}");
            let seen = self.play_over(transport, &run, script, RunCancel::Never);
            let seen = seen.await?;
            let answered = seen.first_event_time(|body| match body {
                Body::ToolCompletion(done) => {
                    let output = done.output.as_ref();
                    output.is_some_and(|output| output.as_str().contains("lapidary-42"))
                }
                _ => false,
            });
            if answered.is_none() || seen.end_cause() != Some(&Cause::EndTurn) {
                let what = format!("the output of a tool was not seen over {over}");
                report.add_check(seen.failed_check(name, &what).details(seen.tool_said()));
                return Ok(());
            }
            took += seen.took;
        }
        let over: Vec<_> = self.proof_transports().map(|(_, over)| over).collect();
        let what = format!(
            "a tool is called, and its output seen, over {}",
            over.join(" and ")
        );
        report.add_check(passed_check(name, &what, took));
        Ok(())
    }

    fn proof_transports(&self) -> impl Iterator<Item = (TransportChoice, &'static str)> {
        let acp = (TransportChoice::Acp, "acp");
        let acp = self.speaks_acp.then_some(acp);
        [(TransportChoice::StreamJson, "stream-json")]
            .into_iter()
            .chain(acp)
    }

    async fn prove_cancel(&self, report: &mut DoctorReport<'_>) -> Result<(), Failure> {
        let script = Script::new().stream(Turn::text("Wait").hang());
        let seen = self
            .play_script("cancel", script, RunCancel::OnceAsked)
            .await?;
        let name = CheckName::ProveCancel;
        let took = seen.cancelled.map(|at| seen.took.saturating_sub(at));
        report.add_check(match (took, seen.end_cause()) {
            (Some(took), Some(Cause::CancelledByClient))
                if took <= GONE_BY && living_processes(&seen.run).is_empty() =>
            {
                passed_check(
                    name,
                    "a run that hangs is cancelled, and the agent gone",
                    took,
                )
            }
            (None, _) => seen.failed_check(name, "the model was never asked"),
            _ => seen.failed_check(name, "a run that hangs could not be cancelled in time"),
        });
        Ok(())
    }

    async fn prove_no_leftovers(&self, report: &mut DoctorReport<'_>) -> Result<(), Failure> {
        let command = json!({ "command": "sleep 600 >/dev/null 2>&1 & echo $! > pid" });
        let script = Script::new()
            .stream(Turn::call("run_shell_command", command))
            .stream("Done.");
        let seen = self
            .play_script("leftovers", script, RunCancel::Never)
            .await?;
        let pid = fs::read_to_string(self.world.project_dir().join("pid")).unwrap_or_default();
        let name = CheckName::ProveLeftovers;
        let Ok(pid) = pid.trim().parse() else {
            report
                .add_check(seen.failed_check(name, "no process could be left behind to look for"));
            return Ok(());
        };
        let runs = [
            "streaming",
            "tool-stream-json",
            "tool-acp",
            "cancel",
            "leftovers",
        ];
        let mut left: Vec<_> = runs
            .iter()
            .flat_map(|run| living_processes(&self.run_id(run)))
            .collect();
        left.extend(process::is_alive(pid).then_some(pid));
        report.add_check(if left.is_empty() {
            passed_check(
                name,
                "what a tool leaves running ends with the run",
                seen.took,
            )
        } else {
            let pids: Vec<_> = left.iter().map(i32::to_string).collect();
            seen.failed_check(
                name,
                &format!("still alive after the run: {}", pids.join(", ")),
            )
        });
        Ok(())
    }

    /// Tests whether denials hold, over each transport.
    async fn prove_denials(&self, report: &mut DoctorReport<'_>) -> Result<(), Failure> {
        let Some(tools) = AgentTools::for_family(gemini_cli::NAME) else {
            return Ok(());
        };
        for (transport, over) in self.proof_transports() {
            let offer = self.server_offer(transport);
            let in_settings = matches!(offer, ServerOffer::Settings(_));
            let written = if in_settings {
                self.world.offer_server()
            } else {
                self.world.withdraw_server()
            };
            written
                .context("cannot write to the throw-away home")
                .map_err(Failure::internal)?;
            let proof = DenialProof {
                world: &self.world,
                acp: None,
                transport,
                over,
                id: &self.id,
                offer,
            };
            for check in proof.prove_denials(tools).await? {
                report.add_check(check);
            }
        }
        Ok(())
    }

    /// How the MCP server of the attempts gets to Gemini CLI. A settings file of the run is only read from some directories: those of
    /// the sandbox are never among them, the user's recordings may be.
    fn server_offer(&self, transport: TransportChoice) -> ServerOffer {
        if transport == TransportChoice::Acp {
            return ServerOffer::Session;
        }
        match settings_layer_obstacle(self.records) {
            None => ServerOffer::Layer(self.records.to_owned()),
            Some(why) => ServerOffer::Settings(why),
        }
    }

    fn run_id(&self, name: &str) -> String {
        format!("{}-{name}", self.id)
    }

    async fn play_script(
        &self,
        name: &str,
        script: Script,
        cancel: RunCancel,
    ) -> Result<ObservedRun, Failure> {
        let play = self.play_over(TransportChoice::Auto, name, script, cancel);
        play.await
    }

    async fn play_over(
        &self,
        transport: TransportChoice,
        name: &str,
        script: Script,
        cancel: RunCancel,
    ) -> Result<ObservedRun, Failure> {
        let api = FakeApi::start(script).await;
        let api = api
            .context("cannot play a model")
            .map_err(Failure::internal)?;
        let run = self.run_id(name);
        let job = self.world.proof_job(&run, transport, &api.base_url());
        let job = job
            .context("cannot prepare a run")
            .map_err(Failure::internal)?;
        let seen = ObservedRun::follow_run(job.start(), run, &api, cancel).await;
        api.stop().await;
        Ok(seen)
    }
}

/// Text that came in pieces while the model still spoke.
fn streaming_check(seen: &ObservedRun) -> Check {
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
        _ => return seen.failed_check(CheckName::ProveStreaming, "text did not arrive in pieces"),
    };
    let spread = last.saturating_sub(first);
    if text != "One, two, three." {
        return seen.failed_check(
            CheckName::ProveStreaming,
            &format!("the text became {text:?}"),
        );
    }
    // Half of the model's time: a busy machine may be late for one piece and in time for the next.
    if spread < PAUSE {
        return seen.failed_check(CheckName::ProveStreaming, "all text arrived at once");
    }
    let pieces = deltas.len();
    let message = format!(
        "text arrives while the model speaks, in {pieces} pieces over {} ms",
        spread.as_millis()
    );
    passed_check(CheckName::ProveStreaming, &message, seen.took)
}

fn passed_check(name: CheckName, message: &str, took: Duration) -> Check {
    Check::new(name, CheckState::Ok, message).took(took)
}

/// The living processes of a run, by its mark.
fn living_processes(run: &str) -> Vec<i32> {
    process::marked("LAPIDARY_RUN", run)
}
