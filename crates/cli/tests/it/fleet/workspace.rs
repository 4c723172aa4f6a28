//! Workspaces of attempts on real repositories, hostile ones included.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lapidary::directories::surroundings;
use lapidary::engine::git::CloneLimits;
use lapidary::engine::process::Supervisor;
use lapidary_fleet::workspace::{
    AttemptWorkspace, GcLimits, GcVerdict, RepositoryRequest, WorkspaceError, WorkspaceRecord,
    WorkspaceRoot,
};
use tempfile::TempDir;

use crate::support::output;

/// A repository of someone else, and a worker's directory.
struct GitWorld {
    directory: TempDir,
}

impl GitWorld {
    /// A repository with one commit on `main`.
    fn new() -> Self {
        let world = Self {
            directory: TempDir::new().unwrap(),
        };
        fs::create_dir(world.upstream()).unwrap();
        world.git(
            &world.upstream(),
            &["init", "--quiet", "--initial-branch=main", "."],
        );
        world.write_upstream("kept.txt", "kept\n");
        world.write_upstream("gone.txt", "gone\n");
        world.commit(&world.upstream(), "first");
        world
    }

    fn upstream(&self) -> PathBuf {
        self.directory.path().join("upstream")
    }

    fn write_upstream(&self, name: &str, text: &str) {
        fs::write(self.upstream().join(name), text).unwrap();
    }

    /// Git without a user's configuration.
    fn git_command(&self, directory: &Path) -> Command {
        let mut git = Command::new("git");
        git.current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.directory.path())
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")]);
        git
    }

    fn git(&self, directory: &Path, args: &[&str]) -> String {
        let mut git = self.git_command(directory);
        git.args(args);
        let ran = output(git, b"");
        assert!(ran.status.success(), "{args:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self, directory: &Path, message: &str) {
        self.git(directory, &["add", "--all"]);
        self.git(directory, &["commit", "--quiet", "--message", message]);
    }

    fn root(&self) -> WorkspaceRoot {
        let vars = [("PATH", std::env::var_os("PATH").unwrap())];
        let vars = vars
            .into_iter()
            .chain([("HOME", self.directory.path().into())]);
        let environment = surroundings(vars.map(|(name, value)| (name.into(), value)), "/");
        let supervisor = Supervisor::at(env!("CARGO_BIN_EXE_lapidary"));
        WorkspaceRoot::new(
            self.directory.path().join("fleet"),
            &environment,
            &supervisor,
        )
    }

    async fn prepare(
        &self,
        run: &str,
        reference: Option<&str>,
        push: Option<&str>,
    ) -> Result<AttemptWorkspace, WorkspaceError> {
        let repo = self.upstream();
        let request = RepositoryRequest {
            repo: repo.to_str().unwrap(),
            reference,
            push,
        };
        self.root().prepare(run, request).await
    }

    async fn workspace(&self) -> AttemptWorkspace {
        self.prepare("run-1", None, None).await.unwrap()
    }

    /// The files that a patch gives in a fresh clone.
    fn patched(&self, patch: &Path) -> PathBuf {
        let clone = self.directory.path().join("clone");
        let upstream = self.upstream();
        let args = [
            "clone",
            "--quiet",
            upstream.to_str().unwrap(),
            clone.to_str().unwrap(),
        ];
        self.git(self.directory.path(), &args);
        self.git(&clone, &["apply", "--binary", patch.to_str().unwrap()]);
        clone
    }
}

