//! `read_file`: the lines of a text file, or an image, sound or document as it is.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lapidary_gemini::js;
use serde_json::{Map, Value, json};

use super::error_names::{FILE_NOT_FOUND, READ_FAILURE};
use super::file_text::{
    FileKind, SNIFFED, decode_text, first_units, kind_of, text_lines, utf16_length,
};
use super::{
    Arguments, ReadingCall, display_path, failed_output, invalid_parameters, node_error,
    reading_preview, tool_declaration,
};
use crate::tool::{CallKind, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput};
use crate::workspace::{IgnoreFiles, MOST_BYTES, Workspace, WorkspacePlace};

/// Lines that are read if no range is named.
const MOST_LINES: usize = 2000;
/// The longest line that is shown whole, in UTF-16 units.
const LONGEST_LINE: usize = 2000;
/// The largest drawing that is shown as text.
const MOST_VECTOR_BYTES: u64 = 1024 * 1024;

const AUDIO_FORMATS: &str = "MP3, WAV, AIFF, AAC, OGG, and FLAC";

/// Reads a file.
#[derive(Debug)]
pub struct ReadFileTool {
    workspace: Arc<Workspace>,
    declaration: ToolDeclaration,
}

impl ReadFileTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let properties = json!({
            "file_path": {
                "type": "string",
                "description": "The file to read: absolute, or relative to the project's directory.",
            },
            "start_line": {
                "type": "integer",
                "minimum": 1,
                "description": "The first line to read, counted from 1. Default: the first.",
            },
            "end_line": {
                "type": "integer",
                "minimum": 1,
                "description": "The last line to read.",
            },
        });
        let description = "Reads a file. Text is cut behind 2000 lines unless a range is named, and the answer says how to read on. Images (PNG, JPG, GIF, WEBP, BMP), PDF files and sound (MP3, WAV, AIFF, AAC, OGG, FLAC) are returned as they are; SVG is returned as text.";
        Self {
            workspace,
            declaration: tool_declaration("read_file", description, &properties, &["file_path"]),
        }
    }
}

impl Tool for ReadFileTool {
    workspace_tool!();

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let asked = arguments.text_argument("file_path");
        if js::trim(asked).is_empty() {
            return Err(invalid_parameters(
                "The 'file_path' parameter must be non-empty.",
            ));
        }
        let named = self.workspace.absolute(&self.workspace.without_mark(asked));
        let place = self
            .workspace
            .place_by_target(&named)
            .map_err(invalid_parameters)?;
        let range = LineRange {
            start: arguments.count_argument("start_line"),
            end: arguments.count_argument("end_line"),
        };
        if let (Some(start), Some(end)) = (range.start, range.end)
            && start > end
        {
            return Err(invalid_parameters(
                "start_line cannot be greater than end_line",
            ));
        }
        let is_ignored = |path: &Path| {
            self.workspace
                .rules()
                .is_ignored(path, false, IgnoreFiles::ALL)
        };
        if is_ignored(&named) || is_ignored(&place.path) {
            return Err(invalid_parameters(format!(
                "File path '{}' is ignored by configured ignore patterns.",
                place.path.display()
            )));
        }
        let name = display_path(&self.workspace, &place.path);
        let preview = reading_preview(
            CallKind::Read,
            format!("Read {name}"),
            vec![place.path.clone()],
        );
        let reader = FileReader { place, name, range };
        Ok(Box::new(ReadingCall {
            preview,
            work: move |_: &_| reader.read_output(),
        }))
    }
}

#[derive(Debug, Clone, Copy)]
struct LineRange {
    start: Option<usize>,
    end: Option<usize>,
}

struct FileReader {
    place: WorkspacePlace,
    /// The path for a person.
    name: String,
    range: LineRange,
}

impl FileReader {
    fn read_output(&self) -> ToolOutput {
        let path = self.place.path.display();
        let found = match self.place.stat() {
            Ok(found) => found,
            Err(error) if matches!(node_error::code_of(&error).0, "ENOENT" | "ENOTDIR") => {
                return failed_output(
                    FILE_NOT_FOUND,
                    format!("File not found: {path}"),
                    "File not found.",
                );
            }
            Err(error) => return self.failed_read(&error),
        };
        if found.is_directory() {
            let words = format!("Path is a directory, not a file: {path}");
            return failed_output("target_is_directory", words, "Path is a directory.");
        }
        if found.size > MOST_BYTES {
            return self.too_large(found.size);
        }
        match self.place.read_start(SNIFFED) {
            Ok(start) => self.read_as(kind_of(&self.place.path, &start), found.size),
            Err(error) => self.failed_read(&error),
        }
    }

