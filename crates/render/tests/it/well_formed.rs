//! Checks of rendered pages and documents, stricter than any browser: an unknown construct is an error.

use lapidary_render::plain::sanitize;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

const ELEMENTS: [&str; 62] = [
    "html",
    "head",
    "body",
    "meta",
    "title",
    "style",
    "a",
    "header",
    "main",
    "footer",
    "nav",
    "section",
    "div",
    "p",
    "span",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "dl",
    "dt",
    "dd",
    "ol",
    "ul",
    "li",
    "details",
    "summary",
    "pre",
    "code",
    "figure",
    "figcaption",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "caption",
    "time",
    "small",
    "strong",
    "em",
    "del",
    "blockquote",
    "hr",
    "br",
    "input",
    "sup",
    "sub",
    "b",
    "i",
    "u",
    "s",
    "q",
    "kbd",
    "abbr",
    "cite",
    "mark",
    "var",
    "wbr",
];
const ATTRIBUTES: [&str; 20] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "id",
    "href",
    "rel",
    "tabindex",
    "dir",
    "open",
    "aria-hidden",
    "aria-label",
    "role",
    "datetime",
    "scope",
    "type",
    "disabled",
    "checked",
];

/// Panics unless every tag is one of ours, closed in order, and no character is unsafe.
pub(crate) fn html(page: &str) {
    clean(page);
    let mut rest = page.strip_prefix("<!doctype html>").expect("a doctype");
    let mut open = Vec::new();
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("every tag ends");
        rest = after;
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "closed out of order"),
            None => open.extend(element(tag)),
        }
        if open.last() == Some(&"style") {
            // The style sheet is ours and holds no text of anyone's.
            rest = &rest[rest.find("</style>").expect("the style ends")..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// The element that a tag opens, if it has an end.
fn element(tag: &str) -> Option<&str> {
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(ELEMENTS.contains(&name), "<{tag}>");
    let mut rest = attributes.trim_end_matches('/').trim_end();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let attribute = &rest[..end];
        assert!(ATTRIBUTES.contains(&attribute), "<{tag}>");
        rest = match rest[end..].strip_prefix("=\"") {
            Some(value) => {
                let (value, after) = value.split_once('"').expect("a quoted value ends");
                assert!(
                    attribute != "href" || is_safe(value) || value.starts_with('#'),
                    "<{tag}>"
                );
                after
            }
            None => &rest[end..],
        }
        .trim_start();
    }
    (!["meta", "hr", "br", "input", "wbr"].contains(&name)).then_some(name)
}

/// Panics unless the only HTML is our folding, in pairs, every link is safe and nothing is loaded.
pub(crate) fn markdown(document: &str) {
    clean(document);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let (mut folds, mut depth, mut rule_depth) = (0, 0, None);
    let mut html = String::new();
    for event in Parser::new_ext(document, options) {
        match event {
            Event::Html(line) => html.push_str(&line),
            Event::InlineHtml(tag) => panic!("inline HTML {tag}"),
            Event::Start(Tag::Image { .. }) => panic!("an image"),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => {
                assert!(
                    link_type == LinkType::Email || is_safe(&dest_url),
                    "{dest_url}"
                );
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Rule => rule_depth = Some((depth, folds)),
            _ => {}
        }
        for line in std::mem::take(&mut html).lines() {
            folds += fold(line);
            assert!(folds >= 0, "{document}");
        }
    }
    assert_eq!(folds, 0, "{document}");
    assert_eq!(
        rule_depth,
        Some((0, 0)),
        "the footer stands in something else:\n{document}"
    );
}

fn fold(line: &str) -> i32 {
    match line.trim_end() {
        "<details>" | "<details open>" => 1,
        "</details>" => -1,
        "" => 0,
        line => {
            let summary = line
                .strip_prefix("<summary>")
                .and_then(|line| line.strip_suffix("</summary>"));
            assert!(
                summary.is_some_and(|summary| !summary.contains(['<', '>'])),
                "HTML: {line}"
            );
            0
        }
    }
}

/// Panics if a terminal or a reader could be fooled.
pub(crate) fn clean(text: &str) {
    assert_eq!(sanitize(text), text);
    assert!(
        !text
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t')
    );
    assert!(!text.contains([
        '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
        '\u{2068}', '\u{2069}'
    ]));
}

fn is_safe(url: &str) -> bool {
    ["http://", "https://", "HTTP://", "mailto:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}
