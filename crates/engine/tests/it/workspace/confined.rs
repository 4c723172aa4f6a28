//! Nothing leads out of the roots.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_engine::acp::RpcError;
use lapidary_engine::process::Supervisor;
use lapidary_engine::workspace::{ClientServices, ServicesSetup};
use lapidary_vocab::Json;
use proptest::prelude::*;
use serde_json::json;

use super::desk::{Desk, SECRET};

async fn assert_refused(desk: &Desk, name: &str) {
    let codes = [RpcError::DENIED, RpcError::BAD_PARAMS];
    let refused = desk.read(name).await.expect_err(name);
    assert!(codes.contains(&refused.code), "{name}: {refused}");
    let refused = desk.write(name, "x").await.expect_err(name);
    assert!(codes.contains(&refused.code), "{name}: {refused}");
}

/// I15.
#[tokio::test]
async fn a_path_outside_the_workspace_is_refused_alike_whether_or_not_it_exists() {
    let desk = Desk::new();
    desk.link("root/file", "../outside/secret");
    desk.link("root/folder", "../outside");
    desk.link("root/nothing", "../outside/nothing");
    desk.link("root/far", &desk.text("outside/secret"));
    desk.link("root/second", "file");
    let ways = [
        "outside/secret",
        "rooted/secret",
        "root/../outside/secret",
        "root/./.././outside//secret",
        "root/file",
        "root/second",
        "root/folder/secret",
        "root/folder/nothing",
        "root/nothing",
        "root/far",
        "root/missing/../../outside/secret",
        "../../../../../../../etc/passwd",
        "root/../../../../../../../../proc/self/environ",
        "root/../../../../../../../../dev/zero",
        "root/../root/../outside/secret",
        "",
        "root/..",
    ];
    for name in ways {
        assert_refused(&desk, name).await;
        let refused = desk.read(name).await.unwrap_err();
        assert_eq!(refused.code, -32000, "{name}: {refused}");
        let words = refused.message.to_str().into_owned();
        assert!(
            words.ends_with("is outside the workspace"),
            "{name}: {words}"
        );
    }
    desk.assert_outside_is_untouched();
}

#[tokio::test]
async fn a_path_inside_the_workspace_may_be_spelled_in_any_way() {
    let desk = Desk::new();
    fs::write(desk.path("root/file"), "found").unwrap();
    fs::create_dir(desk.path("root/folder")).unwrap();
    desk.link("outside-in", "root");
    desk.link("root/absolute", &desk.text("root/file"));
    desk.link("root/second-hand", "absolute");
    let ways = [
        "root/file",
        "root//./file",
        "root/folder/../file",
        "root/missing/../file",
        "outside/../root/file",
        "outside-in/file",
        "root/absolute",
        "root/second-hand",
    ];
    for name in ways {
        assert_eq!(desk.read(name).await.unwrap(), "found", "{name}");
    }
}

#[tokio::test]
async fn a_path_that_leads_to_two_places_is_refused() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("root/deep/down")).unwrap();
    fs::write(desk.path("root/file"), "by the name").unwrap();
    fs::write(desk.path("root/deep/file"), "by the link").unwrap();
    desk.link("root/link", "deep/down");
    assert_refused(&desk, "root/link/../file").await;
    // Inside by one reading only.
    desk.link("root/out", "../outside");
    assert_refused(&desk, "root/out/../root/file").await;
    assert_refused(&desk, "root/out/../secret").await;
}

/// I14.
#[tokio::test]
async fn paths_that_make_no_sense_are_refused() {
    let desk = Desk::new();
    let long = format!("/{}", "x/".repeat(5000));
    for path in [
        "file",
        "./file",
        "../file",
        "",
        "~/file",
        "file:///etc/passwd",
        "/etc/pass\0wd",
        &long,
    ] {
        for method in ["fs/read_text_file", "fs/write_text_file"] {
            let params = json!({"sessionId": "s", "path": path, "content": ""});
            let refused = desk.serve(method, params).await.expect_err(path);
            assert_eq!(refused.code, RpcError::BAD_PARAMS, "{path}");
            assert!(refused.message.size() < 300, "{path}");
        }
    }
}

