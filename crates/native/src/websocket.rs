//! The frames of WebSocket (RFC 6455), as clients and servers read and write them, and the proof of its handshake.
//!
//! Written here because a message is passed on while it comes in, of any size: libraries collect it first. No extension is offered, so
//! a compressed frame is an error. [`crate::remote_acp`] is the client; the server is `lapidary serve`.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Hashed with the client's key, it proves that a server speaks WebSocket.
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The longest payload of a control frame.
pub const LONGEST_CONTROL: usize = 125;

/// The meaning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// The next part of a message.
    Continuation,
    /// A message of text, or its first part.
    Text,
    /// A message of bytes, or its first part.
    Binary,
    /// The last frame.
    Close,
    /// Asks for a pong.
    Ping,
    /// Answers a ping.
    Pong,
}

/// The side that sends a frame. Clients mask their frames, servers do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameSender {
    /// The side that opened the connection.
    Client,
    /// The side that accepted it.
    Server,
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// The meaning of the frame.
    pub kind: FrameKind,
    /// Whether the message ends with this frame.
    pub is_last: bool,
    /// The length of the payload.
    pub length: u64,
    /// The mask over the payload, if a client sent it.
    pub mask: Option<FrameMask>,
}

/// The mask over the payload of a client's frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMask(pub [u8; 4]);

impl FrameMask {
    /// Puts the mask over a payload, or takes it off.
    pub fn apply(self, payload: &mut [u8]) {
        for (byte, mask) in payload.iter_mut().zip(self.0.iter().cycle()) {
            *byte ^= mask;
        }
    }
}

/// Why there is no further frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The connection broke.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The other side broke the protocol: a sentence without its subject.
    #[error("{0}")]
    Violation(&'static str),
}

/// The value of `Sec-WebSocket-Accept` for the value of `Sec-WebSocket-Key`.
pub fn handshake_proof(key: &str) -> String {
    let proof = format!("{key}{ACCEPT_SUFFIX}");
    let proof = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, proof.as_bytes());
    STANDARD.encode(proof)
}