#[expect(clippy::needless_pass_by_value, reason = "tests give it joined paths")]
fn read(path: PathBuf) -> Vec<u8> {
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[tokio::test]
async fn the_patch_has_committed_uncommitted_and_untracked_changes_and_the_bundle_the_commits() {
    let world = GitWorld::new();
    let workspace = world.workspace().await;
    let tree = workspace.tree();
    assert_eq!(
        workspace.base,
        world.git(&world.upstream(), &["rev-parse", "HEAD"])
    );
    fs::write(tree.join("committed.txt"), "c\n").unwrap();
    world.commit(&tree, "by the agent");
    fs::write(tree.join("kept.txt"), "changed\r\n").unwrap();
    fs::remove_file(tree.join("gone.txt")).unwrap();
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    fs::write(tree.join("a name with blanks\tand a tab"), &binary).unwrap();
    fs::write(tree.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(tree.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/etc/passwd", tree.join("link")).unwrap();

    let changes = workspace.collect().await.unwrap();
    assert_eq!(changes.left_out, Vec::<String>::new());
    assert_eq!(changes.commits, 1);
    let names: Vec<_> = changes
        .files
        .iter()
        .map(|it| (it.path.as_str(), it.status))
        .collect();
    assert_eq!(
        names,
        [
            ("a name with blanks\tand a tab", "added"),
            ("committed.txt", "added"),
            ("gone.txt", "deleted"),
            ("kept.txt", "modified"),
            ("link", "added"),
            ("run.sh", "added"),
        ]
    );
    let names: Vec<_> = changes.artifacts.iter().map(|it| it.name).collect();
    assert_eq!(names, ["changes.patch", "files.json", "commits.bundle"]);
    let clone = world.patched(&changes.artifacts[0].path);
    assert_eq!(read(clone.join("a name with blanks\tand a tab")), binary);
    assert_eq!(read(clone.join("kept.txt")), b"changed\r\n");
    assert_eq!(
        fs::read_link(clone.join("link")).unwrap(),
        Path::new("/etc/passwd")
    );
    assert!(!clone.join("gone.txt").exists());
    let bundle = changes.artifacts[2].path.to_str().unwrap();
    world.git(
        &clone,
        &[
            "fetch",
            "--quiet",
            bundle,
            "refs/agent/HEAD:refs/heads/agent",
        ],
    );
    assert_eq!(
        world.git(&clone, &["log", "-1", "--format=%s", "agent"]),
        "by the agent"
    );
}

#[tokio::test]
async fn a_workspace_without_changes_has_an_empty_patch_and_no_bundle() {
    let world = GitWorld::new();
    let changes = world.workspace().await.collect().await.unwrap();
    assert_eq!((changes.files.len(), changes.commits), (0, 0));
    let sizes: Vec<_> = changes
        .artifacts
        .iter()
        .map(|it| (it.name, it.bytes > 0))
        .collect();
    assert_eq!(sizes, [("changes.patch", false), ("files.json", true)]);
}

#[tokio::test]
async fn no_command_of_the_repository_or_of_the_agent_runs() {
    let world = GitWorld::new();
    let proof = world.directory.path().join("executed");
    let evil = format!("touch {}", proof.display());
    // The worker's own git has a filter; the repository tries to have it applied to its files.
    let own =
        format!("[filter \"own\"]\n\tsmudge = {evil}; cat\n\tclean = {evil}; cat\n\trequired\n");
    fs::write(world.directory.path().join(".gitconfig"), own).unwrap();
    world.write_upstream(".gitattributes", "* filter=own diff=own text eol=crlf\n");
    world.git(
        &world.upstream(),
        &["-c", "filter.own.clean=cat", "add", "--all"],
    );
    world.git(
        &world.upstream(),
        &["commit", "--quiet", "--message", "attributes"],
    );
    let _ = fs::remove_file(&proof);

    let workspace = world.workspace().await;
    let tree = workspace.tree();
    assert_eq!(
        read(tree.join("kept.txt")),
        b"kept\n",
        "no line end is converted either"
    );
    // The agent sets every trap it can in its own repository.
    for (key, value) in [
        ("core.fsmonitor", evil.as_str()),
        ("core.hooksPath", "hooks"),
        ("core.sshCommand", &evil),
        ("filter.own.clean", &format!("{evil}; cat")),
        ("diff.external", &evil),
        ("diff.own.textconv", &evil),
        ("uploadpack.packObjectsHook", &evil),
        ("core.pager", &evil),
    ] {
        world.git(&tree, &["config", key, value]);
    }
    let hooks = tree.join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
    ] {
        fs::write(hooks.join(hook), format!("#!/bin/sh\n{evil}\n")).unwrap();
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(tree.join("kept.txt"), "new\n").unwrap();
    let _ = fs::remove_file(&proof);
    let changes = workspace.collect().await.unwrap();
    assert!(!proof.exists(), "nothing of it was executed");
    assert!(changes.files.iter().any(|it| it.path == "kept.txt"));
}

#[tokio::test]
async fn no_filter_of_a_submodule_that_the_agent_filled_runs() {
    let world = GitWorld::new();
    // The name is no text: a list of names as text would miss it.
    let name = OsStr::from_bytes(b"sub\xff");
    let inner = world.upstream().join(name);
    fs::create_dir(&inner).unwrap();
    world.git(&inner, &["init", "--quiet", "."]);
    fs::write(inner.join("inner.txt"), "x").unwrap();
    world.commit(&inner, "inner");
    world.commit(&world.upstream(), "a submodule");
    let recorded = world.git(&inner, &["rev-parse", "HEAD"]);

    let workspace = world.workspace().await;
    let proof = world.directory.path().join("executed");
    let place = workspace.tree().join(name);
    // The agent fills the submodule with the commit that is recorded, so that git looks for changes in its files.
    fs::remove_dir(&place).unwrap();
    fs::rename(&inner, &place).unwrap();
    assert_eq!(world.git(&place, &["rev-parse", "HEAD"]), recorded);
    let evil = format!("touch {}; cat", proof.display());
    world.git(&place, &["config", "filter.evil.clean", &evil]);
    fs::write(place.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    fs::write(place.join("inner.txt"), "y").unwrap();
    let changes = workspace.collect().await.unwrap();
    assert!(!proof.exists(), "nothing of it was executed");
    let note = "`sub\u{fffd}` is a repository of its own";
    assert_eq!(changes.left_out, [note]);
    assert_eq!(changes.files, []);
}

#[tokio::test]
async fn a_repository_inside_the_workspace_is_named_as_left_out() {
    let world = GitWorld::new();
    let workspace = world.workspace().await;
    let nested = workspace.tree().join("nested");
    fs::create_dir(&nested).unwrap();
    world.git(&nested, &["init", "--quiet", "."]);
    fs::write(nested.join("inner.txt"), "x").unwrap();
    fs::write(workspace.tree().join("outer.txt"), "x").unwrap();
    let changes = workspace.collect().await.unwrap();
    assert_eq!(changes.left_out, ["`nested` is a repository of its own"]);
    assert_eq!(changes.files.len(), 1);
}

#[tokio::test]
async fn an_agent_that_destroys_its_repository_keeps_its_files() {
    let world = GitWorld::new();
    let workspace = world.workspace().await;
    fs::remove_dir_all(workspace.tree().join(".git")).unwrap();
    fs::write(workspace.tree().join("new.txt"), "x").unwrap();
    let changes = workspace.collect().await.unwrap();
    assert_eq!(changes.files[0].path, "new.txt");
    assert!(
        changes
            .left_out
            .iter()
            .all(|it| it.contains("commits could not be read"))
    );
    assert_eq!(changes.left_out.len(), 2);
}

#[tokio::test]
async fn references_are_branches_tags_and_commits_and_others_are_refused() {
    let world = GitWorld::new();
    let upstream = world.upstream();
    let first = world.git(&upstream, &["rev-parse", "HEAD"]);
    world.git(&upstream, &["tag", "v1"]);
    world.write_upstream("later.txt", "x");
    world.commit(&upstream, "second");
    let second = world.git(&upstream, &["rev-parse", "HEAD"]);
    for (at, (name, expected)) in [
        (None, &second),
        (Some("main"), &second),
        (Some("v1"), &first),
        (Some("refs/tags/v1"), &first),
        (Some(first.as_str()), &first),
    ]
    .into_iter()
    .enumerate()
    {
        let workspace = world
            .prepare(&format!("run-{at}"), name, None)
            .await
            .unwrap();
        assert_eq!(&workspace.base, expected, "{name:?}");
    }
    for name in ["nowhere", "--upload-pack=x", "main^{/x}"] {
        let error = world.prepare("run-x", Some(name), None).await.unwrap_err();
        assert!(error.is_final(), "{error}");
    }
    let missing = RepositoryRequest {
        repo: "/there/is/no/repository",
        reference: None,
        push: None,
    };
    let error = world.root().prepare("run-y", missing).await.unwrap_err();
    assert!(
        error.to_string().starts_with("`git fetch` failed"),
        "{error}"
    );
    assert!(!error.is_final(), "it may come back");
}

#[tokio::test]
async fn a_push_needs_the_branch_as_it_was_and_a_refused_one_keeps_the_patch() {
    let world = GitWorld::new();
    let upstream = world.upstream();
    let first = world.prepare("run-1", None, Some("agent/x")).await.unwrap();
    let second = world.prepare("run-2", None, Some("agent/x")).await.unwrap();
    for (workspace, text) in [(&first, "one"), (&second, "two")] {
        fs::write(workspace.tree().join("new.txt"), text).unwrap();
    }
    let changes = first.collect().await.unwrap();
    let pushed = first.push(&changes, "Ticket 1").await.unwrap();
    assert_eq!(pushed.error, None);
    assert_eq!(world.git(&upstream, &["show", "agent/x:new.txt"]), "one");
    let changes = second.collect().await.unwrap();
    let refused = second.push(&changes, "Ticket 2").await.unwrap();
    assert!(
        refused.error.is_some_and(|it| it.contains("git push")),
        "the branch is there now"
    );
    assert_eq!(world.git(&upstream, &["show", "agent/x:new.txt"]), "one");
    assert!(changes.artifacts[0].bytes > 0);
}

#[tokio::test]
async fn a_repository_beyond_the_limits_is_not_checked_out() {
    let world = GitWorld::new();
    world.write_upstream("zeros", &"0".repeat(50 * 1024 * 1024));
    world.commit(&world.upstream(), "large, and small when packed");
    let limits = CloneLimits {
        bytes: 1024 * 1024,
        entries: 1000,
    };
    let upstream = world.upstream();
    let request = RepositoryRequest {
        repo: upstream.to_str().unwrap(),
        reference: None,
        push: None,
    };
    let root = world.root().with_limits(limits);
    let error = root.prepare("run-1", request).await.unwrap_err();
    assert!(
        error.to_string().contains("wrote more than 1 MiB"),
        "{error}"
    );
    let tree = world.directory.path().join("fleet/workspaces/run-1/tree");
    assert!(!tree.exists(), "the tree is removed");
}

#[tokio::test]
async fn garbage_collection_removes_only_workspaces_whose_changes_are_safe() {
    let world = GitWorld::new();
    let root = world.root();
    let workspaces = world.directory.path().join("fleet/workspaces");
    for (run, is_safe) in [("run-safe", true), ("run-unsaved", false)] {
        world.prepare(run, None, None).await.unwrap();
        let mut record = WorkspaceRecord::new(run);
        record.ended_at = Some(record.made_at);
        record.outcome = Some("completed".to_owned());
        record.is_safe = is_safe;
        record.write(&workspaces.join(run)).unwrap();
    }
    world.prepare("run-busy", None, None).await.unwrap();
    WorkspaceRecord::new("run-busy")
        .write(&workspaces.join("run-busy"))
        .unwrap();
    let limits = GcLimits {
        completed: Duration::ZERO,
        failed: Duration::ZERO,
        mirrors: Duration::ZERO,
    };
    let verdicts = |dry_run| {
        let collected = root.collect_garbage(limits, dry_run).into_iter();
        collected.map(|it| it.verdict).collect::<Vec<_>>()
    };
    let expected = [
        GcVerdict::InUse,
        GcVerdict::Removed,
        GcVerdict::Unsaved,
        GcVerdict::InUse, // the mirror: workspaces borrow from it
    ];
    assert_eq!(verdicts(true), expected);
    assert!(
        workspaces.join("run-safe").exists(),
        "a dry run removes nothing"
    );
    assert_eq!(verdicts(false), expected);
    assert!(!workspaces.join("run-safe").exists());
    assert!(workspaces.join("run-unsaved").exists());
}

#[tokio::test]
async fn a_mirror_whose_git_was_killed_is_fetched_again() {
    let world = GitWorld::new();
    world.prepare("run-1", None, None).await.unwrap();
    let mut mirrors = fs::read_dir(world.directory.path().join("fleet/mirrors")).unwrap();
    let mirror = mirrors.find_map(|it| it.ok().map(|it| it.path()).filter(|it| it.is_dir()));
    let mirror = mirror.unwrap();
    for left in [
        "packed-refs.lock",
        "refs/heads/main.lock",
        "objects/pack/tmp_pack_x",
    ] {
        fs::create_dir_all(mirror.join(left).parent().unwrap()).unwrap();
        fs::write(mirror.join(left), "").unwrap();
    }
    world.write_upstream("new.txt", "new\n");
    world.commit(&world.upstream(), "another");
    let workspace = world.prepare("run-2", None, None).await.unwrap();
    assert!(workspace.tree().join("new.txt").exists());
    assert!(!mirror.join("objects/pack/tmp_pack_x").exists());
}

#[tokio::test]
async fn garbage_collection_keeps_a_mirror_that_an_attempt_fetches() {
    let world = GitWorld::new();
    world.prepare("run-1", None, None).await.unwrap();
    let fleet = world.directory.path().join("fleet");
    fs::remove_dir_all(fleet.join("workspaces")).unwrap();
    let limits = GcLimits {
        mirrors: Duration::ZERO,
        ..GcLimits::default()
    };
    let collect = || {
        let collected = world.root().collect_garbage(limits, false).into_iter();
        collected.map(|it| it.verdict).collect::<Vec<_>>()
    };
    let mut files = fs::read_dir(fleet.join("mirrors")).unwrap().flatten();
    let lock = files.find(|it| it.path().extension().is_some_and(|it| it == "lock"));
    let lock = fs::File::open(lock.unwrap().path()).unwrap();
    lock.lock().unwrap();
    assert_eq!(collect(), [GcVerdict::InUse]);
    lock.unlock().unwrap();
    assert_eq!(collect(), [GcVerdict::Removed]);
}

#[tokio::test]
async fn what_an_interrupted_garbage_collection_left_is_removed_by_the_next_one() {
    let world = GitWorld::new();
    let fleet = world.directory.path().join("fleet");
    let left = ["workspaces/run-1.removed", "mirrors/app.removed"].map(|name| fleet.join(name));
    for directory in &left {
        fs::create_dir_all(directory.join("half")).unwrap();
    }
    let collected = world.root().collect_garbage(GcLimits::default(), false);
    let verdicts: Vec<_> = collected.into_iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [GcVerdict::Removed; 2]);
    assert!(left.iter().all(|directory| !directory.exists()));
}
