//! A proxy on 127.0.0.1 between a client and a server, which can cut or stall their connections as a broken network does.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the mode is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What becomes of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyMode {
    /// Bytes are passed on.
    Pass,
    /// Connections are closed, and new ones too.
    Cut,
    /// Connections stay open, and no byte is passed on: neither side hears of it.
    Stall,
    /// The server gets the requests, and the client gets no answers: it cannot know what became of them.
    HalfOpen,
    /// Each piece is passed on this much later.
    Delay(Duration),
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteDirection {
    Requests,
    Answers,
}

/// A proxy that runs until the process ends.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    mode: Arc<Mutex<ProxyMode>>,
}

impl TcpProxy {
    /// A proxy for this server.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(server: SocketAddr) -> io::Result<Self> {
        Self::on(TcpListener::bind("127.0.0.1:0")?, server)
    }

    /// A proxy for this server that takes the connections of a listener, which may be in another network namespace.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn on(listener: TcpListener, server: SocketAddr) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let mode = Arc::new(Mutex::new(ProxyMode::Pass));
        let seen = Arc::clone(&mode);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that is down refuses, and so does this.
                if let Ok(server) = TcpStream::connect(server) {
                    connect(&client, &server, ByteDirection::Requests, &seen);
                    connect(&server, &client, ByteDirection::Answers, &seen);
                }
            }
        });
        Ok(Self { address, mode })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets what becomes of all connections from now on.
    pub fn set_mode(&self, mode: ProxyMode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }
}

/// Passes bytes on in one direction, on a thread of its own.
fn connect(
    from: &TcpStream,
    to: &TcpStream,
    direction: ByteDirection,
    mode: &Arc<Mutex<ProxyMode>>,
) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
        return;
    };
    let mode = Arc::clone(mode);
    thread::spawn(move || {
        let _ = pass_on(&mut from, &mut to, direction, &mode);
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn pass_on(
    from: &mut TcpStream,
    to: &mut TcpStream,
    direction: ByteDirection,
    mode: &Mutex<ProxyMode>,
) -> io::Result<()> {
    from.set_read_timeout(Some(LOOK))?;
    let mut piece = [0; 16 * 1024];
    loop {
        let current = *mode.lock().unwrap_or_else(PoisonError::into_inner);
        match (current, direction) {
            (ProxyMode::Cut, _) => return Ok(()),
            (ProxyMode::Stall, _) | (ProxyMode::HalfOpen, ByteDirection::Answers) => {
                thread::sleep(LOOK);
                continue;
            }
            (ProxyMode::Pass | ProxyMode::HalfOpen | ProxyMode::Delay(_), _) => {}
        }
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                if let ProxyMode::Delay(delay) = current {
                    thread::sleep(delay);
                }
                to.write_all(&piece[..count])?;
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A proxy to a server that sends back what it gets, and says how many pieces it got.
    fn echo_proxy() -> (TcpProxy, mpsc::Receiver<usize>) {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = TcpProxy::start(echo.local_addr().unwrap()).unwrap();
        let (sender, pieces) = mpsc::channel();
        thread::spawn(move || {
            for mut client in echo.incoming().flatten() {
                let mut piece = [0; 64];
                while let Ok(count @ 1..) = client.read(&mut piece) {
                    let _ = sender.send(count);
                    let _ = client.write_all(&piece[..count]);
                }
            }
        });
        (proxy, pieces)
    }

    #[test]
    fn bytes_pass_until_the_connection_is_cut() {
        let (proxy, _pieces) = echo_proxy();
        let mut client = TcpStream::connect(proxy.address()).unwrap();
        client.write_all(b"hello").unwrap();
        let mut answer = [0; 5];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello");
        proxy.set_mode(ProxyMode::Cut);
        assert_eq!(client.read(&mut answer).unwrap_or(0), 0);
    }

    #[test]
    fn a_half_open_connection_passes_requests_and_no_answers() {
        let (proxy, pieces) = echo_proxy();
        proxy.set_mode(ProxyMode::HalfOpen);
        let mut client = TcpStream::connect(proxy.address()).unwrap();
        client.write_all(b"hello").unwrap();
        assert_eq!(pieces.recv().unwrap(), 5, "the server has the request");
        client.set_nonblocking(true).unwrap();
        let mut answer = [0; 5];
        assert!(client.read(&mut answer).is_err(), "there is no answer yet");
        client.set_nonblocking(false).unwrap();
        proxy.set_mode(ProxyMode::Delay(LOOK));
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello");
    }
}
