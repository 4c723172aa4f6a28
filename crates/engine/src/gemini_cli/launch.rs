//! Turns a configuration and a prompt into an invocation of Gemini CLI.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::arguments::ArgumentList;
use super::extra_arguments::ExtraArguments;
use super::problem::LaunchError;
use super::prompt::{self, PromptRoute, PromptText};
use super::{ACP, OLD_ACP, PLAN, RESUME, STREAM_JSON, version_has};
use crate::config::{ApprovalMode, Config, PermissionMode, TransportChoice};
use crate::detect::AgentVersion;

/// Set, the CLI is one process instead of two.
const NO_RELAUNCH: &str = "GEMINI_CLI_NO_RELAUNCH";

/// A run that is asked for.
#[derive(Debug, Clone)]
pub struct GeminiLaunch<'a> {
    /// How.
    pub config: &'a Config,
    /// Where the caller is: relative paths count from here. An absolute path.
    pub dir: &'a Path,
    /// The prompt.
    pub prompt: PromptText,
    /// The session to continue: `latest`, a number or an id.
    pub resume: Option<&'a str>,
    /// The id that a new session gets.
    pub session_id: Option<&'a str>,
    /// Arguments of the user's own, passed on behind ours.
    pub extra_args: &'a [OsString],
    /// The agent's version; one that is not known counts as current.
    pub version: Option<&'a AgentVersion>,
}

/// An invocation, without the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeminiInvocation {
    /// The arguments.
    pub args: Vec<OsString>,
    /// Variables to add to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub dir: PathBuf,
    /// Its stdin.
    pub stdin: StdinContent,
    /// The format of its stdout.
    pub transport: OutputTransport,
    /// Notices for the user: where we deviate from the request.
    pub notices: Vec<String>,
}

/// An invocation of an agent over ACP, without the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpInvocation {
    /// The arguments.
    pub args: Vec<OsString>,
    /// Variables to add to the environment.
    pub env: Vec<(OsString, OsString)>,
}

/// The stdin of the agent. It waits half a second for the first byte and then takes its stdin for empty, so the text should be
/// there when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinContent {
    /// Nothing, and at once.
    Empty,
    /// This text.
    Text(String),
}

/// The format of the agent's stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputTransport {
    /// A line of JSON for each thing that happens.
    StreamJson,
    /// One JSON document at the end.
    Json,
}

/// The next step to deliver the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum PromptDelivery {
    /// Start it.
    Ready(GeminiInvocation),
    /// The prompt is longer than the agent reads from its input: write `text` to a file in the workspace and [`prepare`] again
    /// with [`PromptText::File`].
    NeedsFile {
        /// The prompt.
        text: String,
        /// A notice for the user about it.
        notice: String,
    },
}

/// Prepares a run. Files are looked at and nothing is written.
///
/// ```
/// use std::path::Path;
/// use lapidary_engine::gemini_cli::{PromptDelivery, GeminiLaunch, PromptText, StdinContent, prepare};
/// use lapidary_engine::config::Config;
///
/// let config = Config::builder().model("gemini-2.5-flash").build()?;
/// let prepared = prepare(&GeminiLaunch {
///     config: &config,
///     dir: Path::new("/home/me/project"),
///     prompt: PromptText::Text("fix the tests".to_owned()),
///     resume: None,
///     session_id: None,
///     extra_args: &[],
///     version: None,
/// })?;
/// let PromptDelivery::Ready(run) = prepared else { unreachable!("it is short") };
/// assert_eq!(run.args, ["-o", "stream-json", "--approval-mode", "default", "-m", "gemini-2.5-flash"]);
/// assert_eq!(run.stdin, StdinContent::Text("fix the tests".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare(launch: &GeminiLaunch<'_>) -> Result<PromptDelivery, LaunchError> {
    let extra = ExtraArguments::from_args(launch.extra_args)?;
    let mut notices = Vec::new();
    let transport = choose_transport(launch, &mut notices)?;
    let mut args = ArgumentList::default();
    args.add_pair("-o", transport.as_str());
    add_permission_flag(launch, &extra, &mut args, &mut notices);
    add_options(launch, &extra, &mut args)?;
    add_session(launch, &mut args)?;
    let stdin = match prompt::route_prompt(launch, &mut notices)? {
        PromptRoute::Stdin(text) => StdinContent::Text(text),
        PromptRoute::Argument { text, stdin } => {
            args.add_user_value("prompt", "-p", "--prompt", &text)?;
            stdin.map_or(StdinContent::Empty, StdinContent::Text)
        }
        PromptRoute::TooLong { text, notice } => {
            return Ok(PromptDelivery::NeedsFile { text, notice });
        }
    };
    args.add_arguments(launch.extra_args);
    Ok(PromptDelivery::Ready(GeminiInvocation {
        args: args.into_vec(),
        env: launch_environment(launch.config),
        dir: launch.config.working_dir_in(launch.dir),
        stdin,
        transport,
        notices,
    }))
}

/// Prepares an agent over ACP: its arguments, without prompt, session and mode, which it gets by requests.
pub fn prepare_acp(launch: &GeminiLaunch<'_>) -> Result<AcpInvocation, LaunchError> {
    let extra = ExtraArguments::from_args(launch.extra_args)?;
    if let Some(version) = launch.version.filter(|version| !version.has(OLD_ACP)) {
        return Err(LaunchError::TooOld {
            version: version.clone(),
            what: "ACP",
            since: "0.24",
        });
    }
    let mut args = ArgumentList::default();
    args.add_flag(if version_has(launch.version, ACP) {
        "--acp"
    } else {
        "--experimental-acp"
    });
    add_options(launch, &extra, &mut args)?;
    args.add_arguments(launch.extra_args);
    Ok(AcpInvocation {
        args: args.into_vec(),
        env: launch_environment(launch.config),
    })
}

