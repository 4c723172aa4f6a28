//! How long it takes from an agent's write to our event on stdout, over ACP.
//!
//! The agent writes the time, and the reader of the event compares.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};

use super::super::latency::median_time;
use super::runners::Runners;
use super::stage::AgentStage;

/// How often the time is told.
const TIMES: usize = 200;
/// The pause between two lines. All processes fall asleep in it, as they do while a model thinks.
const PAUSE: Duration = Duration::from_millis(5);

/// The agent's part.
pub(crate) fn tell_time() -> Result<()> {
    let mut out = std::io::stdout();
    for _ in 0..TIMES {
        sleep(PAUSE);
        let now = unix_nanoseconds()?;
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"bench","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"at {now}."}}}}}}}}"#
        );
        out.write_all(format!("{line}\n").as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

impl Runners {
    /// The median of how late the events are.
    pub(super) fn median_lag(&self, stage: &AgentStage) -> Result<Duration> {
        self.remove_recordings();
        let command = self.lapidary_command(stage, &["--no-raw"]);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .envs(self.run_environment(stage))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let events = child.stdout.take().context("stdout is piped")?;
        let mut late = Vec::new();
        for line in BufReader::new(events).lines() {
            if let Some(told) = event_time(&line?) {
                late.push(Duration::from_nanos(
                    unix_nanoseconds()?.saturating_sub(told),
                ));
            }
        }
        ensure!(child.wait()?.success(), "the run failed");
        ensure!(late.len() == TIMES, "{} of {TIMES} times came", late.len());
        Ok(median_time(late))
    }
}

/// The time that an event tells.
fn event_time(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(r#""textDelta":"at "#)?;
    rest.split_once('.')?.0.parse().ok()
}

fn unix_nanoseconds() -> Result<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_nanos())?)
}
