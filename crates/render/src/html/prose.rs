//! An agent's text, from Markdown to HTML.
//!
//! Raw HTML becomes text, images become their description and address, links lead to the web or mail or nowhere. Headings step
//! down, because the page has its own.

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use super::code;
use super::escape::{escape_clean, escape_html};
use crate::link;
use crate::plain::sanitize;
use crate::transcript::MOST_PROSE;

/// The Markdown text as HTML; one that is too long to be prose as it stands.
pub(super) fn prose_html(markdown: &str) -> String {
    if markdown.len() > MOST_PROSE {
        let mut html = String::from("<pre>");
        escape_clean(&sanitize(markdown), &mut html);
        html.push_str("</pre>\n");
        return html;
    }
    let clean = sanitize(markdown);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = SafeWriter::default();
    let events = Parser::new_ext(&clean, options).filter_map(|event| writer.filter_event(event));
    let mut html = String::with_capacity(clean.len() * 2);
    html::push_html(&mut html, events);
    html
}

/// Turns each event into one that is safe to write.
#[derive(Default)]
struct SafeWriter {
    /// The language and text of the code block that is open.
    code: Option<(String, String)>,
    /// The description and address of the image that is open.
    image: Option<(String, String)>,
    /// The open links: true if a link was written, else where it would have led.
    links: Vec<Result<(), String>>,
}

impl<'e> SafeWriter {
    fn filter_event(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::End(TagEnd::CodeBlock) => self.end_code(),
            Event::End(TagEnd::Image) => self.end_image(),
            Event::Text(text) if self.code.is_some() => self.collect_text(&text),
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text)
                if self.image.is_some() =>
            {
                self.collect_text(&text)
            }
            // An image's description is plain text: markup in it is dropped.
            _ if self.image.is_some() => None,
            Event::Start(Tag::CodeBlock(kind)) => self.start_code(&kind),
            Event::Start(Tag::Image { dest_url, .. }) => {
                self.image = Some((String::new(), dest_url.to_string()));
                None
            }
            Event::Start(Tag::Link { dest_url, .. }) => self.start_link(&dest_url),
            Event::End(TagEnd::Link) => self.end_link(),
            Event::Start(Tag::Heading { level, .. }) => {
                Some(raw_html(format!("<{}>", lowered_heading(level))))
            }
            Event::End(TagEnd::Heading(level)) => {
                Some(raw_html(format!("</{}>\n", lowered_heading(level))))
            }
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
            other => Some(other),
        }
    }

    fn collect_text(&mut self, text: &str) -> Option<Event<'e>> {
        if let Some((_, collected)) = &mut self.code {
            collected.push_str(text);
        } else if let Some((collected, _)) = &mut self.image {
            collected.push_str(text);
        }
        None
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) -> Option<Event<'e>> {
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        self.code = Some((language.to_owned(), String::new()));
        None
    }

    fn end_code(&mut self) -> Option<Event<'e>> {
        let (language, code) = self.code.take()?;
        let code = code::code_html(&code, &language);
        Some(raw_html(format!(
            "<pre class=\"code\" tabindex=\"0\"><code>{code}</code></pre>\n"
        )))
    }

    fn end_image(&mut self) -> Option<Event<'e>> {
        let (description, address) = self.image.take()?;
        let description = if description.is_empty() {
            "image".to_owned()
        } else {
            description
        };
        let (description, address) = (escape_html(&description), escape_html(&address));
        Some(raw_html(format!(
            "<span class=\"image\">{description} <small>(image not loaded: {address})</small></span>"
        )))
    }

    fn start_link(&mut self, address: &str) -> Option<Event<'e>> {
        // An address in angle brackets may be of mail without saying so.
        let is_mail = !address.contains([':', '/', '#', '?']) && address.contains('@');
        let address = if is_mail {
            format!("mailto:{address}")
        } else {
            address.to_owned()
        };
        if link::is_safe(&address) {
            self.links.push(Ok(()));
            return Some(raw_html(format!(
                "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">",
                escape_html(&address)
            )));
        }
        self.links.push(Err(address));
        None
    }

    fn end_link(&mut self) -> Option<Event<'e>> {
        match self.links.pop()? {
            Ok(()) => Some(raw_html("</a>".to_owned())),
            Err(address) => Some(raw_html(format!(
                " <small>({})</small>",
                escape_html(&address)
            ))),
        }
    }
}

fn raw_html<'e>(html: String) -> Event<'e> {
    Event::InlineHtml(CowStr::from(html))
}

/// A prompt is an `h2`, so an agent's headings begin with `h3`.
fn lowered_heading(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, expected: &str) {
        assert_eq!(prose_html(markdown).trim_end(), expected);
    }

    #[test]
    fn markdown_is_rendered() {
        check("# A *b*", "<h3>A <em>b</em></h3>");
        check("~~a~~ `b<`", "<p><del>a</del> <code>b&lt;</code></p>");
        check(
            "```rs\n<\n```",
            "<pre class=\"code\" tabindex=\"0\"><code>&lt;\n</code></pre>",
        );
        check(
            "[a](https://b.example \"t\")",
            "<p><a href=\"https://b.example\" rel=\"noopener noreferrer nofollow\">a</a></p>",
        );
    }

    #[test]
    fn html_links_and_images_are_defused() {
        check("a <b onclick=x>c", "<p>a &lt;b onclick=x&gt;c</p>");
        check(
            "<script>x</script>",
            "<p>&lt;script&gt;x&lt;/script&gt;</p>",
        );
        check(
            "[a](javascript:x)",
            "<p>a <small>(javascript:x)</small></p>",
        );
        check(
            "![a *b*](http://c.example/d.png)",
            "<p><span class=\"image\">a b <small>(image not loaded: http://c.example/d.png)</small></span></p>",
        );
    }
}