impl FrameKind {
    fn from_opcode(opcode: u8) -> Option<Self> {
        Some(match opcode {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    fn opcode(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// Reads the head of the next frame, which `sender` has sent.
pub async fn read_head(
    reader: &mut (impl AsyncRead + Unpin),
    sender: FrameSender,
) -> Result<FrameHead, FrameError> {
    let mut start = [0; 2];
    reader.read_exact(&mut start).await?;
    let [first, second] = start;
    if first & 0x70 != 0 {
        let problem = "sends frames with an extension, such as compression, that was not agreed";
        return Err(FrameError::Violation(problem));
    }
    match (sender, second & 0x80 != 0) {
        (FrameSender::Client, true) | (FrameSender::Server, false) => {}
        (FrameSender::Server, true) => {
            let problem = "masks its frames, which only clients do";
            return Err(FrameError::Violation(problem));
        }
        (FrameSender::Client, false) => {
            let problem = "does not mask its frames, which clients have to do";
            return Err(FrameError::Violation(problem));
        }
    }
    let kind = FrameKind::from_opcode(first & 0x0F)
        .ok_or(FrameError::Violation("sends a frame of an unknown kind"))?;
    let length = match second & 0x7F {
        126 => reader.read_u16().await?.into(),
        127 => reader.read_u64().await?,
        short => short.into(),
    };
    let is_last = first & 0x80 != 0;
    if kind.is_control() && (!is_last || length > LONGEST_CONTROL as u64) {
        return Err(FrameError::Violation(
            "sends a control frame that is too long, or in parts",
        ));
    }
    if length > i64::MAX as u64 {
        return Err(FrameError::Violation(
            "sends a frame with an impossible length",
        ));
    }
    let mut mask = None;
    if sender == FrameSender::Client {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).await?;
        mask = Some(FrameMask(bytes));
    }
    Ok(FrameHead {
        kind,
        is_last,
        length,
        mask,
    })
}

/// A whole frame: with a mask, as a client sends it, or without, as a server does.
pub fn whole_frame(kind: FrameKind, payload: &[u8], mask: Option<FrameMask>) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | kind.opcode());
    let mask_bit = if mask.is_some() { 0x80 } else { 0 };
    match payload.len() {
        short @ ..126 => frame.push(mask_bit | short.to_le_bytes()[0]),
        middle @ 126..=0xFFFF => {
            frame.push(mask_bit | 0x7E);
            frame.extend_from_slice(&middle.to_be_bytes()[size_of::<usize>() - 2..]);
        }
        long => {
            frame.push(mask_bit | 127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    if let Some(FrameMask(bytes)) = mask {
        frame.extend_from_slice(&bytes);
    }
    let start = frame.len();
    frame.extend_from_slice(payload);
    if let Some(mask) = mask {
        mask.apply(&mut frame[start..]);
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn head(bytes: &[u8]) -> Result<(FrameKind, bool, u64), String> {
        let mut bytes = bytes;
        let head = read_head(&mut bytes, FrameSender::Server)
            .await
            .map_err(|error| error.to_string())?;
        Ok((head.kind, head.is_last, head.length))
    }

    #[tokio::test]
    async fn heads_of_each_length_are_read() {
        assert_eq!(head(&[0x81, 5]).await, Ok((FrameKind::Text, true, 5)));
        assert_eq!(
            head(&[0x01, 126, 1, 0]).await,
            Ok((FrameKind::Text, false, 256))
        );
        let long = [0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(head(&long).await, Ok((FrameKind::Binary, true, 1 << 32)));
    }

    #[tokio::test]
    async fn a_frame_that_a_server_must_not_send_is_refused() {
        for (bytes, word) in [
            (&[0xC1, 5][..], "compression"),
            (&[0x81, 0x85], "masks"),
            (&[0x83, 0], "unknown kind"),
            (&[0x09, 0], "control frame"),
            (&[0x89, 126, 0, 200], "control frame"),
            (&[0x81, 127, 255, 0, 0, 0, 0, 0, 0, 0], "impossible"),
        ] {
            let error = head(bytes).await.unwrap_err();
            assert!(error.contains(word), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn our_frames_are_masked_and_say_their_length() {
        let mask = Some(FrameMask([1, 2, 3, 4]));
        let short = whole_frame(FrameKind::Text, b"abcde", mask);
        assert_eq!(short[..6], [0x81, 0x85, 1, 2, 3, 4]);
        assert_eq!(
            short[6..],
            [b'a' ^ 1, b'b' ^ 2, b'c' ^ 3, b'd' ^ 4, b'e' ^ 1]
        );
        let middle = whole_frame(FrameKind::Text, &[0; 300], mask);
        assert_eq!(middle[..4], [0x81, 0xFE, 1, 44]);
        let long = whole_frame(FrameKind::Text, &vec![0; 70_000], mask);
        assert_eq!(long[1..10], [0xFF, 0, 0, 0, 0, 0, 1, 17, 112]);
    }

    #[tokio::test]
    async fn frames_of_clients_are_unmasked_and_frames_of_servers_have_no_mask() {
        let masked = whole_frame(FrameKind::Text, b"hello", Some(FrameMask([9, 8, 7, 6])));
        let mut bytes = masked.as_slice();
        let head = read_head(&mut bytes, FrameSender::Client).await.unwrap();
        let mut payload = bytes.to_vec();
        head.mask.unwrap().apply(&mut payload);
        assert_eq!(payload, b"hello");
        let plain = whole_frame(FrameKind::Text, b"hello", None);
        assert_eq!(plain, [b"\x81\x05", b"hello".as_slice()].concat());
        let refused = read_head(&mut plain.as_slice(), FrameSender::Client).await;
        assert!(refused.unwrap_err().to_string().contains("does not mask"));
    }

    #[test]
    fn the_proof_of_the_handshake_is_that_of_the_standard() {
        let proof = handshake_proof("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(proof, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
