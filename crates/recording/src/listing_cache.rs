//! A file beside the recordings with the contents of each `run.json`, so that a list of thousands reads one file.
//!
//! A row counts only while size and time of its `run.json` are the same. Only runs that have ended have rows: they do not change.
//! Losing the file costs time, nothing else: the list does without a file that cannot be read or written.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use lapidary_vocab::runs::RunState;
use tempfile::NamedTempFile;

use super::listed_run::ListedRun;

const FILE: &str = ".listing";

/// The first line. Rows of another version are not read.
const VERSION: &str = "lapidary.run-listing/1";

/// How many rows that had to be read anew are worth writing the file.
const WORTH_SAVING: usize = 100;

/// Size and time of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ManifestStamp {
    modified_ns: u128,
    size: u64,
}

impl ManifestStamp {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let since = modified.duration_since(SystemTime::UNIX_EPOCH);
        Self {
            modified_ns: since.unwrap_or_default().as_nanos(),
            size: metadata.len(),
        }
    }
}

/// The stamp of a manifest, when its run began (ms), and where its JSON stands in the text.
type CachedRow = (ManifestStamp, i64, Range<usize>);

/// The rows of the file, and the stamps of new rows.
#[derive(Debug, Default)]
pub(super) struct ListingCache {
    is_used: bool,
    text: String,
    /// By id.
    known: HashMap<String, CachedRow>,
    /// By id, of manifests that had to be read.
    fresh: HashMap<String, ManifestStamp>,
}

impl ListingCache {
    pub(super) fn new_empty() -> Self {
        Self::default()
    }

    pub(super) fn open(root: &Path) -> Self {
        let text = fs::read_to_string(root.join(FILE)).unwrap_or_default();
        let mut known = HashMap::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if start == 0 && line.trim_end() != VERSION {
                break;
            }
            known.extend(parse_row(line.trim_end(), start));
            start += line.len();
        }
        Self {
            is_used: true,
            text,
            known,
            fresh: HashMap::new(),
        }
    }

    /// The row of a run whose manifest has not changed.
    pub(super) fn get(&self, id: &str, stamp: ManifestStamp) -> Option<ListedRun> {
        let (_, began_ms, place) = self.known.get(id).filter(|(known, ..)| *known == stamp)?;
        Some(ListedRun {
            info: serde_json::from_str(&self.text[place.clone()]).ok()?,
            began_ms: *began_ms,
        })
    }

    /// Remembers that a manifest had to be read.
    pub(super) fn put_run(&mut self, run: &ListedRun, stamp: ManifestStamp) {
        if self.is_used && run.info.state == RunState::Ended {
            self.fresh.insert(run.info.id.clone(), stamp);
        }
    }

    /// Writes the file if that saves enough of the next listing's time.
    pub(super) fn save_listing(&self, root: &Path, runs: &[ListedRun]) {
        if self.fresh.len() < WORTH_SAVING {
            return;
        }
        let mut rows = format!("{VERSION}\n");
        for run in runs {
            let id = &run.info.id;
            let known = || self.known.get(id).map(|(stamp, ..)| *stamp);
            let stamp = self.fresh.get(id).copied().or_else(known);
            if let (Some(stamp), Ok(json)) = (stamp, serde_json::to_string(&run.info)) {
                append_row(&mut rows, id, stamp, run.began_ms, &json);
            }
        }
        let written = NamedTempFile::with_prefix_in(".listing-", root).and_then(|mut file| {
            file.write_all(rows.as_bytes())?;
            Ok(file.persist(root.join(FILE))?)
        });
        drop(written); // a directory that is read-only or full has no cache
    }
}

fn append_row(rows: &mut String, id: &str, stamp: ManifestStamp, began_ms: i64, json: &str) {
    let ManifestStamp { modified_ns, size } = stamp;
    // Writing to memory does not fail.
    let _ = writeln!(rows, "{id} {modified_ns} {size} {began_ms} {json}");
}

/// A row that begins at this place of the text.
fn parse_row(line: &str, start: usize) -> Option<(String, CachedRow)> {
    let mut words = line.splitn(5, ' ');
    let id = words.next()?.to_owned();
    let stamp = ManifestStamp {
        modified_ns: words.next()?.parse().ok()?,
        size: words.next()?.parse().ok()?,
    };
    let began_ms = words.next()?.parse().ok()?;
    let end = start + line.len();
    let json = words.next()?;
    Some((id, (stamp, began_ms, end - json.len()..end)))
}
