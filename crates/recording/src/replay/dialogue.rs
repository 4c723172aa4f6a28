//! A recorded dialogue, played as an agent that any ACP client can talk to: it waits for the client where the original did.
//!
//! The recording is a script in the order of its lines. The agent's lines come at the recorded times, counted from the latest message
//! that it waited for. It waits for:
//!
//! * a request or a notification of the same method. The client has its own ids, and gets its answer under them;
//! * the answer to a request of the agent's, by its id. An answer that differs from the recorded one changes nothing;
//! * the end of its stdin, where that was recorded.
//!
//! Requests and notifications that come early wait for their turn. A request that the script does not have any more is refused at
//! once with -32601, such a notification is ignored. One that the script has, but only behind a message that the client does not send, waits
//! until the patience ends. Then the missing message is skipped if nothing depends on it: a request that was answered right
//! away, a notification after which the agent sent nothing. Otherwise the request that waits is refused.
//!
//! The replay waits for a silent client until it hangs up, as every agent would.

mod audience;
mod client;
mod listening;
mod player;
mod waiting;

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::check;
use super::message::MessageKind;
use super::script::{ScriptSource, StepKind, reads_as_transcript};
use super::{ReplayError, ReplayPace};
use crate::{MANIFEST, STDERR, STDIN, STDOUT, TIMING, spoken};
use audience::StreamAudience;
use client::{hear_stream, listen_to_client};
use lapidary_process::Exit;
use player::DialoguePlayer;

/// A recorded dialogue that was found to be in order.
#[derive(Debug)]
pub struct Dialogue {
    place: PathBuf,
    exit: Option<Exit>,
    /// How long the agent lived, if it is known how it ended.
    duration: Option<Duration>,
    coming: UpcomingMethods,
}

/// The outputs and the speed of a replay.
pub struct DialogueStage<'a> {
    /// The agent's stdout.
    pub out: &'a mut dyn Write,
    /// The agent's stderr.
    pub err: &'a mut dyn Write,
    /// Notes about differences between the client and the recorded one.
    pub note: &'a mut dyn FnMut(&str),
    /// The speed.
    pub rate: ReplayRate,
}

/// How fast a dialogue is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayRate {
    /// How fast the agent speaks.
    pub pace: ReplayPace,
    /// How long a request waits for the messages that the recording has before it.
    pub patience: Duration,
}

impl fmt::Debug for DialogueStage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

/// How often each method is still to come, as a request and as a notification.
#[derive(Debug, Default)]
struct UpcomingMethods {
    requests: HashMap<String, u64>,
    notifications: HashMap<String, u64>,
}

impl UpcomingMethods {
    fn count_message(&mut self, said: &MessageKind) {
        match said {
            MessageKind::Request { method, .. } => {
                *self.requests.entry(method.clone()).or_default() += 1;
            }
            MessageKind::Notification { method } => {
                *self.notifications.entry(method.clone()).or_default() += 1;
            }
            MessageKind::Answer { .. } | MessageKind::Noise => {}
        }
    }
}

impl Dialogue {
    /// Opens a recording, named by its directory or its `run.json`, or a transcript. None if it is no dialogue with an ACP agent.
    pub fn open(path: &Path) -> Result<Option<Self>, ReplayError> {
        let metadata = fs::metadata(path).map_err(|source| ReplayError::from_read(path, source))?;
        if metadata.is_dir() {
            return Self::from_directory(path);
        }
        if path.file_name().is_some_and(|name| name == MANIFEST) {
            let directory = path.parent().filter(|parent| *parent != Path::new(""));
            return Self::from_directory(directory.unwrap_or(Path::new(".")));
        }
        if !metadata.is_file() || !reads_as_transcript(path)? {
            return Ok(None);
        }
        let dialogue = Self {
            place: path.to_owned(),
            exit: Some(Exit::Code(0)),
            duration: None,
            coming: UpcomingMethods::default(),
        };
        dialogue.check_script().map(Some)
    }

    fn from_directory(directory: &Path) -> Result<Option<Self>, ReplayError> {
        let size = |name| check::open(&directory.join(name)).map(|(_, size)| size);
        let (manifest, timing) = (
            check::read_text(&directory.join(MANIFEST))?,
            check::read_text(&directory.join(TIMING))?,
        );
        let mut texts = check::CheckedTexts {
            place: directory.to_owned(),
            manifest: &manifest,
            timing: &timing,
            stdin: None,
            stdout: size(STDOUT)?,
            stderr: size(STDERR)?,
            reads_newer: false,
        };
        if !texts.find_dialogue(|| spoken(directory))? {
            return Ok(None);
        }
        texts.stdin = Some(size(STDIN)?);
        let facts = texts.recording_facts()?;
        let dialogue = Self {
            place: directory.to_owned(),
            exit: facts.exit,
            duration: facts.exit.map(|_| facts.duration),
            coming: UpcomingMethods::default(),
        };
        dialogue.check_script().map(Some)
    }

    /// Reads all of it once, before the first line is played, and counts the messages that the client will have to send.
    fn check_script(mut self) -> Result<Self, ReplayError> {
        let mut script = ScriptSource::open(&self.place)?;
        while let Some(step) = script.next()? {
            if let StepKind::Hear(said) = step.what {
                self.coming.count_message(&said);
            }
        }
        Ok(self)
    }

    /// How the agent ended. None if that was never recorded. That of a transcript's is taken to have exited with 0.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Plays it, until the client has hung up or the agent ended by itself.
    ///
    /// Where no end of the agent's stdin was recorded, an agent is taken to have ended by itself if it left a request unanswered,
    /// exited with another code than 0, or ended by a signal that is not used to end a process. Any other ends when the client
    /// hangs up. A client that hangs up early gets the lines that follow its messages, up to the next message that it has not
    /// sent.
    ///
    /// The input is read by a thread that waits for it until it ends, even if the agent ends before.
    pub fn play(self, input: File, stage: DialogueStage<'_>) -> io::Result<()> {
        let script = ScriptSource::open(&self.place).map_err(io::Error::other)?;
        let rate = stage.rate;
        let player = DialoguePlayer::new(self, script, (stage, rate), listen_to_client(input)?);
        super::block_on(player.play_script())
    }

    /// Plays it to a client at the other end of a stream, by the clock of the runtime. The agent's stderr is not played there.
    pub async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite,
        rate: ReplayRate,
    ) -> io::Result<()> {
        let script = ScriptSource::open(&self.place).map_err(io::Error::other)?;
        let (reads, writes) = tokio::io::split(stream);
        let (client, hearing) = hear_stream(reads);
        let player = DialoguePlayer::new(self, script, (StreamAudience(writes), rate), client);
        tokio::select! {
            done = player.play_script() => done,
            never = hearing => match never {},
        }
    }
}
