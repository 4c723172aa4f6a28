//! The token that every request needs: 256 random bits, kept in a file of mode 0600 over restarts.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

/// Bytes of a token.
const TOKEN_BYTES: usize = 32;

/// The server's token, and the file that holds it.
pub(crate) struct AccessToken {
    text: String,
    digest: [u8; 32],
    pub(crate) file: PathBuf,
}

/// The token stays out of logs.
impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessToken")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// Whether the token of the last start is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// The old token is used, if there is one.
    Kept,
    /// A new token replaces it: clients with the old one are refused.
    New,
}

impl AccessToken {
    /// The token in this directory, which is private to the user. Makes one if there is none.
    pub(crate) fn open(directory: &Path, wanted: TokenUse) -> io::Result<Self> {
        let file = directory.join("token");
        let kept = match wanted {
            TokenUse::Kept => read_token(&file)?,
            TokenUse::New => None,
        };
        let text = match kept {
            Some(text) => text,
            None => write_new_token(directory, &file)?,
        };
        Ok(Self {
            digest: Sha256::digest(&text).into(),
            text,
            file,
        })
    }

    /// Whether a client has this token. Digests are compared, all bytes of them: the time taken tells nothing about the token.
    pub(crate) fn matches(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        let pairs = self.digest.iter().zip(given);
        pairs.fold(0, |differences, (one, other)| differences | (one ^ other)) == 0
    }

    /// Writes a page of mode 0600 that leads a browser to `url` with the token in its fragment, which no server or log sees.
    pub(crate) fn write_redirect(
        &self,
        directory: &Path,
        name: &str,
        url: &str,
    ) -> io::Result<PathBuf> {
        let page = directory.join(name);
        let text = format!(
            "<!doctype html><meta charset=utf-8><title>Lapidary</title>\
             <meta http-equiv=refresh content=\"0;url={url}/#token={}\">\n",
            self.text
        );
        write_private(directory, &page, text.as_bytes())?;
        Ok(page)
    }
}

/// A token that was cut short or edited is replaced.
fn read_token(file: &Path) -> io::Result<Option<String>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = text.trim();
    let is_token =
        text.len() == 2 * TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(is_token.then(|| text.to_owned()))
}

fn write_new_token(directory: &Path, file: &Path) -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    let mut text = String::with_capacity(2 * TOKEN_BYTES);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}"); // a string takes all
    }
    write_private(directory, file, format!("{text}\n").as_bytes())?;
    Ok(text)
}

/// Files of `tempfile` have mode 0600 from the beginning.
pub(crate) fn write_private(directory: &Path, file: &Path, content: &[u8]) -> io::Result<()> {
    let mut written = tempfile::NamedTempFile::new_in(directory)?;
    written.write_all(content)?;
    written.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn token_text(token: &AccessToken) -> String {
        fs::read_to_string(&token.file).unwrap().trim().to_owned()
    }

    #[test]
    fn a_token_is_kept_over_restarts_until_a_new_one_is_wanted() {
        let directory = tempfile::tempdir().unwrap();
        let first = AccessToken::open(directory.path(), TokenUse::Kept).unwrap();
        let text = token_text(&first);
        assert_eq!(text.len(), 64);
        let again = AccessToken::open(directory.path(), TokenUse::Kept).unwrap();
        assert!(again.matches(&text));
        let new = AccessToken::open(directory.path(), TokenUse::New).unwrap();
        assert!(!new.matches(&text));
        assert!(new.matches(&token_text(&new)));
    }

    #[test]
    fn only_the_user_reads_the_token_and_the_page_that_hands_it_on() {
        let directory = tempfile::tempdir().unwrap();
        let token = AccessToken::open(directory.path(), TokenUse::Kept).unwrap();
        let page = token
            .write_redirect(directory.path(), "open.html", "http://127.0.0.1:1")
            .unwrap();
        for file in [&token.file, &page] {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
    }

    #[test]
    fn a_damaged_token_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("token"), "short\n").unwrap();
        let token = AccessToken::open(directory.path(), TokenUse::Kept).unwrap();
        assert!(!token.matches("short"));
        assert_eq!(token_text(&token).len(), 64);
    }
}
