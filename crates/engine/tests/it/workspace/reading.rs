//! Reading: lines and parts, missing files, files that are no text, files that are too large, entries that are no files.

use std::fs;
use std::os::unix::net::UnixListener;

use lapidary_engine::acp::RpcError;
use lapidary_engine::workspace::MissingFile;
use lapidary_testkit::patience::HANG;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::desk::Desk;

#[tokio::test]
async fn lines_are_counted_from_one_and_keep_their_ends() {
    let desk = Desk::new();
    let text = "one\r\ntwo\n\nfour\u{2028}still four\nfive";
    fs::write(desk.path("root/file"), text).unwrap();
    let cases = [
        (json!(null), json!(null), text),
        (json!(1), json!(1), "one\r\n"),
        (json!(0), json!(1), "one\r\n"),
        (json!(2), json!(2), "two\n\n"),
        (json!(4), json!(1), "four\u{2028}still four\n"),
        (json!(5), json!(null), "five"),
        (json!(5), json!(9), "five"),
        (json!(null), json!(0), ""),
        (json!(6), json!(null), ""),
        (json!(u32::MAX), json!(u32::MAX), ""),
        (json!(u64::MAX), json!(u64::MAX), ""),
        (json!(1), json!(u64::MAX), text),
    ];
    for (line, limit, expected) in cases {
        let found = desk.lines("root/file", &line, &limit).await.unwrap();
        assert_eq!(found, expected, "line {line}, limit {limit}");
    }
}

#[tokio::test]
async fn numbers_that_are_no_line_are_refused() {
    let desk = Desk::new();
    fs::write(desk.path("root/file"), "text").unwrap();
    for wrong in [json!(-1), json!(1.5), json!("1"), json!([1]), json!({})] {
        for (line, limit) in [(&wrong, &Value::Null), (&Value::Null, &wrong)] {
            let refused = desk.lines("root/file", line, limit).await.unwrap_err();
            assert_eq!(refused.code, RpcError::BAD_PARAMS, "{wrong}");
        }
    }
    // A number that fits into no integer type is only large.
    let params = format!(
        r#"{{"path":{},"line":123456789012345678901234567890}}"#,
        json!(desk.text("root/file"))
    );
    let params = lapidary_vocab::Json::from(lapidary_json::SharedToken::parse(&params).unwrap());
    let answer = desk
        .workspace
        .serve("fs/read_text_file", &params)
        .await
        .unwrap();
    assert_eq!(answer.as_str(), r#"{"content":""}"#);
}

#[tokio::test]
async fn a_missing_file_reads_as_empty_unless_configured_as_refused() {
    let desk = Desk::new();
    desk.link("root/dangling", "nowhere");
    for name in ["root/missing", "root/no/such/folder", "root/dangling"] {
        assert_eq!(desk.read(name).await.unwrap(), "", "{name}");
    }
    let strict = Desk::with(|setup| setup.missing = MissingFile::Refused);
    let refused = strict.read("root/missing").await.unwrap_err();
    assert_eq!(refused.code, -32002);
    assert!(refused.message.to_str().contains("does not exist"));
    assert!(!strict.path("root/missing").exists());
}

#[tokio::test]
async fn a_file_that_is_not_utf8_is_refused_with_its_position() {
    let desk = Desk::new();
    fs::write(desk.path("root/picture"), b"abc\n\x89PNG").unwrap();
    let refused = desk.read("root/picture").await.unwrap_err();
    assert_eq!(refused.code, RpcError::INTERNAL);
    assert!(
        refused
            .message
            .to_str()
            .contains("not text in UTF-8: see byte 4"),
        "{refused}"
    );
    // The lines before it are.
    let first = desk.lines("root/picture", &json!(1), &json!(1)).await;
    assert_eq!(first.unwrap(), "abc\n");
}

#[tokio::test]
async fn no_more_is_read_than_the_limit() {
    let desk = Desk::with(|setup| setup.limits.file_bytes = 10);
    fs::write(desk.path("root/fits"), "12345\n7890").unwrap();
    fs::write(desk.path("root/large"), "12345\n78901").unwrap();
    assert_eq!(desk.read("root/fits").await.unwrap(), "12345\n7890");
    for (line, limit) in [(1, json!(null)), (2, json!(1)), (3, json!(1))] {
        let refused = desk.lines("root/large", &json!(line), &limit).await;
        let words = refused.unwrap_err().message.to_str().into_owned();
        assert!(words.contains("too large"), "{words}");
    }
    let start = desk.lines("root/large", &json!(1), &json!(1)).await;
    assert_eq!(start.unwrap(), "12345\n");
    // A sparse file, which takes no space on the disk, is too large as well.
    let file = fs::File::create(desk.path("root/sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert!(desk.read("root/sparse").await.is_err());
}

#[tokio::test]
async fn only_files_are_read_and_nothing_waits() {
    let desk = Desk::new();
    fs::create_dir(desk.path("root/folder")).unwrap();
    let pipe = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, desk.path("root/pipe"), FileType::Fifo, pipe, 0).unwrap();
    let _socket = UnixListener::bind(desk.path("root/socket")).unwrap();
    desk.link("root/device", "/dev/zero");
    fs::write(desk.path("root/file"), "").unwrap();
    for name in [
        "root",
        "root/folder",
        "root/folder/",
        "root/pipe",
        "root/socket",
        "root/device",
        "root/file/",
        "root/file/below",
    ] {
        let answer = timeout(HANG, desk.read(name)).await;
        answer.expect("it waits").expect_err(name);
        let answer = timeout(HANG, desk.write(name, "x")).await;
        answer.expect("it waits").expect_err(name);
    }
    assert_eq!(fs::read_to_string(desk.path("root/file")).unwrap(), "");
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_refused_in_words() {
    let desk = Desk::new();
    desk.link("root/loop", "loop");
    let refused = desk.read("root/loop").await.unwrap_err();
    assert!(
        refused.message.to_str().contains("too many links"),
        "{refused}"
    );
    let long = format!("root/{}", "x".repeat(300));
    let refused = desk.read(&long).await.unwrap_err();
    assert!(refused.message.to_str().contains("cannot"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_parts_of_a_file_are_the_file(text in "[a\n\r\u{e9}]{0,40}", step in 1_u64..5) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let together = runtime.block_on(async {
            let desk = Desk::new();
            fs::write(desk.path("root/file"), &text).unwrap();
            let mut together = String::new();
            for part in 0..=40 / step {
                let line = json!(1 + part * step);
                together += &desk.lines("root/file", &line, &json!(step)).await.unwrap();
            }
            together
        });
        prop_assert_eq!(together, text);
    }
}