    fn read_as(&self, kind: FileKind, size: u64) -> ToolOutput {
        let name = &self.name;
        match kind {
            FileKind::Binary => output_with_display(
                format!("Cannot display content of binary file: {name}"),
                format!("Skipped binary file: {name}"),
            ),
            FileKind::Vector if size > MOST_VECTOR_BYTES => output_with_display(
                format!("Cannot display content of SVG file larger than 1MB: {name}"),
                format!("Skipped large SVG file (>1MB): {name}"),
            ),
            FileKind::UnknownAudio => failed_output(
                READ_FAILURE,
                format!(
                    "Unsupported audio file format for {}. Supported audio formats are {AUDIO_FORMATS}.",
                    self.place.path.display()
                ),
                format!("Unsupported audio file format: {name}"),
            ),
            FileKind::Text | FileKind::Vector | FileKind::Media(..) => match self.place.read() {
                Ok(bytes) => self.content_output(kind, &bytes),
                Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                    self.too_large(MOST_BYTES + 1)
                }
                Err(error) => self.failed_read(&error),
            },
        }
    }

    fn content_output(&self, kind: FileKind, bytes: &[u8]) -> ToolOutput {
        let name = &self.name;
        match kind {
            FileKind::Media(mime, word) => ToolOutput {
                parts: vec![
                    json!({ "inlineData": { "data": BASE64.encode(bytes), "mimeType": mime } }),
                ],
                display: Some(format!("Read {word} file: {name}")),
                ..ToolOutput::default()
            },
            FileKind::Vector => {
                output_with_display(decode_text(bytes), format!("Read SVG as text: {name}"))
            }
            FileKind::Text | FileKind::Binary | FileKind::UnknownAudio => {
                self.text_output(&decode_text(bytes))
            }
        }
    }

    fn text_output(&self, text: &str) -> ToolOutput {
        let lines = text_lines(text);
        let total = lines.len();
        let (start, end) = self.range.line_bounds(total);
        let chosen = if start < end { &lines[start..end] } else { &[] };
        let is_long = |line: &str| utf16_length(line) > LONGEST_LINE;
        let has_long = chosen.iter().any(|line| is_long(line));
        let cut = chosen.iter().map(|line| {
            if is_long(line) {
                format!("{}... [truncated]", first_units(line, LONGEST_LINE))
            } else {
                (*line).to_owned()
            }
        });
        let body = cut.collect::<Vec<_>>().join("\n");
        let is_part = start > 0 || end < total;
        let text = if is_part || has_long {
            format!(
                "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines {}-{end} of {total} total lines.\nAction: To read more of the file, you can use the 'start_line' and 'end_line' parameters in a subsequent 'read_file' call. For example, to read the next section of the file, use start_line: {}.\n\n--- FILE CONTENT (truncated) ---\n{body}",
                start + 1,
                end + 1
            )
        } else {
            body
        };
        output_with_display(
            text,
            self.display_summary(
                LineRange {
                    start: Some(start),
                    end: Some(end),
                },
                total,
                has_long,
            ),
        )
    }

    fn display_summary(&self, shown: LineRange, total: usize, has_long: bool) -> String {
        let (start, end) = (shown.start.unwrap_or(0), shown.end.unwrap_or(total));
        let shortened = if has_long {
            " (some lines were shortened)"
        } else {
            ""
        };
        if start > 0 || end < total {
            format!(
                "Read lines {}-{end} of {total} from {}{shortened}",
                start + 1,
                self.name
            )
        } else if has_long {
            format!("Read all {total} lines from {}{shortened}", self.name)
        } else {
            String::new()
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    fn too_large(&self, size: u64) -> ToolOutput {
        let limit = MOST_BYTES / 1024 / 1024;
        let megabytes = size as f64 / 1024.0 / 1024.0;
        let path = self.place.path.display();
        failed_output(
            "file_too_large",
            format!("File size exceeds the {limit}MB limit: {path} ({megabytes:.2}MB)"),
            format!("File size exceeds the {limit}MB limit."),
        )
    }

    fn failed_read(&self, error: &std::io::Error) -> ToolOutput {
        let path = &self.place.path;
        let words = node_error::error_sentence(error, "open", path);
        failed_output(
            READ_FAILURE,
            format!("Error reading file {}: {words}", path.display()),
            format!("Error reading file {}: {words}", self.name),
        )
    }
}

impl LineRange {
    /// The lines from the first to the one behind the last, counted from 0. The first may be behind the last of the file.
    fn line_bounds(self, total: usize) -> (usize, usize) {
        if self.start.is_none() && self.end.is_none() {
            return (0, MOST_LINES.min(total));
        }
        let start = self.start.map_or(0, |start| start - 1);
        let end = self
            .end
            .unwrap_or(start.saturating_add(MOST_LINES))
            .min(total);
        (start.min(total), end)
    }
}

fn output_with_display(text: String, display: String) -> ToolOutput {
    ToolOutput {
        text,
        display: Some(display),
        ..ToolOutput::default()
    }
}
