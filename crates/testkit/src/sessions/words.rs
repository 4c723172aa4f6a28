//! What people, models and tools say: prose, code, listings and logs, escaped for JSON.

use super::WordVariety;
use crate::mutate::SeededRng;

/// How many words there are besides the common ones.
const RARE: usize = 12_000;
/// The same where texts are varied: as many as a large dictionary has.
const RARE_IF_VARIED: usize = 200_000;

/// All the words: a few thousand that are rare, as names in code are, and a few dozen that are everywhere.
#[derive(Debug)]
pub(super) struct Vocabulary {
    words: Vec<String>,
    variety: WordVariety,
}

impl Vocabulary {
    /// The same words for every corpus.
    pub(super) fn new(variety: WordVariety) -> Self {
        let mut rng = SeededRng::new(0x1a91_da27);
        let count = match variety {
            WordVariety::Usual => RARE,
            WordVariety::Varied => RARE_IF_VARIED,
        };
        let words = (0..count).map(|_| random_word(&mut rng)).collect();
        Self { words, variety }
    }

    /// A rare word; those at the front are less rare, as in real texts.
    fn rare(&self, rng: &mut SeededRng) -> &str {
        let limit = 1 + rng.below(self.words.len());
        let limit = 1 + rng.below(limit);
        &self.words[rng.below(limit)]
    }
}

/// Three to four syllables.
fn random_word(rng: &mut SeededRng) -> String {
    let syllables = 3 + rng.below(2);
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(SYLLABLES[rng.below(SYLLABLES.len())]);
    }
    word
}

/// The writer of a text: the words, and the numbers that choose among them.
#[derive(Debug)]
pub(super) struct WordVoice<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) rng: SeededRng,
}

impl WordVoice<'_> {
    /// Prose of about `length` bytes.
    pub(super) fn prose(&mut self, out: &mut String, length: usize) {
        let end = out.len() + length;
        while out.len() < end {
            self.vary(out);
            if self.rng.below(5) == 0 {
                out.push_str(self.vocabulary.rare(&mut self.rng));
                out.push(' ');
            }
            self.pick(out, &PROSE, &FOREIGN_PROSE);
        }
    }

    /// Output of a tool, of about `length` bytes.
    pub(super) fn output(&mut self, out: &mut String, length: usize) {
        let end = out.len() + length;
        while out.len() < end {
            self.vary(out);
            let line = OUTPUT[self.rng.below(OUTPUT.len())];
            self.fill_in(out, line);
            if self.rng.below(60) == 0 {
                self.pick(out, &FOREIGN_OUTPUT, &[]);
            }
        }
    }

    /// Where texts are varied, more than half of them are rare words.
    fn vary(&mut self, out: &mut String) {
        if self.vocabulary.variety == WordVariety::Varied {
            for _ in 0..3 {
                out.push_str(self.vocabulary.rare(&mut self.rng));
                out.push(' ');
            }
        }
    }

    /// Puts a name where `@` stands, and a number for `#`.
    fn fill_in(&mut self, out: &mut String, line: &[&str]) {
        for piece in line {
            match *piece {
                "@" => out.push_str(self.vocabulary.rare(&mut self.rng)),
                "#" => self.number(out),
                piece => out.push_str(piece),
            }
        }
    }

    fn number(&mut self, out: &mut String) {
        let mut number = self.rng.below(4_000);
        loop {
            out.push(char::from(b'0' + u8::try_from(number % 10).unwrap_or(0)));
            number /= 10;
            if number == 0 {
                return;
            }
        }
    }

    /// One word in thirty is foreign.
    fn pick(&mut self, out: &mut String, usual: &[&str], foreign: &[&str]) {
        let from = if !foreign.is_empty() && self.rng.below(30) == 0 {
            foreign
        } else {
            usual
        };
        out.push_str(from[self.rng.below(from.len())]);
    }
}

const SYLLABLES: [&str; 40] = [
    "ba", "con", "der", "fi", "ge", "hol", "in", "jor", "ka", "lin", "ma", "net", "or", "par",
    "qui", "re", "sta", "ter", "un", "ver", "wal", "xi", "yel", "zo", "ser", "mo", "del", "ta",
    "ker", "scan", "pro", "ces", "tor", "al", "ni", "gra", "ph", "ex", "tra", "pol",
];

const PROSE: [&str; 36] = [
    "the parser ",
    "reads ",
    "a line ",
    "at a time, ",
    "and ",
    "so ",
    "we can ",
    "keep ",
    "`raw` ",
    "beside it. ",
    "First ",
    "I will ",
    "look at ",
    "\\n\\n",
    "**Note** ",
    "that ",
    "\\\"quotes\\\" ",
    "need ",
    "care. ",
    "tests ",
    "fail ",
    "because ",
    "of ",
    "this ",
    "function ",
    "returns ",
    "an error ",
    "when ",
    "file ",
    "is empty. ",
    "then ",
    "change ",
    "it ",
    "to ",
    "in ",
    "\\n- ",
];
const FOREIGN_PROSE: [&str; 6] = ["café ", "→ ", "naïve ", "日本語 ", "größer ", "😀 "];

/// Lines of code, listings, diffs and logs.
const OUTPUT: [&[&str]; 16] = [
    &[
        "fn ",
        "@",
        "(&mut self, ",
        "@",
        ": usize) -> Result<Token, Invalid> {\\n",
    ],
    &["    let ", "@", " = self.", "@", "(", "#", ")?;\\n"],
    &["        Some(b'\\\"') => self.", "@", "(),\\n"],
    &[
        "        None => Err(self.invalid(\\\"unexpected end of ",
        "@",
        "\\\")),\\n",
    ],
    &["    }\\n}\\n\\n"],
    &[
        "-rw-r--r-- 1 user users ",
        "#",
        " Nov 15 18:19 ",
        "@",
        ".rs\\n",
    ],
    &["test ", "@", "::", "@", "_is_no_limit ... ok\\n"],
    &[
        "warning: unused variable: `",
        "@",
        "`\\n  --> src/",
        "@",
        ".rs:",
        "#",
        ":9\\n",
    ],
    &["C:\\\\Users\\\\user\\\\project\\\\", "@", "\\n"],
    &["{\\\"type\\\":\\\"", "@", "\\\",\\\"n\\\":", "#", "}\\n"],
    &[
        "2026-11-15T18:19:26.575Z INFO ",
        "@",
        " started in ",
        "#",
        " ms\\n",
    ],
    &["+        self.", "@", "()?; // keeps what was read\\n"],
    &["-        self.", "@", " = true;\\n"],
    &[
        "\\u001b[32m   Compiling\\u001b[0m ",
        "@",
        " v0.",
        "#",
        "\\n",
    ],
    &["\\tname\\tsize\\tmodified\\n"],
    &[
        "src/",
        "@",
        "/",
        "@",
        ".rs:",
        "#",
        ":    pub fn ",
        "@",
        "(&self) -> bool {\\n",
    ],
];
const FOREIGN_OUTPUT: [&str; 3] = [
    "// naïve, but it works\\n",
    "  │ ✓ 12 passed\\n",
    "├── größe.txt\\n",
];