/// Prepares the agent's own screen, which asks for permissions itself. Absent options are left to its settings.
pub fn prepare_screen(launch: &GeminiLaunch<'_>) -> Result<AcpInvocation, LaunchError> {
    let extra = ExtraArguments::from_args(launch.extra_args)?;
    let mut args = ArgumentList::default();
    if launch.config.permission_mode.is_some() {
        add_permission_flag(launch, &extra, &mut args, &mut Vec::new());
    }
    add_options(launch, &extra, &mut args)?;
    add_session(launch, &mut args)?;
    args.add_arguments(launch.extra_args);
    let mut env = launch_environment(launch.config);
    // It starts itself again when some settings change.
    env.retain(|(name, _)| name != NO_RELAUNCH);
    Ok(AcpInvocation {
        args: args.into_vec(),
        env,
    })
}

impl OutputTransport {
    fn as_str(self) -> &'static str {
        match self {
            Self::StreamJson => "stream-json",
            Self::Json => "json",
        }
    }
}

fn choose_transport(
    launch: &GeminiLaunch<'_>,
    notices: &mut Vec<String>,
) -> Result<OutputTransport, LaunchError> {
    let old = launch.version.filter(|version| !version.has(STREAM_JSON));
    match (launch.config.transport.unwrap_or_default(), old) {
        (TransportChoice::Json, _) => Ok(OutputTransport::Json),
        (_, None) => Ok(OutputTransport::StreamJson),
        (TransportChoice::Auto | TransportChoice::Acp, Some(version)) => {
            notices.push(format!(
                "Gemini CLI {version} has no stream-json, which came with 0.11: there is one answer at the end, and no tool calls"
            ));
            Ok(OutputTransport::Json)
        }
        (TransportChoice::StreamJson, Some(version)) => Err(LaunchError::TooOld {
            version: version.clone(),
            what: "stream-json output",
            since: "0.11",
        }),
    }
}

/// Exactly one flag: the CLI refuses two. One that the user passes on counts.
fn add_permission_flag(
    launch: &GeminiLaunch<'_>,
    extra: &ExtraArguments,
    args: &mut ArgumentList,
    notices: &mut Vec<String>,
) {
    if extra.permission {
        if launch.config.permission_mode.is_some() {
            notices.push(
                "the arguments passed on set the approval mode: the configured one is not used"
                    .to_owned(),
            );
        }
        return;
    }
    let mode =
        match launch.config.permission_mode_or_default() {
            PermissionMode::Plan if !version_has(launch.version, PLAN) => {
                notices.push(format!(
                "Gemini CLI {} has no plan mode, which came with 0.26: it runs in the default mode",
                launch.version.map(AgentVersion::to_string).unwrap_or_default()
            ));
                PermissionMode::Default
            }
            mode => mode,
        };
    match ApprovalMode::from(mode) {
        ApprovalMode::Yolo => args.add_flag("--yolo"),
        mode => args.add_pair("--approval-mode", mode.as_str()),
    }
}

fn add_options(
    launch: &GeminiLaunch<'_>,
    extra: &ExtraArguments,
    args: &mut ArgumentList,
) -> Result<(), LaunchError> {
    let config = launch.config;
    if let (Some(model), false) = (&config.model, extra.model) {
        args.add_user_value("model", "-m", "--model", model)?;
    }
    if config.sandbox == Some(true) && !extra.sandbox {
        args.add_flag("-s");
    }
    for dir in config.include_directories.iter().flatten() {
        let dir = launch.dir.join(dir).into_os_string();
        args.add_list_value("include_directories", "--include-directories", &dir)?;
    }
    for tool in config.allowed_tools.iter().flatten() {
        args.add_list_value("allowed_tools", "--allowed-tools", tool.as_ref())?;
    }
    Ok(())
}

fn add_session(launch: &GeminiLaunch<'_>, args: &mut ArgumentList) -> Result<(), LaunchError> {
    match (launch.resume, launch.session_id) {
        (Some(_), Some(_)) => Err(LaunchError::ResumeAndSessionId),
        (Some(session), None) => match launch.version.filter(|version| !version.has(RESUME)) {
            Some(version) => Err(LaunchError::TooOld {
                version: version.clone(),
                what: "--resume",
                since: "0.15",
            }),
            None => args.add_user_value("resume", "--resume", "--resume", session),
        },
        (None, Some(id)) => {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if !id.bytes().all(allowed) {
                return Err(LaunchError::BadValue {
                    what: "session-id",
                    value: id.to_owned(),
                    reason: "only letters, digits, `-` and `_` make an id",
                });
            }
            args.add_user_value("session-id", "--session-id", "--session-id", id)
        }
        (None, None) => Ok(()),
    }
}

/// One process instead of a launcher that passes on no signal; trust for this run only.
fn launch_environment(config: &Config) -> Vec<(OsString, OsString)> {
    let mut env = vec![(NO_RELAUNCH, "true")];
    if config.trust_workspace == Some(true) {
        env.push(("GEMINI_CLI_TRUST_WORKSPACE", "true"));
    }
    env.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}
