//! The recording of a run that ended before an agent was started: a manifest with its end, and no bytes of an agent.

use std::path::PathBuf;
use std::time::Duration;

use lapidary_normalize::ProcessEnd;
use lapidary_vocab::event::{Provider, RunEnd};
use lapidary_vocab::recording::SCHEMA;

use super::ending::recorded_end;
use super::run_tally::prompt_beginning;
use crate::recording::{
    Channel, Manifest, PROMPT_ENDING, Recorder, RecordingOptions, STDOUT, UNKNOWN,
};

/// The facts about a run that cannot be started.
#[derive(Debug, Clone)]
pub struct RefusedRun {
    /// Where it is recorded, if it is.
    pub records: RecordingOptions,
    /// The agent's name.
    pub agent: String,
    /// Where the agent was to work.
    pub directory: PathBuf,
    /// The prompt, unless it is a file.
    pub prompt: Option<String>,
}

impl RefusedRun {
    /// Records how it ended, and returns where. None if it is not to be recorded, or cannot be: the run has its own reason to fail.
    pub(super) fn record_end(
        &self,
        run: &str,
        provider: &Provider,
        ending: &ProcessEnd,
        judged: &RunEnd,
    ) -> Option<PathBuf> {
        let root = &self.records.root;
        // A prompt of that name belongs to another run, and would go with this recording.
        let is_taken = root.join(format!("{run}{PROMPT_ENDING}")).exists();
        if !self.records.keep || is_taken {
            return None;
        }
        let mut recorder = Recorder::begin(root, run).ok()?;
        // The only entry of `timing`: with it, readers of the recording know the time.
        recorder.note(Channel::In, 0).ok()?;
        recorder.channel(STDOUT).ok()?;
        let mut manifest = self.refused_manifest(run, ending, judged, &recorder);
        manifest.provider = Some(provider.clone());
        recorder.describe(&manifest).ok()?;
        Some(recorder.directory().to_owned())
    }

    fn refused_manifest(
        &self,
        run: &str,
        ending: &ProcessEnd,
        judged: &RunEnd,
        recorder: &Recorder,
    ) -> Manifest {
        let mut end = recorded_end(Duration::ZERO, ending, Some(judged));
        end.prompt = self.prompt.as_deref().map(prompt_beginning);
        Manifest {
            schema: SCHEMA.to_owned(),
            writer: Manifest::this_build(),
            run: run.to_owned(),
            agent: self.agent.clone(),
            provider: None,
            transport: UNKNOWN.to_owned(),
            argv: Vec::new(),
            environment: Vec::new(),
            directory: self.directory.display().to_string(),
            on_denied: None,
            confinement: None,
            may_retry: false,
            started_at: format!("{:.3}", recorder.started_at()),
            end: Some(end),
        }
    }
}
