//! Streams as Gemini CLI 0.61.0 writes them, made up but the same every time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The content of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamShape {
    /// Short assistant deltas, 219 bytes a line on average.
    Deltas,
    /// Three quarters deltas, the rest calls of tools and their results of 1 to 100 KB: 3 KB a line on average.
    Mixed,
    /// A single call whose result fills one very long line.
    OneLine,
}

/// Writes a stream of about `size` bytes.
pub(super) fn write_stream(path: &Path, shape: StreamShape, size: u64) -> io::Result<()> {
    let mut stream = CorpusStream {
        out: BufWriter::with_capacity(1 << 20, File::create(path)?),
        random: SplitMix(0x1a91_da27_0c0f_fee5),
        line: String::new(),
        written: 0,
        clock_ms: 0,
        calls: 0,
    };
    stream.write_init()?;
    match shape {
        StreamShape::OneLine => {
            let call = stream.write_call()?;
            stream.write_tool_result(&call, usize::try_from(size).unwrap_or(usize::MAX))?;
        }
        StreamShape::Deltas => {
            while stream.written < size {
                stream.write_delta()?;
            }
        }
        StreamShape::Mixed => {
            while stream.written < size {
                stream.delta_or_calls()?;
            }
        }
    }
    stream.write_end()?;
    stream.out.flush()
}

struct CorpusStream {
    out: BufWriter<File>,
    random: SplitMix,
    line: String,
    written: u64,
    clock_ms: u64,
    calls: u64,
}

const TOOLS: [&str; 6] = [
    "read_file",
    "run_shell_command",
    "write_file",
    "replace",
    "grep_search",
    "list_directory",
];

