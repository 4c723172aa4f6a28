//! Writing: a write replaces the whole file or leaves it as it is.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use lapidary_engine::acp::RpcError;

use super::desk::Desk;

#[tokio::test]
async fn a_file_is_made_with_the_folders_that_it_needs() {
    let desk = Desk::new();
    desk.write("root/a/b/c.txt", "hello\r\n").await.unwrap();
    assert_eq!(desk.read("root/a/b/c.txt").await.unwrap(), "hello\r\n");
    desk.write("second/x", "").await.unwrap();
    assert_eq!(fs::read(desk.path("second/x")).unwrap(), b"");
    // The file has the mode of any new file.
    fs::write(desk.path("root/ordinary"), "").unwrap();
    let mode = |name: &str| fs::metadata(desk.path(name)).unwrap().mode();
    assert_eq!(mode("root/a/b/c.txt"), mode("root/ordinary"));
}

#[tokio::test]
async fn text_that_utf_8_cannot_hold_is_refused_and_not_changed() {
    let desk = Desk::new();
    for content in [r#""a\ud83d""#, r#""\ude00b""#, r#""\ud83d\ud83d\ude00""#] {
        let params = format!(
            r#"{{"sessionId":"s","path":"{}","content":{content}}}"#,
            desk.text("root/file")
        );
        let params = serde_json::from_str(&params).unwrap();
        let refused = desk.workspace.serve("fs/write_text_file", &params).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, RpcError::BAD_PARAMS);
        let message = refused.message.to_str();
        assert!(message.contains("lone surrogate"), "{message}");
        assert!(!desk.path("root/file").exists());
    }
    desk.write("root/file", "\u{1F600}").await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_replaced_keeps_its_mode() {
    let desk = Desk::new();
    let script = desk.path("root/script");
    for mode in [0o755, 0o600, 0o664] {
        fs::write(&script, "old").unwrap();
        fs::set_permissions(&script, Permissions::from_mode(mode)).unwrap();
        desk.write("root/script", "new").await.unwrap();
        assert_eq!(fs::metadata(&script).unwrap().mode() & 0o7777, mode);
        assert_eq!(fs::read_to_string(&script).unwrap(), "new");
    }
}

#[tokio::test]
async fn a_write_leaves_open_readers_and_hard_links_the_old_content() {
    let desk = Desk::new();
    fs::write(desk.path("root/file"), "old and long").unwrap();
    fs::hard_link(desk.path("root/file"), desk.path("outside/other name")).unwrap();
    let mut reader = fs::File::open(desk.path("root/file")).unwrap();
    desk.write("root/file", "new").await.unwrap();
    let mut seen = String::new();
    reader.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "old and long");
    // A hard link outside the roots keeps the old content too.
    let other = fs::read_to_string(desk.path("outside/other name")).unwrap();
    assert_eq!(other, "old and long");
}

#[tokio::test]
async fn a_link_stays_a_link() {
    let desk = Desk::new();
    desk.link("root/link", "folder/target");
    desk.link("root/second", "../second");
    desk.write("root/link", "through").await.unwrap();
    desk.write("root/second/file", "over there").await.unwrap();
    assert!(
        fs::symlink_metadata(desk.path("root/link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(
        fs::read_to_string(desk.path("root/folder/target")).unwrap(),
        "through"
    );
    assert_eq!(
        fs::read_to_string(desk.path("second/file")).unwrap(),
        "over there"
    );
}

#[tokio::test]
async fn a_failed_write_leaves_every_file_unchanged() {
    let desk = Desk::with(|setup| setup.limits.file_bytes = 10);
    fs::create_dir(desk.path("root/folder")).unwrap();
    fs::write(desk.path("root/file"), "old").unwrap();
    desk.write("root/folder", "x").await.unwrap_err();
    desk.write("root/file/below", "x").await.unwrap_err();
    let refused = desk.write("root/file", "12345678901").await.unwrap_err();
    assert_eq!(refused.code, RpcError::BAD_PARAMS);
    desk.write("root/file", "1234567890").await.unwrap();
    let mut names: Vec<_> = fs::read_dir(desk.path("root"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["file", "folder"], "nothing half done is left");
    assert!(
        fs::read_dir(desk.path("root/folder"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[tokio::test]
async fn a_root_that_is_gone_is_not_made_again() {
    let desk = Desk::new();
    fs::remove_dir(desk.path("root")).unwrap();
    desk.write("root/file", "x").await.unwrap_err();
    desk.write("root/a/file", "x").await.unwrap_err();
    assert!(!desk.path("root").exists());
}

#[tokio::test]
async fn many_at_once_leave_one_whole_file() {
    let desk = std::sync::Arc::new(Desk::new());
    let texts: Vec<String> = (0..20).map(|n| n.to_string().repeat(10_000)).collect();
    let mut writers = tokio::task::JoinSet::new();
    for text in texts.clone() {
        let desk = std::sync::Arc::clone(&desk);
        writers.spawn(async move { desk.write("root/deep/file", &text).await.unwrap() });
    }
    while let Some(written) = writers.join_next().await {
        written.unwrap();
        let found = desk.read("root/deep/file").await.unwrap();
        assert!(texts.contains(&found), "a mixture");
    }
    assert_eq!(fs::read_dir(desk.path("root/deep")).unwrap().count(), 1);
}
