//! The frame of the page, and its one guard against everything else: the content security policy.

use std::io::{self, Write};

use super::closing::page_footer;
use super::escape::{escape_html, write_escaped};
use super::item::ItemWriter;
use super::masthead::{page_header, table_of_contents};
use crate::transcript::{Transcript, TranscriptItem};

const STYLE: &str = include_str!("style.css");

/// The page loads and runs nothing, even if an escape were forgotten.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes the page up to the conversation.
pub(super) fn begin_page(transcript: &Transcript, out: &mut dyn Write) -> io::Result<()> {
    let title = transcript
        .first_prompt_title()
        .map_or_else(|| "Session transcript".to_owned(), escape_html);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#transcript\">Skip to the transcript</a>\n"
    )?;
    out.write_all(page_header(transcript, &title).as_bytes())?;
    out.write_all(table_of_contents(transcript).as_bytes())?;
    out.write_all(b"<main id=\"transcript\">\n")
}

/// Writes an item. False if there is nothing to be seen of it.
pub(super) fn write_item(
    items: &mut ItemWriter,
    item: &TranscriptItem,
    out: &mut dyn Write,
) -> io::Result<bool> {
    match item {
        TranscriptItem::Prose(prose) if let Some(text) = prose.long_answer() => {
            out.write_all(b"<div class=\"answer prose\" dir=\"auto\">\n<pre>")?;
            write_escaped(&text, out)?;
            out.write_all(b"</pre>\n</div>\n")?;
            Ok(true)
        }
        _ => {
            let html = items.item_html(item);
            out.write_all(html.as_bytes())?;
            Ok(!html.is_empty())
        }
    }
}

/// Writes the rest of the page.
pub(super) fn end_page(
    transcript: &Transcript,
    is_empty: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if is_empty {
        out.write_all(b"<p class=\"note\">Nothing was said.</p>\n")?;
    }
    out.write_all(b"</main>\n")?;
    out.write_all(page_footer(transcript).as_bytes())?;
    out.write_all(b"</body>\n</html>\n")
}
