//! Versions of agents: their text, their order, and the abilities that come with them.

use lapidary_engine::detect::AgentVersion;
use lapidary_engine::detect::parse_version_output;

fn version(text: &str) -> AgentVersion {
    AgentVersion::parse(text).unwrap()
}

#[test]
fn a_version_is_read_and_written_the_same() {
    for text in [
        "0.61.0",
        "0.56.0-nightly.20260821.5411f11",
        "0.26.0-preview.1",
    ] {
        assert_eq!(version(text).to_string(), text);
    }
    assert_eq!(version("v1.2.3+build.5"), AgentVersion::new(1, 2, 3));
}

#[test]
fn text_that_is_not_a_version_parses_to_none() {
    for text in [
        "",
        "0.61",
        "0.61.0.1",
        "a.b.c",
        "+1.2.3",
        "1.2.-3",
        "1.2.3-",
        "1.2.3-a..b",
        "1.2.3-ü",
        "99999999999999999999.0.0",
        " 1.2.3",
        "1.2.3 ",
    ] {
        assert_eq!(AgentVersion::parse(text), None, "{text:?}");
    }
}

#[test]
fn versions_are_ordered_as_npm_orders_them() {
    let ordered = [
        "0.9.9",
        "0.26.0-nightly.20260101.abc",
        "0.26.0-nightly.20260102.aaa",
        "0.26.0-preview.2",
        "0.26.0-preview.10",
        "0.26.0-preview.10.1",
        "0.26.0",
        "0.26.1",
        "1.0.0",
    ];
    let mut shuffled: Vec<_> = ordered.iter().rev().map(|text| version(text)).collect();
    shuffled.sort();
    let sorted: Vec<_> = shuffled.iter().map(AgentVersion::to_string).collect();
    assert_eq!(sorted, ordered);
}

#[test]
fn a_preview_has_what_comes_with_its_release() {
    assert!(version("0.26.0-preview.1").has((0, 26)));
    assert!(version("1.0.0").has((0, 26)));
    assert!(!version("0.25.9").has((0, 26)));
}

#[track_caller]
fn check_output(printed: &str, expected: Option<&str>) {
    let found = parse_version_output(printed.as_bytes());
    assert_eq!(
        found.map(|version| version.to_string()).as_deref(),
        expected,
        "{printed:?}"
    );
}

#[test]
fn the_version_is_found_in_what_the_program_prints_among_noise() {
    check_output("0.61.0\n", Some("0.61.0"));
    check_output("0.61.0", Some("0.61.0"));
    check_output("v0.61.0\r\n", Some("0.61.0"));
    check_output(
        "(node:1) Warning: node 20.1.0 is old\n0.61.0\n",
        Some("0.61.0"),
    );
    check_output(
        "20.11.1\nloading\n0.61.0-preview.1\nbye\n",
        Some("0.61.0-preview.1"),
    );
    check_output("Node 20.1.0\ngemini-cli (0.24.0)\n", Some("0.24.0"));
    check_output("", None);
    check_output("command not found\n", None);
    check_output("npm 10.2.0 is here\n", None);
    assert_eq!(
        parse_version_output(b"\xff\xfe\n0.61.0\n"),
        Some(AgentVersion::new(0, 61, 0))
    );
    let flood = vec![b'x'; 10_000_000];
    assert_eq!(parse_version_output(&flood), None);
}
