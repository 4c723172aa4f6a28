//! What reading the settings has to say that concerns hooks.

use std::collections::HashSet;

use super::HookRegistry;
use super::names::nearest;
use crate::notice::FileNotice;
use crate::setup::Setup;

/// The sections of settings that hold hooks and what switches them off.
const SECTIONS: [&str; 2] = ["hooks", "hooksConfig"];

/// The notices of the settings about hooks, without entries that the registry has left out for the same reason.
pub fn notices<'a>(setup: &'a Setup, registry: &HookRegistry) -> Vec<&'a FileNotice> {
    let left_out = registry.left_out.iter();
    let left_out: HashSet<_> = left_out
        .map(|left| (&left.origin, left.place.join(".")))
        .collect();
    let is_new = |notice: &&FileNotice| {
        let key = notice.key.clone().unwrap_or_default();
        !left_out.contains(&(&notice.path, key))
    };
    let notices = setup.notices.iter();
    let notices = notices.filter(|notice| concerns_hooks(setup, notice));
    notices.filter(is_new).collect()
}

fn concerns_hooks(setup: &Setup, notice: &FileNotice) -> bool {
    let Some(key) = &notice.key else {
        return about_a_file(setup, notice);
    };
    let section = key.split('.').next().unwrap_or(key);
    nearest(section, SECTIONS.into_iter()).is_some() || key.starts_with("security.folderTrust")
}

/// A file that is not among the settings: left out, the list of trusted folders, or an extension that has hooks. Of those among
/// them the registry tells.
fn about_a_file(setup: &Setup, notice: &FileNotice) -> bool {
    let mut settings = setup.settings.files.iter();
    let is_settings = settings.any(|file| file.path == notice.path);
    let is_extension = notice.path.is_dir();
    !is_settings && (!is_extension || notice.path.join("hooks/hooks.json").exists())
}
