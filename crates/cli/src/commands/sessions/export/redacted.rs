//! A session without its secrets, of which only one copy is held at a time.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, Write as _};
use std::path::Path;

use lapidary::sessions::redact::{RedactionReport, Redactor};

use crate::failure::Failure;

/// Larger sessions go through a temporary file, so that memory does not hold the original and the redacted bytes at once.
const MOST_HELD_TWICE: usize = 16 << 20;

/// The session as it is to be written, and a report of the removed secrets.
pub(in crate::commands) fn redacted_session(
    bytes: Vec<u8>,
    redactor: Option<&Redactor>,
    temp_dir: &Path,
) -> Result<(Vec<u8>, Option<RedactionReport>), Failure> {
    redact_bytes(bytes, redactor, temp_dir, MOST_HELD_TWICE)
}

fn redact_bytes(
    bytes: Vec<u8>,
    redactor: Option<&Redactor>,
    temp_dir: &Path,
    most_held_twice: usize,
) -> Result<(Vec<u8>, Option<RedactionReport>), Failure> {
    let Some(redactor) = redactor else {
        return Ok((bytes, None));
    };
    if bytes.len() > most_held_twice
        && let Ok((file, report)) = redact_to_file(&bytes, redactor, temp_dir)
    {
        drop(bytes);
        return Ok((read_back(file)?, Some(report)));
    }
    let mut redacted = Vec::with_capacity(bytes.len());
    let report = redactor.file(&bytes, &mut redacted)?;
    Ok((redacted, Some(report)))
}

/// Redacts into a file without a name. Where there is no room for one, memory has to do.
fn redact_to_file(
    bytes: &[u8],
    redactor: &Redactor,
    temp_dir: &Path,
) -> io::Result<(File, RedactionReport)> {
    let mut out = BufWriter::with_capacity(128 * 1024, tempfile::tempfile_in(temp_dir)?);
    let report = redactor.file(bytes, &mut out)?;
    out.flush()?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok((file, report))
}

fn read_back(mut file: File) -> io::Result<Vec<u8>> {
    let size = usize::try_from(file.stream_position()?).unwrap_or_default();
    file.rewind()?;
    let mut bytes = Vec::with_capacity(size);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapidary::sessions::redact::SessionOwner;

    #[test]
    fn a_large_session_is_the_same_as_its_lines_and_held_once() {
        let line = br#"{"id":"1","type":"user","content":"use ghp_0123456789abcdefghijABCDEFGHIJ012345 in /home/ada/work, and so on and so forth"}
"#;
        let redactor = Redactor::new(&SessionOwner::default());
        let temporary = tempfile::TempDir::new().unwrap();
        let (small, _) =
            redacted_session(line.to_vec(), Some(&redactor), temporary.path()).unwrap();
        // Several buffers of the file. A debug build redacts sixteen megabytes in twenty seconds, so the limit is lower here.
        let most_held_twice = 256 * 1024;
        let times = most_held_twice / line.len() + 1;
        let redacted = redact_bytes(
            line.repeat(times),
            Some(&redactor),
            temporary.path(),
            most_held_twice,
        );
        let (large, report) = redacted.unwrap();
        assert!(large == small.repeat(times), "every line, and none cut");
        assert_eq!(report.unwrap().count(), 2 * times as u64);
    }
}
