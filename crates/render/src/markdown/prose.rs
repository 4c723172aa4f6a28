//! The agent's words, still Markdown, but harmless: no HTML, no image, no link but to the web or mail, and
//! nothing left open that would swallow the text behind it.
//!
//! The text is patched where a parser finds a hazard, then parsed again and judged. Safety rests on the judgement, not on the
//! patches: a text that still does not pass is shown literally, in a fence.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::block::fenced_code;
use crate::link;
use crate::plain::sanitize;
use crate::transcript::MOST_PROSE;

/// Patching one thing can bring out another. Real texts need one round, hostile ones a few.
const ROUNDS: usize = 4;

/// The text as Markdown that can stand in our document.
pub(super) fn harmless_markdown(text: &str) -> String {
    if text.len() > MOST_PROSE {
        return fenced_code("", text);
    }
    let mut markdown = sanitize(text).trim_matches('\n').to_owned();
    for _ in 0..ROUNDS {
        let edits = harmful_places(&markdown);
        if edits.is_empty() {
            break;
        }
        markdown = apply_edits(&markdown, edits);
    }
    if let Some(mark) = open_fence(&markdown) {
        markdown.push('\n');
        markdown.push_str(&mark);
    }
    if is_harmless(&markdown) {
        markdown
    } else {
        fenced_code("", text)
    }
}

fn parser_options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

struct TextEdit {
    at: Range<usize>,
    with: &'static str,
}

/// The places to change, in order.
fn harmful_places(markdown: &str) -> Vec<TextEdit> {
    let mut edits = Vec::new();
    let mut untouched = Vec::new();
    let parser = Parser::new_ext(markdown, parser_options()).into_offset_iter();
    for (_, definition) in parser.reference_definitions().iter() {
        if !link::is_safe(&definition.dest) {
            edits.push(backslash_edit(definition.span.start));
        }
    }
    for (event, range) in parser {
        match event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => untouched.push(range),
            Event::Start(Tag::Image { .. }) => edits.push(backslash_edit(range.start)),
            Event::Start(Tag::Link {
                link_type: LinkType::Autolink | LinkType::Email,
                dest_url,
                ..
            }) if link::is_safe(&dest_url) || !dest_url.contains(':') => {
                untouched.push(range);
            }
            Event::Start(Tag::Link { dest_url, .. }) if !link::is_safe(&dest_url) => {
                edits.push(backslash_edit(range.start));
            }
            _ => {}
        }
    }
    edits.extend(angle_edits(markdown, &untouched));
    edits.sort_by_key(|edit| edit.at.start);
    edits
}

fn backslash_edit(at: usize) -> TextEdit {
    TextEdit {
        at: at..at,
        with: "\\",
    }
}

/// Every `<` that is not within code: what one parser takes for text, another may take for HTML.
fn angle_edits(markdown: &str, untouched: &[Range<usize>]) -> Vec<TextEdit> {
    let is_untouched = |at: usize| {
        let after = untouched.partition_point(|range| range.start <= at);
        // Code does not nest, so the last range that starts before is the only one that can hold it.
        after > 0 && untouched[after - 1].contains(&at)
    };
    let outside = markdown
        .match_indices('<')
        .map(|(at, _)| at)
        .filter(|at| !is_untouched(*at));
    outside
        .map(|at| {
            let backslashes = markdown[..at]
                .bytes()
                .rev()
                .take_while(|byte| *byte == b'\\')
                .count();
            // `\<` is escaped already; its backslash would now escape the ampersand.
            TextEdit {
                at: at - backslashes % 2..at + 1,
                with: "&lt;",
            }
        })
        .collect()
}

fn apply_edits(markdown: &str, edits: Vec<TextEdit>) -> String {
    let mut patched = String::with_capacity(markdown.len() + edits.len() * 4);
    let mut from = 0;
    for edit in edits {
        // Two edits at one place: the second round sees the rest.
        if edit.at.start < from {
            continue;
        }
        patched.push_str(&markdown[from..edit.at.start]);
        patched.push_str(edit.with);
        from = edit.at.end;
    }
    patched.push_str(&markdown[from..]);
    patched
}

