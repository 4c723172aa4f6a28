//! Uploads the files of an attempt. Each counts once the store has read it back.

use std::fs::File;
use std::io::{self, Read as _};

use super::held::HeldTicket;
use super::patience;
use crate::workspace::CollectedFile;
use crate::{ArtifactPart, ArtifactSeal, FleetStore, LARGEST_PART, LeaseUse, StoreError};

/// The largest file that is uploaded. A larger one stays in the workspace, which is not removed then.
const LARGEST_ARTIFACT: u64 = 256 * 1024 * 1024;

/// Why a file is not in the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error("the store does not take it: {0}")]
    Store(#[from] StoreError),
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it has {0} bytes, and {LARGEST_ARTIFACT} are uploaded at most")]
    TooLarge(u64),
}

/// Uploads a file, and has it read back.
pub(crate) async fn upload_file(
    store: &dyn FleetStore,
    held: &HeldTicket,
    file: &CollectedFile,
) -> Result<(), ArtifactError> {
    if file.bytes > LARGEST_ARTIFACT {
        return Err(ArtifactError::TooLarge(file.bytes));
    }
    let mut input = File::open(&file.path)?;
    let mut parts = 0;
    loop {
        let mut body = Vec::new();
        let most = u64::try_from(LARGEST_PART).unwrap_or(u64::MAX);
        input.by_ref().take(most).read_to_end(&mut body)?;
        if body.is_empty() {
            break;
        }
        let part = ArtifactPart {
            claimed: held.claimed.clone(),
            name: file.name.to_owned(),
            part: parts,
            body,
            lease: LeaseUse::Held,
        };
        patience::while_held(held, || store.put_part(&part)).await?;
        parts += 1;
    }
    let seal = ArtifactSeal {
        claimed: held.claimed.clone(),
        name: file.name.to_owned(),
        media_type: file.media_type.to_owned(),
        parts,
        sha256: file.sha256,
        lease: LeaseUse::Held,
    };
    patience::while_held(held, || store.seal_artifact(&seal)).await?;
    Ok(())
}
