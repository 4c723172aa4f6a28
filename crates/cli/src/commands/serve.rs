//! `serve`: runs, permission prompts and sessions over HTTP, and a web page.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::directories;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::process::platform::share_heap;
use lapidary::engine::process::start_detached;
use lapidary::engine::recording::private_directories;
use lapidary::normalize::NormalizeOptions;
use lapidary_serve::{
    CommandCall, CommandRunner, HttpServer, ListenAddress, ServeError, ServeOptions, ServerAddress,
    TlsFiles, TokenUse,
};
use serde_json::json;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::fleet::{STORE_VARIABLE, StoreOption};
use super::job::JobRequest;
use super::mcp::options::ServerOptions;
use super::narrowed_options::refuse_given;
use super::runs::open::{BROWSER, has_display};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::{Invocation, StandardStreams};
use crate::printer::Printer;

/// Serve runs, permission prompts and sessions over HTTP, with a web page
///
/// Clients start runs, watch them and answer their permission requests; the page does all of that. Events and commands are those of
/// `connect`. Every request needs the token, which is kept in a file that only you can read. Options are those of the runs: a client
/// narrows them, and never widens them. The server ends its runs when it ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary serve --open
  lapidary serve --root ~/projects --permission-mode acceptEdits --deny 'edit:.github/**'
  lapidary serve --listen unix:/run/user/1000/lapidary.sock
  curl -H \"Authorization: Bearer $(cat ~/.local/state/lapidary/serve/token)\" http://127.0.0.1:7717/api/v1/runs

When stdout is not a terminal, its first line is JSON: `url`, `tokenFile` and `pid`. docs/serve.md has the API.")]
pub(crate) struct Args {
    /// The address: a port of this machine, or `unix:PATH`. Port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7717")]
    listen: ListenAddress,
    /// Speak TLS with this certificate (PEM, with its chain). Then the address may be one that other machines reach
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        conflicts_with = "behind_proxy"
    )]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The host of a proxy before this server, which speaks TLS: `HOST` or `HOST:PORT`
    #[arg(long, value_name = "HOST", value_parser = proxy_host)]
    behind_proxy: Option<String>,
    /// Agents work in this directory or below it [default: the current directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    store: StoreOption,
    /// Replace the token: clients that have the old one are refused
    #[arg(long)]
    new_token: bool,
    #[command(flatten)]
    with: ServerOptions,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    args.with.check("`serve`")?;
    let common = &args.with.0;
    let given = [
        ("--no-record", common.no_record),
        ("--record-dir", common.record_dir.is_some()),
        ("--working-dir", common.working_dir.is_some()),
    ];
    refuse_given(
        "`serve`",
        &given,
        "`--root` has the directory of agents; events are read from recordings",
    )?;
    share_heap(); // each run has a thread
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(anyhow!(error)))?;
    let stopped = CancellationToken::new();
    let stop = stopped.clone();
    // Without it signals have their default effect, and the supervisors end the agents.
    let _ = out
        .invocation
        .on_interruptions(async move |mut interruptions| {
            interruptions.next().await;
            stop.cancel();
        });
    let options = serve_options(args, &out.invocation)?;
    let environment = options.surroundings.environment.clone();
    runtime.block_on(async {
        let server = HttpServer::bind(options).await.map_err(bind_failure)?;
        print_address(&server.address, out)?;
        if args.open
            && let Some(page) = &server.address.redirect
        {
            open_page(page, &environment, out);
        }
        server.serve(stopped).await;
        Ok::<_, Failure>(())
    })?;
    runtime.shutdown_background(); // a command that still runs only reads
    Ok(CommandExit::Success)
}

fn serve_options(args: &Args, invocation: &Arc<Invocation>) -> Result<ServeOptions, Failure> {
    let request = JobRequest::new(&args.with.0, NormalizeOptions::new(""), invocation);
    let (run, surroundings) = request.into_parts()?;
    let environment = &surroundings.environment;
    let state = directories::safe_state(environment)?.join("serve");
    private_directories(&state)
        .with_context(|| format!("cannot use `{}`", state.display()))
        .map_err(Failure::internal)?;
    let root = args.root.as_ref();
    let root = root.map_or_else(
        || environment.dir.clone(),
        |root| environment.dir.join(root),
    );
    Ok(ServeOptions {
        listen: args.listen.clone(),
        tls: tls_files(args, environment),
        proxy: args.behind_proxy.clone(),
        root,
        run,
        state,
        token: if args.new_token {
            TokenUse::New
        } else {
            TokenUse::Kept
        },
        commands: Arc::new(InProcessCommands::new(invocation, &args.store)?),
        surroundings,
    })
}

