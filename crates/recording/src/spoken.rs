//! The protocol of a recorded program, recognised by the first line of its input.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use lapidary_json::{Token, TokenKind};
use lapidary_wire::acp::envelope::{self, Envelope, RpcMessage};

use super::STDIN;

/// The transport of an agent that speaks the Agent Client Protocol.
pub const ACP: &str = "acp";

/// The transport of an unknown program.
pub const UNKNOWN: &str = "unknown";

/// A client introduces itself in less.
const GREETING: u64 = 1024 * 1024;

/// The transport of a recording in that directory, if it is known: a client of an ACP agent begins with `initialize` and
/// the number of its version. (The version of MCP, which is much the same otherwise, is a text.)
pub fn spoken(directory: &Path) -> Option<&'static str> {
    let path = directory.join(STDIN);
    // A pipe in its place could be waited for for ever.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let mut head = Vec::new();
    file.take(GREETING).read_to_end(&mut head).ok()?;
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty())?;
    is_greeting(std::str::from_utf8(first).ok()?).then_some(ACP)
}

fn is_greeting(line: &str) -> bool {
    let Envelope::Object { message, .. } = envelope::parse(line) else {
        return false;
    };
    let RpcMessage::Request { method, params, .. } = message else {
        return false;
    };
    let version = params.and_then(|params| params.get("protocolVersion"));
    method.is("initialize") && version.map(Token::kind) == Some(TokenKind::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stdin: &str, expected: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(STDIN), stdin).unwrap();
        assert_eq!(spoken(directory.path()), expected, "{stdin}");
    }

    #[test]
    fn acp_is_recognised_by_its_initialize_request() {
        let acp =
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
        check(&format!("{acp}\n"), Some(ACP));
        check(&format!("\r\n{acp}\r\n{{}}"), Some(ACP));
        check(
            &acp.replace(
                r#""protocolVersion":1"#,
                r#""protocolVersion":"2025-06-18""#,
            ),
            None,
        );
        check(&acp.replace("initialize", "init"), None);
        check(&acp.replace(r#""id":0,"#, ""), None);
        check("hello\n", None);
        check("", None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_in_the_place_of_the_input_is_not_waited_for() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join(STDIN);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(spoken(directory.path()), None);
    }
}
