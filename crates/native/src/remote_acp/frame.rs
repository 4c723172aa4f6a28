//! The frames of WebSocket (RFC 6455), as a client reads and writes them.
//!
//! Written here because a message is passed on while it comes in, of any size: libraries collect it first. No extension is offered, so
//! a compressed frame is an error.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest payload of a control frame.
pub(super) const LONGEST_CONTROL: usize = 125;

/// The meaning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
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

/// The head of a frame that the server sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) kind: FrameKind,
    /// Whether the message ends with this frame.
    pub(super) is_last: bool,
    /// The length of the payload.
    pub(super) length: u64,
}

/// Why there is no further frame.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("{0}")]
    Violation(&'static str),
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

/// Reads the head of the next frame.
pub(super) async fn read_head(
    reader: &mut (impl AsyncRead + Unpin),
) -> Result<FrameHead, FrameError> {
    let mut start = [0; 2];
    reader.read_exact(&mut start).await?;
    let [first, second] = start;
    if first & 0x70 != 0 {
        let problem = "sends frames with an extension, such as compression, that was not agreed";
        return Err(FrameError::Violation(problem));
    }
    if second & 0x80 != 0 {
        return Err(FrameError::Violation(
            "masks its frames, which only clients do",
        ));
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
    Ok(FrameHead {
        kind,
        is_last,
        length,
    })
}

/// A whole frame of ours: masked, as frames of clients have to be.
pub(super) fn client_frame(kind: FrameKind, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | kind.opcode());
    match payload.len() {
        short @ ..126 => frame.push(0x80 | short.to_le_bytes()[0]),
        middle @ 126..=0xFFFF => {
            frame.push(0xFE);
            frame.extend_from_slice(&middle.to_be_bytes()[size_of::<usize>() - 2..]);
        }
        long => {
            frame.push(0xFF);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&mask);
    let masked = payload.iter().zip(mask.iter().cycle());
    frame.extend(masked.map(|(byte, mask)| byte ^ mask));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn head(bytes: &[u8]) -> Result<(FrameKind, bool, u64), String> {
        let mut bytes = bytes;
        let head = read_head(&mut bytes)
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
        let mask = [1, 2, 3, 4];
        let short = client_frame(FrameKind::Text, b"abcde", mask);
        assert_eq!(short[..6], [0x81, 0x85, 1, 2, 3, 4]);
        assert_eq!(
            short[6..],
            [b'a' ^ 1, b'b' ^ 2, b'c' ^ 3, b'd' ^ 4, b'e' ^ 1]
        );
        let middle = client_frame(FrameKind::Text, &[0; 300], mask);
        assert_eq!(middle[..4], [0x81, 0xFE, 1, 44]);
        let long = client_frame(FrameKind::Text, &vec![0; 70_000], mask);
        assert_eq!(long[1..10], [0xFF, 0, 0, 0, 0, 0, 1, 17, 112]);
    }
}