fn tls_files(args: &Args, environment: &SearchEnvironment) -> Option<TlsFiles> {
    let (certificate, key) = args.tls_cert.as_ref().zip(args.tls_key.as_ref())?;
    Some(TlsFiles {
        certificate: environment.dir.join(certificate),
        key: environment.dir.join(key),
    })
}

/// A host as `Host` has it: a name or an address, and perhaps a port.
fn proxy_host(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:[]".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("a host is such as `agents.example` or `agents.example:8443`, without a scheme".to_owned())
}

fn bind_failure(error: ServeError) -> Failure {
    let hint = error.hint();
    let failure = match &error {
        ServeError::Address(_) | ServeError::TokenInUse { .. } => Failure::usage(error),
        _ => Failure::bad_input(error),
    };
    hint.into_iter().fold(failure, Failure::with_hint)
}

fn print_address(address: &ServerAddress, out: &mut Printer) -> Result<(), Failure> {
    if out.is_terminal {
        writeln!(out, "Lapidary serves {}", address.url)?;
        if address.is_read_only {
            writeln!(
                out,
                "It only reads: another server has the same state directory."
            )?;
        }
        if let Some(page) = &address.redirect {
            writeln!(
                out,
                "Open file://{} in a browser: it has the token.",
                page.display()
            )?;
        }
        writeln!(out, "Ctrl-C ends the server and its runs.")?;
    } else {
        let mut line = json!({
            "url": address.url,
            "tokenFile": address.token_file,
            "pid": std::process::id(),
        });
        if address.is_read_only {
            line["readOnly"] = true.into();
        }
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// Opens the page with the token in the browser. A browser that cannot be started does not end the server.
fn open_page(page: &Path, environment: &SearchEnvironment, out: &Printer) {
    let page_url = format!("open `file://{}`", page.display());
    if !has_display(environment) {
        out.print_message(&format!("note: there is no display; {page_url}"));
    } else if let Err(error) = start_detached(OsStr::new(BROWSER), page) {
        out.print_message(&format!(
            "note: cannot start `{BROWSER}`: {error}; {page_url}"
        ));
    }
}

/// Runs commands for the server, with the variables and the directory of this one.
#[derive(Debug)]
struct InProcessCommands {
    variables: Vec<(OsString, OsString)>,
    current_dir: PathBuf,
    program: PathBuf,
}

impl InProcessCommands {
    /// Commands of a fleet use this store.
    fn new(invocation: &Invocation, store: &StoreOption) -> Result<Self, Failure> {
        let known = |path: std::io::Result<PathBuf>| {
            path.map_err(|error| Failure::internal(anyhow!(error)))
        };
        store.named_address(invocation)?; // a wrong address is reported now, rather than with each request
        let mut variables: Vec<_> = invocation.all_variables().collect();
        if let Some(given) = store.given() {
            variables.retain(|(name, _)| name != STORE_VARIABLE);
            variables.push((STORE_VARIABLE.into(), given.into()));
        }
        Ok(Self {
            variables,
            current_dir: known(invocation.current_dir())?,
            program: known(invocation.program_path())?,
        })
    }
}

impl CommandRunner for InProcessCommands {
    fn run_command(&self, call: CommandCall) -> u8 {
        let mut args = vec![OsString::from("lapidary")];
        args.extend(call.args.into_iter().map(OsString::from));
        crate::run(Invocation {
            args,
            variables: self.variables.clone(),
            current_dir: Ok(self.current_dir.clone()),
            program: Ok(self.program.clone()),
            streams: StandardStreams::Files {
                stdin: call.stdin,
                stdout: call.stdout,
                stderr: call.stderr,
            },
        })
    }
}
