//! Names that a ticket gives: repositories, branches, tags and commits. They come from others, and reach git only once checked.

use std::path::Path;

use lapidary::engine::git::{is_url, shown};

use super::WorkspaceError;

/// The longest name of a branch or tag.
const LONGEST_NAME: usize = 255;

/// The address of a repository: a URL without credentials, or a path as one.
pub(super) fn repository_url(repo: &str) -> Result<String, WorkspaceError> {
    let refused = |reason| WorkspaceError::BadRepository {
        shown: shown(repo),
        reason,
    };
    if repo.chars().any(char::is_control) {
        return Err(refused("it has control characters"));
    }
    if Path::new(repo).is_absolute() {
        // Git decodes the path of a URL.
        return Ok(format!("file://{}", repo.replace('%', "%25")));
    }
    if !is_url(repo) {
        return Err(refused(
            "it is neither a URL that git can fetch nor an absolute path",
        ));
    }
    if shown(repo) != repo {
        return Err(refused(
            "it has credentials: the worker's own git configuration has them",
        ));
    }
    Ok(repo.to_owned())
}

/// Checks the name of a branch or tag by git's rules.
pub(super) fn check_name(name: &str) -> Result<(), WorkspaceError> {
    const FORBIDDEN: [char; 8] = [' ', '~', '^', ':', '?', '*', '[', '\\'];
    let is_bad_part = |part: &str| {
        part.is_empty()
            || part.starts_with('.')
            || part.ends_with('.')
            || Path::new(part).extension().is_some_and(|it| it == "lock")
    };
    let is_bad = name.is_empty()
        || name.len() > LONGEST_NAME
        || name == "@"
        || name.starts_with('-')
        || name.contains("..")
        || name.contains("@{")
        || name.contains(|it: char| it.is_control() || FORBIDDEN.contains(&it))
        || name.split('/').any(is_bad_part);
    if is_bad {
        let name = name.chars().take(LONGEST_NAME).collect();
        return Err(WorkspaceError::BadReference { name });
    }
    Ok(())
}

/// The full names that a reference may stand for, in the order in which they are tried.
pub(super) fn candidates(name: &str) -> Result<Vec<String>, WorkspaceError> {
    check_name(name)?;
    let mut candidates = vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")];
    if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
        candidates.insert(0, name.to_owned());
    }
    let is_commit = matches!(name.len(), 40 | 64) && name.bytes().all(|it| it.is_ascii_hexdigit());
    if is_commit {
        candidates.insert(0, name.to_owned());
    }
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_would_read_as_something_else_are_refused() {
        for name in [
            "",
            "-f",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a:b",
            "HEAD^",
            "a~1",
            "@",
            "x@{1}",
            "a/.b",
            "a.lock",
            "a/b.lock/c",
            "a//b",
            "/a",
            "a/",
            "a\nb",
            "*",
            "a\\b",
            ".",
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["main", "feature/x-1", "v1.2.3", "refs/heads/main", "übung"] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_repository_is_an_address_without_credentials_or_an_absolute_path() {
        assert_eq!(repository_url("/srv/a.git").unwrap(), "file:///srv/a.git");
        assert_eq!(
            repository_url("/srv/%2e%2e/a").unwrap(),
            "file:///srv/%252e%252e/a"
        );
        assert_eq!(
            repository_url("https://example.org/a.git").unwrap(),
            "https://example.org/a.git"
        );
        for repo in [
            "a.git",
            "../a",
            "ext::sh -c id",
            "--upload-pack=id",
            "-x",
            "https://me:pw@h/x",
            "https://token@h/x",
            "git://h/x",
            "/a\nb",
            "",
        ] {
            let refused = repository_url(repo).unwrap_err().to_string();
            assert!(!refused.contains("pw@"), "{refused}");
        }
    }
}
