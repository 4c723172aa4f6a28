//! Which paths of parameters are inside.

use std::path::Path;

use super::params::{RequestParams, bad_params, without_nul};
use crate::acp::RpcError;
use crate::policy::{PlaceError, RootedPlace, WorkspaceRoots};

/// The longest path of Linux. A longer one is refused without a look at the disk.
const LONGEST: usize = 4096;

/// Where the path leads that stands in the parameters.
pub(super) fn place_in(
    roots: &WorkspaceRoots,
    params: &RequestParams<'_>,
    key: &str,
) -> Result<RootedPlace, RpcError> {
    let asked = without_nul(key, params.required_text(key)?)?;
    if asked.len() > LONGEST {
        return Err(bad_params(format!("`{key}` is too long for a path")));
    }
    rooted_place(roots, Path::new(&asked))
}

/// Where a path leads.
pub(super) fn rooted_place(roots: &WorkspaceRoots, asked: &Path) -> Result<RootedPlace, RpcError> {
    roots.place(asked).map_err(|error| match error {
        PlaceError::Outside { .. } => RpcError::new(RpcError::DENIED, error.to_string()),
        other => bad_params(other.to_string()),
    })
}
