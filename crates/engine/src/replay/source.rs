//! A recording as the agent of a run: no process is started, and time is the runtime's.
//!
//! The run goes its usual way: it is recorded, limited, judged and reported like a run of an agent in a process.

use std::path::{Path, PathBuf};

use tokio::io::DuplexStream;

use super::{Dialogue, RecordingReader, ReplayError, ReplayRate};
use crate::acp::LocalAgent;
use crate::process::Exit;
use crate::run::RecordedOutput;

/// How an agent exits whose recording is gone by the time that it is started.
const CRASHED: Exit = Exit::Code(1);

/// A recorded agent, by how its run is asked for.
#[derive(Debug, Clone)]
pub enum ReplaySource {
    /// It only wrote: for [`run::Request::replay`](crate::run::RunRequest::replay).
    Written(RecordedOutput),
    /// It spoke ACP: for [`talk::Request::local`](crate::conversation::ConversationRequest::local).
    Spoken(LocalAgent),
}

impl ReplaySource {
    /// Opens a recording by its directory. All of it is checked before the replay starts.
    pub fn open(recording: &Path, rate: ReplayRate) -> Result<Self, ReplayError> {
        if !RecordingReader::open(recording)?.is_dialogue() {
            return RecordedOutput::open(recording, rate.pace).map(Self::Written);
        }
        Dialogue::open(recording)?;
        let recording = recording.to_owned();
        let agent =
            LocalAgent::with_exit(move |stream| speak_recording(recording.clone(), stream, rate));
        Ok(Self::Spoken(agent))
    }
}

/// Speaks as the recorded agent did, and exits as it did.
async fn speak_recording(
    recording: PathBuf,
    stream: DuplexStream,
    rate: ReplayRate,
) -> Option<Exit> {
    let Ok(Some(dialogue)) = Dialogue::open(&recording) else {
        return Some(CRASHED);
    };
    let exit = dialogue.exit();
    match dialogue.serve(stream, rate).await {
        Ok(()) => exit,
        Err(_) => Some(CRASHED),
    }
}