/// The fence that the text has opened and not closed.
fn open_fence(markdown: &str) -> Option<String> {
    if ends_by_itself(markdown) {
        return None;
    }
    let fences = Parser::new_ext(markdown, parser_options())
        .into_offset_iter()
        .filter_map(|(event, range)| {
            matches!(
                event,
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
            )
            .then_some(range.start)
        });
    let opening = &markdown[fences.last()?..];
    let mark = opening.chars().next()?;
    Some(opening.chars().take_while(|c| *c == mark).collect())
}

/// True if a paragraph that follows would be one.
fn ends_by_itself(markdown: &str) -> bool {
    const NEXT: &str = "lapidary";
    let followed = format!("{markdown}\n\n{NEXT}");
    let events: Vec<_> = Parser::new_ext(&followed, parser_options()).collect();
    let Some((before, last)) = events.split_last_chunk::<3>() else {
        return false;
    };
    let open = before.iter().fold(0_i64, |open, event| match event {
        Event::Start(_) => open + 1,
        Event::End(_) => open - 1,
        _ => open,
    });
    let [
        Event::Start(Tag::Paragraph),
        Event::Text(text),
        Event::End(TagEnd::Paragraph),
    ] = last
    else {
        return false;
    };
    open == 0 && &**text == NEXT
}

fn is_harmless(markdown: &str) -> bool {
    let parser = Parser::new_ext(markdown, parser_options());
    let are_safe = parser
        .reference_definitions()
        .iter()
        .all(|(_, definition)| link::is_safe(&definition.dest));
    are_safe
        && ends_by_itself(markdown)
        && parser.into_iter().all(|event| is_harmless_event(&event))
}

fn is_harmless_event(event: &Event<'_>) -> bool {
    match event {
        Event::Html(_)
        | Event::InlineHtml(_)
        | Event::Start(Tag::HtmlBlock | Tag::Image { .. }) => false,
        Event::Start(Tag::Link {
            link_type: LinkType::Email,
            ..
        }) => true,
        Event::Start(Tag::Link { dest_url, .. }) => link::is_safe(dest_url),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_stays_as_it_was_written() {
        for text in [
            "# Title\n\nSome *emphasis*, `a < b`, and [a link](https://a.example).\n\n- [ ] one\n- [x] two",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "```html\n<b>bold</b>\n```",
            "<https://a.example>",
            "snake_case and 2 > 1",
        ] {
            assert_eq!(harmless_markdown(text), text);
        }
    }

    #[test]
    fn html_becomes_text() {
        assert_eq!(harmless_markdown("a <b>c</b>"), "a &lt;b>c&lt;/b>");
        assert_eq!(harmless_markdown("\\<b>"), "&lt;b>");
        assert_eq!(harmless_markdown("\\\\<b>"), "\\\\&lt;b>");
        assert_eq!(
            harmless_markdown("`code\n</details>\nnot code`"),
            "`code\n&lt;/details>\nnot code`"
        );
    }

    #[test]
    fn links_and_images_beyond_web_and_mail_become_text() {
        for text in [
            "[x](javascript:alert(1))",
            "[x][y]\n\n[y]: javascript:alert(1)",
            "[[a](javascript:x)](javascript:y)",
            "![a](https://a.example/pixel.png)",
            "![a](javascript:x)",
            "[![a](data:x)](javascript:y)",
            "<javascript:alert(1)>",
            "[x]: <javascript:alert(1)>\n[x]",
            "[x](java&#115;cript:alert(1))",
        ] {
            let markdown = harmless_markdown(text);
            assert!(is_harmless(&markdown), "{markdown}");
            assert!(
                !markdown.starts_with("```"),
                "patched, not fenced: {markdown}"
            );
        }
    }

    #[test]
    fn open_markdown_constructs_are_closed() {
        assert_eq!(harmless_markdown("```rs\nfn"), "```rs\nfn\n```");
        assert_eq!(harmless_markdown("~~~~\n```"), "~~~~\n```\n~~~~");
        assert_eq!(harmless_markdown("- a\n  ```\n  b"), "- a\n  ```\n  b");
    }
}