impl CorpusStream {
    fn write_init(&mut self) -> io::Result<()> {
        self.begin_line("init");
        self.put_text(
            r#","session_id":"2571a25a-c6c5-4920-a1ff-8824c9c44051","model":"gemini-2.5-flash"}"#,
        );
        self.send_line()?;
        self.begin_line("message");
        self.put_text(r#","role":"user","content":"Tidy up the parser."}"#);
        self.send_line()
    }

    fn write_delta(&mut self) -> io::Result<()> {
        self.begin_line("message");
        self.put_text(r#","role":"assistant","content":""#);
        let length = self.random.number_between(20, 200);
        self.put_prose(length);
        self.put_text(r#"","delta":true}"#);
        self.send_line()
    }

    /// Six deltas to one call and its result, in the long run. Sometimes two calls go out together.
    fn delta_or_calls(&mut self) -> io::Result<()> {
        if self.random.number_below(100) < 89 {
            return self.write_delta();
        }
        let together = 1 + u64::from(self.random.number_below(100) < 40);
        let calls = (0..together)
            .map(|_| self.write_call())
            .collect::<io::Result<Vec<_>>>()?;
        for call in calls {
            let length = self.random.spread_number(800);
            self.write_tool_result(&call, length)?;
        }
        Ok(())
    }

    /// Writes a call of some tool and returns the call's id.
    fn write_call(&mut self) -> io::Result<String> {
        let tool = TOOLS[self.random.number_below(TOOLS.len())];
        let id = format!(
            "{tool}__{tool}_{}_{}",
            1_794_767_310_417 + self.clock_ms,
            self.calls
        );
        self.calls += 1;
        self.begin_line("tool_use");
        self.put_text(&format!(
            r#","tool_name":"{tool}","tool_id":"{id}","parameters":{{"#
        ));
        let path = format!(
            "src/module_{}/part_{}.rs",
            self.random.number_below(40),
            self.random.number_below(9)
        );
        match tool {
            "run_shell_command" => {
                self.put_text(
                    r#""command":"cargo test --workspace -- --nocapture","description":""#,
                );
                self.put_prose(60);
            }
            "write_file" => {
                self.put_text(&format!(r#""file_path":"{path}","content":""#));
                let length = self.random.number_between(100, 1_500);
                self.put_code(length);
            }
            "replace" => {
                self.put_text(&format!(r#""file_path":"{path}","old_string":""#));
                self.put_code(180);
                self.put_text(r#"","new_string":""#);
                self.put_code(220);
            }
            "grep_search" => self.put_text(r#""pattern":"fn \\w+\\(&mut self"#),
            "list_directory" => self.put_text(r#""dir_path":"src"#),
            _ => self.put_text(&format!(r#""file_path":"{path}"#)),
        }
        self.put_text("\"}}");
        self.send_line()?;
        Ok(id)
    }

    fn write_tool_result(&mut self, call: &str, length: usize) -> io::Result<()> {
        self.begin_line("tool_result");
        let failed = self.random.number_below(50) == 0;
        let status = if failed { "error" } else { "success" };
        self.put_text(&format!(
            r#","tool_id":"{call}","status":"{status}","output":""#
        ));
        self.put_code(length);
        self.line.push('"');
        if failed {
            self.put_text(r#","error":{"type":"shell_execute_error","message":"exit code 1"}"#);
        }
        self.line.push('}');
        self.send_line()
    }

    fn write_end(&mut self) -> io::Result<()> {
        let (duration, calls) = (self.clock_ms, self.calls);
        self.begin_line("result");
        let tokens =
            r#""total_tokens":110,"input_tokens":100,"output_tokens":10,"cached":0,"input":100"#;
        self.put_text(&format!(
            r#","status":"success","stats":{{{tokens},"duration_ms":{duration},"tool_calls":{calls},"models":{{"gemini-2.5-flash":{{{tokens}}}}}}}}}"#
        ));
        self.send_line()
    }

    fn begin_line(&mut self, kind: &str) {
        self.clock_ms += self.random.next() % 32;
        let (ms, s) = (self.clock_ms % 1_000, self.clock_ms / 1_000);
        let (day, hour, minute, second) = (15 + s / 86_400, s / 3_600 % 24, s / 60 % 60, s % 60);
        self.line.clear();
        self.put_text(&format!(
            r#"{{"type":"{kind}","timestamp":"2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z""#
        ));
    }

    fn put_text(&mut self, text: &str) {
        self.line.push_str(text);
    }

    fn send_line(&mut self) -> io::Result<()> {
        self.line.push('\n');
        self.written += self.line.len() as u64;
        self.out.write_all(self.line.as_bytes())
    }

    /// Prose of about `length` bytes, escaped as `JSON.stringify` does it: letters that are not ASCII stand as they are.
    fn put_prose(&mut self, length: usize) {
        self.fill_text(length, &PROSE, &FOREIGN_PROSE);
    }

    fn put_code(&mut self, length: usize) {
        self.fill_text(length, &CODE, &FOREIGN_CODE);
    }

    /// One text in eight is not all ASCII. More would slow Node down, whose strings then take two bytes a character.
    fn fill_text(&mut self, length: usize, pieces: &[&str], foreign: &[&str]) {
        let end = self.line.len().saturating_add(length);
        let foreign = if self.random.number_below(8) == 0 {
            foreign
        } else {
            &[]
        };
        while self.line.len() < end {
            let index = self.random.number_below(pieces.len() + foreign.len());
            let piece = pieces
                .get(index)
                .unwrap_or_else(|| &foreign[index - pieces.len()]);
            self.line.push_str(piece);
        }
    }
}

/// Pieces of answers, already escaped.
const PROSE: [&str; 20] = [
    "the parser ",
    "reads ",
    "a line ",
    "at a time",
    ", and ",
    "so ",
    "we can ",
    "keep ",
    "`raw` ",
    "beside it",
    ". ",
    "First ",
    "I will ",
    "look at ",
    "\\n\\n",
    "**Note** ",
    "that ",
    "\\\"quotes\\\" ",
    "need ",
    "care",
];
const FOREIGN_PROSE: [&str; 4] = ["café ", "→ ", "naïve 日本語 ", "😀 "];

/// Pieces of tool output, already escaped.
const CODE: [&str; 19] = [
    "fn scan(&mut self) -> Result<Token, Invalid> {\\n",
    "    let start = self.at;\\n",
    "    match self.peek() {\\n",
    "        Some(b'\\\"') => self.string(),\\n",
    "        None => Err(self.invalid(\\\"unexpected end\\\")),\\n",
    "    }\\n}\\n\\n",
    "\\tname\\tsize\\tmodified\\n",
    "total 128\\n",
    "-rw-r--r-- 1 ada users 4096 Nov 15 18:19 lib.rs\\n",
    "test scan::json_of_any_depth_is_parsed ... ok\\n",
    "warning: unused variable: `kind`\\n",
    "  --> src/scan.rs:120:9\\n",
    "C:\\\\Users\\\\ada\\\\project\\n",
    "{\\\"type\\\":\\\"message\\\",\\\"n\\\":1.10}\\n",
    "2026-11-15T18:19:26.575Z INFO started in 12 ms\\n",
    "+        self.expect_end()?;\\n",
    "-        self.done = true;\\n",
    "@@ -10,7 +10,7 @@ impl Scanner {\\n",
    "\\u001b[1mdone\\u001b[0m\\n",
];
const FOREIGN_CODE: [&str; 2] = ["// naïve, but it works\\n", "  │ ✓ 12 passed\\n"];

/// The `SplitMix64` generator: small, fast, and the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn number_below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % limit
    }

    fn number_between(&mut self, low: usize, high: usize) -> usize {
        low + self.number_below(high - low)
    }

    /// From `low` to 128 times `low`, as many values in each doubling: most are small, some are large.
    fn spread_number(&mut self, low: usize) -> usize {
        let start = low << self.number_below(7);
        start + self.number_below(start)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_corpus_is_valid_the_same_each_time_and_as_long_lined_as_it_says() {
        for (shape, mean) in [
            (StreamShape::Deltas, 200..240),
            (StreamShape::Mixed, 2_500..3_500),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("corpus.jsonl");
            write_stream(&path, shape, 8_000_000).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            write_stream(&path, shape, 8_000_000).unwrap();
            assert!(text == fs::read_to_string(&path).unwrap());
            let lines = text.lines().count();
            let average = text.len() / lines;
            assert!(mean.contains(&average), "{shape:?}: {average}");
            let kind =
                |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].clone();
            let kinds: Vec<_> = text.lines().map(kind).collect();
            assert_eq!(
                (&kinds[0], &kinds[lines - 1]),
                (&"init".into(), &"result".into())
            );
            let share =
                |name: &str| kinds.iter().filter(|kind| *kind == name).count() * 100 / lines;
            let expected = if shape == StreamShape::Mixed {
                (70..80, 10..15)
            } else {
                (99..101, 0..1)
            };
            assert!(
                expected.0.contains(&share("message")),
                "{}",
                share("message")
            );
            assert!(
                expected.1.contains(&share("tool_use")),
                "{}",
                share("tool_use")
            );
            assert_eq!(share("tool_use"), share("tool_result"));
        }
    }
}
