//! The network between a worker and the database: a proxy and, if this user may make one, a network namespace. A namespace without
//! its link drops every packet: unlike a proxy, it neither takes connections nor closes them.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;

use lapidary_testkit::tcp_proxy::{ProxyMode, TcpProxy};
use nix::sched::{CloneFlags, setns};

use crate::support::program;

/// The network of a worker.
pub(super) struct WorkerNetwork {
    proxy: TcpProxy,
    namespace: Option<NetworkNamespace>,
}

impl WorkerNetwork {
    /// A network on which the worker reaches this server.
    pub(super) fn start(server: SocketAddr) -> Self {
        let namespace = NetworkNamespace::new();
        let listener = match &namespace {
            Some(namespace) => namespace.listener(),
            None => listen(),
        };
        Self {
            proxy: TcpProxy::on(listener, server).unwrap(),
            namespace,
        }
    }

    /// The address of the server for the worker.
    pub(super) fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    pub(super) fn set_mode(&self, mode: ProxyMode) {
        self.proxy.set_mode(mode);
    }

    /// Takes the link away. The proxy closes its connections, which the worker does not hear of. Without a namespace, it does.
    pub(super) fn take_link(&self) {
        if let Some(namespace) = &self.namespace {
            namespace.set_link("down");
        }
        self.set_mode(ProxyMode::Cut);
    }

    /// Ends every fault.
    pub(super) fn mend(&self) {
        if let Some(namespace) = &self.namespace {
            namespace.set_link("up");
        }
        self.set_mode(ProxyMode::Pass);
    }

    /// The same command on this network. Its process is the command's own.
    pub(super) fn enter(&self, usual: Command) -> Command {
        let Some(namespace) = &self.namespace else {
            return usual;
        };
        let mut command = namespace.command(usual.get_program().to_str().unwrap());
        command.args(usual.get_args()).env_clear();
        let variables = usual.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        command
    }
}

fn listen() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

/// A network namespace with a loopback link alone. It ends with its keeper.
struct NetworkNamespace {
    keeper: Child,
}

impl NetworkNamespace {
    /// None if this user may make none.
    fn new() -> Option<Self> {
        let script = "ip link set lo up && echo ready && exec cat";
        let mut keeper = program("unshare")
            .args(["--net", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let stdout = keeper.stdout.take().unwrap();
        let namespace = Self { keeper };
        let mut ready = String::new();
        BufReader::new(stdout).read_line(&mut ready).unwrap();
        (ready == "ready\n").then_some(namespace)
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.keeper.id())
    }

    /// A listener in the namespace, for this process.
    fn listener(&self) -> TcpListener {
        let namespace = File::open(self.path()).unwrap();
        // Only this thread enters it.
        let listener = thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            listen()
        });
        listener.join().unwrap()
    }

    /// A program in the namespace.
    fn command(&self, name: &str) -> Command {
        let mut command = program("nsenter");
        command.arg(format!("--net={}", self.path())).arg(name);
        command
    }

    fn set_link(&self, state: &str) {
        let mut command = self.command("ip");
        let set = command.args(["link", "set", "lo", state]).status();
        assert!(set.unwrap().success());
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