#[tokio::test]
async fn a_root_may_be_a_link() {
    let desk = Desk::new();
    fs::write(desk.path("root/file"), "found").unwrap();
    desk.link("named", "root");
    let setup = ServicesSetup::new([desk.path("named")], Supervisor::at("/none"));
    let workspace = ClientServices::new(setup);
    assert_eq!(workspace.roots(), [desk.path("root")]);
    for name in ["named/file", "root/file"] {
        let params = Json::from_value(&json!({"path": desk.text(name)}));
        let answer = workspace.serve("fs/read_text_file", &params).await.unwrap();
        assert_eq!(answer.as_str(), r#"{"content":"found"}"#);
        let action = workspace
            .action("fs/read_text_file", &params)
            .unwrap()
            .unwrap();
        assert_eq!(action.paths, [desk.path("root/file")]);
    }
    // Where it led when the workspace was made is where it leads.
    fs::remove_file(desk.path("named")).unwrap();
    desk.link("named", "outside");
    let params = Json::from_value(&json!({"path": desk.text("named/secret")}));
    workspace
        .serve("fs/read_text_file", &params)
        .await
        .unwrap_err();
}

#[tokio::test]
async fn without_a_root_nothing_is_inside() {
    let desk = Desk::with(|setup| setup.roots = vec![PathBuf::from("relative"), PathBuf::new()]);
    for name in ["root/file", "outside/secret"] {
        assert_refused(&desk, name).await;
    }
}

/// Names that meet each other, and lead in and out.
fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "..",
        "..",
        ".",
        "",
        "root",
        "second",
        "outside",
        "rooted",
        "secret",
        "file",
        "folder",
        "in",
        "out",
        "up",
        "self",
        "base",
        "dangling",
        "missing",
        "\u{fffd}",
        "\u{1f600}",
        " ",
        "...",
        "a\nb",
        "%2e%2e",
        "..\\",
    ])
}

fn maze() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path("root/folder")).unwrap();
    fs::write(desk.path("root/file"), "inside").unwrap();
    fs::write(desk.path("root/folder/file"), "inside").unwrap();
    fs::write(desk.path("second/file"), "inside").unwrap();
    for folder in ["root", "root/folder", "second"] {
        desk.link(&format!("{folder}/in"), &desk.text("root/folder"));
        desk.link(&format!("{folder}/out"), &desk.text("outside"));
        desk.link(&format!("{folder}/up"), "..");
        desk.link(&format!("{folder}/self"), ".");
        desk.link(&format!("{folder}/base"), &desk.text(""));
        desk.link(&format!("{folder}/dangling"), "up/outside/new");
    }
    desk
}

/// Where the system says that a path leads.
fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_path_leads_out(names in prop::collection::vec(names(), 0..9), absolute in any::<bool>()) {
        let desk = maze();
        let tail = names.join("/");
        let path = if absolute { desk.text(&tail) } else { tail };
        let before = canonical(Path::new(&path));
        let inside = |path: &Path| path.starts_with(desk.path("root")) || path.starts_with(desk.path("second"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let params = json!({"path": path, "content": "written"});
        let read = runtime.block_on(desk.serve("fs/read_text_file", params.clone()));
        let action = desk.workspace.action("fs/read_text_file", &Json::from_value(&params));
        match read {
            // The file is inside the roots, and the answer has the content that the system finds there. A path that the system
            // cannot resolve (`before` is `None`) is missing, or goes into a missing folder and leaves it again with `..`.
            Ok(answer) => {
                let place = action.unwrap().unwrap().paths.remove(0);
                prop_assert!(inside(&place), "{path} is {place:?}");
                let there = fs::read_to_string(&place).unwrap_or_default();
                prop_assert_eq!(answer["content"].as_str().unwrap(), there);
                prop_assert!(before.is_none_or(|before| before == place), "{path} is not {place:?}");
            }
            Err(refused) => prop_assert!(!refused.message.to_str().contains(SECRET)),
        }
        let place = desk.workspace.action("fs/write_text_file", &Json::from_value(&params));
        if runtime.block_on(desk.serve("fs/write_text_file", params)).is_ok() {
            let place = place.unwrap().unwrap().paths.remove(0);
            prop_assert_eq!(fs::read_to_string(&place).unwrap(), "written");
            prop_assert!(inside(&place), "{path} is {place:?}");
            prop_assert_eq!(&place.canonicalize().unwrap(), &place);
            let there = canonical(Path::new(&path));
            prop_assert!(there.is_none_or(|there| there == place), "{path} is not {place:?}");
        }
        desk.assert_outside_is_untouched();
        let base = fs::read_dir(desk.path("")).unwrap().count();
        prop_assert_eq!(base, 4, "nothing new beside the roots");
    }
}
