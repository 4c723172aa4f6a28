//! The kind of a file and its text, decided as Gemini CLI decides: by extension first, then by its first bytes.

use std::path::Path;

/// The form in which a model gets a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Text,
    Vector,
    Binary,
    /// Sent as it is, by its MIME type and its name for people.
    Media(&'static str, &'static str),
    /// Sound in a format that the API does not take.
    UnknownAudio,
}

/// Bytes that are looked at, and those read beyond them to complete a character.
pub(super) const SNIFFED: usize = 512 + 3;

/// Extensions of files that are never shown as text.
const BINARY: [&str; 34] = [
    "7z", "a", "bin", "bmp", "bz2", "class", "dat", "dll", "doc", "docx", "dylib", "exe", "gz",
    "jar", "lib", "o", "obj", "odp", "ods", "odt", "pak", "ppt", "pptx", "pyc", "pyo", "rar",
    "rpa", "so", "tar", "war", "wasm", "xls", "xlsx", "zip",
];

/// Images, by extension.
const IMAGES: [(&str, &str); 54] = [
    ("apng", "image/apng"),
    ("avci", "image/avci"),
    ("avcs", "image/avcs"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("cgm", "image/cgm"),
    ("dib", "image/bmp"),
    ("dpx", "image/dpx"),
    ("drle", "image/dicom-rle"),
    ("emf", "image/emf"),
    ("exr", "image/aces"),
    ("fits", "image/fits"),
    ("g3", "image/g3fax"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heics", "image/heic-sequence"),
    ("heif", "image/heif"),
    ("heifs", "image/heif-sequence"),
    ("hej2", "image/hej2k"),
    ("ief", "image/ief"),
    ("jaii", "image/jaii"),
    ("jais", "image/jais"),
    ("jfif", "image/pjpeg"),
    ("jhc", "image/jphc"),
    ("jls", "image/jls"),
    ("jp2", "image/jp2"),
    ("jpe", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("jpf", "image/jpx"),
    ("jpg", "image/jpeg"),
    ("jpg2", "image/jp2"),
    ("jpgm", "image/jpm"),
    ("jph", "image/jph"),
    ("jpm", "image/jpm"),
    ("jpx", "image/jpx"),
    ("jxl", "image/jxl"),
    ("jxr", "image/jxr"),
    ("jxra", "image/jxra"),
    ("jxrs", "image/jxrs"),
    ("jxs", "image/jxs"),
    ("jxsc", "image/jxsc"),
    ("jxsi", "image/jxsi"),
    ("jxss", "image/jxss"),
    ("ktx", "image/ktx"),
    ("ktx2", "image/ktx2"),
    ("png", "image/png"),
    ("sgi", "image/sgi"),
    ("svgz", "image/svg+xml"),
    ("t38", "image/t38"),
    ("tfx", "image/tiff-fx"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
    ("wmf", "image/wmf"),
];

/// Sound, by extension; none for a format that the API does not take.
const AUDIO: [(&str, Option<&str>); 31] = [
    ("aac", Some("audio/aac")),
    ("adp", None),
    ("adts", Some("audio/aac")),
    ("aif", Some("audio/aiff")),
    ("aiff", Some("audio/aiff")),
    ("amr", None),
    ("au", None),
    ("flac", Some("audio/flac")),
    ("kar", None),
    ("m2a", Some("audio/mpeg")),
    ("m3a", Some("audio/mpeg")),
    ("m4a", None),
    ("m4b", None),
    ("mid", None),
    ("midi", None),
    ("mp2", Some("audio/mpeg")),
    ("mp2a", Some("audio/mpeg")),
    ("mp3", Some("audio/mpeg")),
    ("mp4a", None),
    ("mpga", Some("audio/mpeg")),
    ("mxmf", None),
    ("oga", Some("audio/ogg")),
    ("ogg", Some("audio/ogg")),
    ("opus", Some("audio/ogg")),
    ("rmi", None),
    ("s3m", None),
    ("sil", None),
    ("snd", None),
    ("spx", Some("audio/ogg")),
    ("wav", Some("audio/wav")),
    ("weba", None),
];

/// Films, by extension.
const VIDEO: [(&str, &str); 24] = [
    ("3g2", "video/3gpp2"),
    ("3gp", "video/3gpp"),
    ("3gpp", "video/3gpp"),
    ("h261", "video/h261"),
    ("h263", "video/h263"),
    ("h264", "video/h264"),
    ("jpgv", "video/jpeg"),
    ("m1v", "video/mpeg"),
    ("m2t", "video/mp2t"),
    ("m2ts", "video/mp2t"),
    ("m2v", "video/mpeg"),
    ("m4s", "video/iso.segment"),
    ("mj2", "video/mj2"),
    ("mjp2", "video/mj2"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("mp4v", "video/mp4"),
    ("mpe", "video/mpeg"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("mpg4", "video/mp4"),
    ("ogv", "video/ogg"),
    ("qt", "video/quicktime"),
    ("webm", "video/webm"),
];

/// The kind of a file, by its name and its first [`SNIFFED`] bytes.
pub(super) fn kind_of(path: &Path, start: &[u8]) -> FileKind {
    let extension = extension_of(path);
    let extension = extension.as_str();
    let in_table = |table: &'static [(&str, &str)]| {
        let found = table.iter().find(|(own, _)| *own == extension);
        found.map(|(_, mime)| *mime)
    };
    match extension {
        "ts" | "mts" | "cts" => return FileKind::Text,
        "svg" => return FileKind::Vector,
        "pdf" => return FileKind::Media("application/pdf", "pdf"),
        _ => {}
    }
    if let Some(mime) = in_table(&IMAGES) {
        return FileKind::Media(mime, "image");
    }
    let is_binary = is_binary(start);
    if let Some((_, mime)) = AUDIO.iter().find(|(own, _)| *own == extension) {
        return match mime {
            _ if !is_binary => FileKind::Text,
            Some(mime) => FileKind::Media(mime, "audio"),
            None => FileKind::UnknownAudio,
        };
    }
    if let Some(mime) = in_table(&VIDEO) {
        return if is_binary {
            FileKind::Media(mime, "video")
        } else {
            FileKind::Text
        };
    }
    if is_binary || BINARY.contains(&extension) {
        return FileKind::Binary;
    }
    FileKind::Text
}

/// The part behind the last dot of a name, in small letters. A dot at the start makes no extension.
fn extension_of(path: &Path) -> String {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    extension.unwrap_or_default()
}

/// Whether the first bytes of a file are those of a binary one: the rules of the `isbinaryfile` package.
pub(super) fn is_binary(start: &[u8]) -> bool {
    let start = &start[..start.len().min(SNIFFED)];
    let scanned = start.len().min(SNIFFED - 3);
    if start.is_empty() || has_mark(start) {
        return false;
    }
    if start.starts_with(b"%PDF-") {
        return true;
    }
    let is_suspicious = |count: usize| count * 100 > scanned * 10;
    let (mut at, mut suspicious) = (0, 0);
    while at < scanned {
        let byte = start[at];
        if byte == 0 {
            return true;
        }
        let is_plain = (7..=14).contains(&byte) || (32..=127).contains(&byte);
        if !is_plain {
            let (is_character, passed) = multibyte_character(start, at);
            at += passed;
            if !is_character {
                suspicious += 1;
                if at >= 32 && is_suspicious(suspicious) {
                    return true;
                }
            }
        }
        at += 1;
    }
    is_suspicious(suspicious) || (suspicious > 1 && is_protobuf(&start[..scanned]))
}

fn has_mark(start: &[u8]) -> bool {
    const MARKS: [&[u8]; 6] = [
        b"\xef\xbb\xbf",
        b"\x00\x00\xfe\xff",
        b"\xff\xfe\x00\x00",
        b"\x84\x31\x95\x33",
        b"\xfe\xff",
        b"\xff\xfe",
    ];
    MARKS.iter().any(|mark| start.starts_with(mark))
}

/// Whether a character of several bytes begins here, and how many bytes are passed over. The package passes one byte too, where
/// the second byte is wrong.
fn multibyte_character(start: &[u8], at: usize) -> (bool, usize) {
    let follows = |behind: usize| {
        start
            .get(at + behind)
            .is_some_and(|byte| (0x80..=0xbf).contains(byte))
    };
    let length = match start[at] {
        0xc0..=0xdf => 1,
        0xe0..=0xef => 2,
        0xf0..=0xf7 => 3,
        _ => return (false, 0),
    };
    if at + length >= start.len() {
        return (false, 0);
    }
    if (1..=length).all(follows) {
        (true, length)
    } else {
        (false, 1)
    }
}

/// Whether bytes read as messages of Protocol Buffers.
fn is_protobuf(bytes: &[u8]) -> bool {
    let mut reader = ProtoReader {
        bytes,
        at: 0,
        is_over: false,
    };
    let mut messages = 0;
    loop {
        let is_message = reader.skip_message_field();
        if !is_message && !reader.is_over {
            return false;
        }
        if reader.is_over {
            return messages > 0;
        }
        messages += 1;
    }
}

struct ProtoReader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_over: bool,
}

impl ProtoReader<'_> {
    fn read_byte(&mut self) -> u8 {
        if self.is_over || self.at == self.bytes.len() {
            self.is_over = true;
            return 0xff;
        }
        self.at += 1;
        self.bytes[self.at - 1]
    }

    /// A number, in the 32 bits that JavaScript's operators leave of it.
    fn read_number(&mut self) -> i32 {
        let (mut place, mut number) = (0_u32, 0_i32);
        while !self.is_over {
            let byte = self.read_byte();
            number |= i32::from(byte & 0x7f).wrapping_shl(7 * place);
            if byte & 0x80 == 0 {
                break;
            }
            if place >= 10 {
                self.is_over = true;
                break;
            }
            place += 1;
        }
        number
    }

    fn skip_bytes(&mut self, count: i32) {
        for _ in 0..count {
            if self.is_over {
                return;
            }
            self.read_byte();
        }
    }

    fn skip_message_field(&mut self) -> bool {
        match self.read_number() & 7 {
            0 => drop(self.read_number()),
            1 => self.skip_bytes(8),
            2 => {
                let length = self.read_number();
                self.skip_bytes(length);
            }
            5 => self.skip_bytes(4),
            _ => return false,
        }
        true
    }
}

/// The text of a file: by its byte order mark, else as UTF-8, in which bytes that are none read as U+FFFD.
pub(super) fn decode_text(bytes: &[u8]) -> String {
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe\x00\x00") {
        return decode_32(rest, u32::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\x00\x00\xfe\xff") {
        return decode_32(rest, u32::from_be_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return String::from_utf8_lossy(rest).into_owned();
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return decode_16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return decode_16(rest, u16::from_be_bytes);
    }
    String::from_utf8_lossy(bytes).into_owned()
}

fn decode_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    char::decode_utf16(units)
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

fn decode_32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> String {
    let (quads, _) = bytes.as_chunks::<4>();
    let letters = quads.iter().map(|quad| char::from_u32(unit(*quad)));
    letters
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// The lines of a text, which end with LF or CR LF. There is one more than there are ends.
pub(super) fn text_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.split('\n').collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line = line.strip_suffix('\r').unwrap_or(line);
    }
    lines
}

/// How long a text is in JavaScript.
pub(super) fn utf16_length(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(char::len_utf16).sum()
}

/// The start of a text, at most so many UTF-16 units of it. No character is cut in two.
pub(super) fn first_units(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut count = 0;
    for (place, letter) in text.char_indices() {
        count += letter.len_utf16();
        if count > most {
            return &text[..place];
        }
    }
    text
}
