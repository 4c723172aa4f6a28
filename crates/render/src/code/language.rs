//! The scanner's table of languages.

/// How a language is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LanguageKind {
    Code,
    /// Keys and values.
    Data,
    Markup,
    Diff,
}

/// A language, or several that look alike.
#[derive(Debug)]
pub(super) struct Language {
    /// Its names and the extensions of its files.
    pub(super) names: &'static [&'static str],
    pub(super) sort: LanguageKind,
    /// What begins a comment that ends with the line.
    pub(super) line: &'static [&'static str],
    /// The delimiters of a comment that may span lines.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// The quotes of a string that ends on its line.
    pub(super) quotes: &'static str,
    /// The delimiters of a string that may span lines.
    pub(super) long: &'static [(&'static str, &'static str)],
    /// `'` encloses one character.
    pub(super) has_characters: bool,
    /// What begins a variable or a decorator.
    pub(super) signs: &'static str,
    /// What may stand within a word beside letters, digits and `_`.
    pub(super) inner: &'static str,
    keywords: &'static str,
}

impl Language {
    pub(super) fn is_keyword(&self, word: &str) -> bool {
        let is_same = |keyword: &str| match self.sort {
            // SQL is the one that is written either way.
            LanguageKind::Code if self.names[0] == "sql" => keyword.eq_ignore_ascii_case(word),
            _ => keyword == word,
        };
        word.len() <= LONGEST_KEYWORD && self.keywords.split(' ').any(is_same)
    }
}

/// `__attribute__`
const LONGEST_KEYWORD: usize = 14;

const C_LIKE: Language = Language {
    names: &[],
    sort: LanguageKind::Code,
    line: &["//"],
    block: Some(("/*", "*/")),
    quotes: "\"'",
    long: &[],
    has_characters: false,
    signs: "@",
    inner: "",
    keywords: "",
};

const HASH: Language = Language {
    line: &["#"],
    block: None,
    ..C_LIKE
};

/// All languages. The first that has the name counts.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        long: &[("r#\"", "\"#"), ("\"", "\"")],
        quotes: "'",
        has_characters: true,
        signs: "",
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait type unsafe use where while bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        ..C_LIKE
    },
    Language {
        names: &["python", "py", "python3", "pyi"],
        long: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        keywords: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
        ..HASH
    },
    Language {
        names: &[
            "javascript",
            "js",
            "mjs",
            "cjs",
            "jsx",
            "typescript",
            "ts",
            "mts",
            "cts",
            "tsx",
            "node",
        ],
        long: &[("`", "`")],
        keywords: "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface is keyof let namespace never new number of private protected public readonly return set static string super switch this throw try type typeof unknown var void while with yield",
        ..C_LIKE
    },
    Language {
        names: &["go", "golang"],
        long: &[("`", "`")],
        signs: "",
        keywords: "any bool break byte case chan const continue default defer else error fallthrough float32 float64 for func go goto if import int int8 int16 int32 int64 interface map package range return rune select string struct switch type uint uint8 uint16 uint32 uint64 var",
        ..C_LIKE
    },
    Language {
        names: &[
            "java", "kotlin", "kt", "kts", "scala", "groovy", "gradle", "dart", "swift", "csharp",
            "cs", "php",
        ],
        long: &[("\"\"\"", "\"\"\"")],
        keywords: "abstract as async await boolean break byte case catch char class const continue default do double echo else enum extends extension extern final finally float for foreach fun func function guard if implements import in init inline instanceof int interface internal is late let long match namespace native new object override package private protected protocol public readonly record return sealed short static string struct super switch synchronized this throw throws trait try type typealias using val var virtual void volatile when where while with yield",
        ..C_LIKE
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "cxx", "hpp", "hh", "objc", "m", "zig", "proto", "glsl",
        ],
        has_characters: true,
        signs: "#@",
        keywords: "auto bool break case catch char class const constexpr continue default defer delete do double else enum explicit export extern float fn for friend goto if import inline int long message mutable namespace new noexcept operator override private protected pub public register repeated return service short signed sizeof static struct switch syntax template this throw try typedef typename union unsigned using var virtual void volatile while",
        ..C_LIKE
    },
    Language {
        names: &[
            "sh",
            "bash",
            "shell",
            "zsh",
            "fish",
            "ksh",
            "console",
            "dockerfile",
            "docker",
            "makefile",
            "make",
            "mk",
            "justfile",
            "bashrc",
            "zshrc",
            "env",
        ],
        signs: "$",
        inner: "-",
        keywords: "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM LABEL RUN USER VOLUME WORKDIR case do done elif else esac eval exec exit export fi for function if in local readonly return select set shift source then trap unset until while",
        ..HASH
    },
    Language {
        names: &[
            "ruby", "rb", "perl", "pl", "elixir", "ex", "exs", "r", "julia", "jl", "nix",
            "crystal", "cr",
        ],
        signs: "@$",
        keywords: "alias and begin break case class def defmodule defp do else elsif end ensure false fn for function if import in include inherit let local macro module my next not or our package rec redo require rescue return self sub super then true undef unless until use using when where while with yield",
        ..HASH
    },
    Language {
        names: &["lua", "haskell", "hs", "elm", "ada", "vhdl"],
        line: &["--"],
        block: None,
        keywords: "and as break case class data deriving do else elseif end for function goto if import in infix instance let local module newtype not of or repeat return then type until where while",
        ..C_LIKE
    },
    Language {
        names: &["sql", "psql", "mysql", "sqlite", "plsql"],
        line: &["--"],
        keywords: "ADD ALL ALTER AND AS ASC BEGIN BETWEEN BIGINT BOOLEAN BY CASE CHECK COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS DATABASE DATE DEFAULT DELETE DESC DISTINCT DO DROP ELSE END EXISTS FOREIGN FROM FULL FUNCTION GRANT GROUP HAVING IF IN INDEX INNER INSERT INT INTEGER INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER PRIMARY REFERENCES RETURNING RIGHT ROLLBACK SELECT SET TABLE TEXT THEN TIMESTAMP TO TRANSACTION TRIGGER UNION UNIQUE UPDATE USING VALUES VARCHAR VIEW WHEN WHERE WITH",
        ..C_LIKE
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest"],
        sort: LanguageKind::Data,
        signs: "",
        ..C_LIKE
    },
    Language {
        names: &[
            "yaml",
            "yml",
            "toml",
            "ini",
            "cfg",
            "conf",
            "properties",
            "cargo.lock",
            "gitconfig",
            "editorconfig",
            "tf",
            "hcl",
        ],
        sort: LanguageKind::Data,
        long: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        signs: "",
        inner: "-.",
        ..HASH
    },
    Language {
        names: &["css", "scss", "sass", "less"],
        sort: LanguageKind::Data,
        line: &[],
        inner: "-",
        ..C_LIKE
    },
    Language {
        names: &[
            "html", "htm", "xml", "svg", "vue", "svelte", "xhtml", "plist", "astro",
        ],
        sort: LanguageKind::Markup,
        line: &[],
        block: Some(("<!--", "-->")),
        ..C_LIKE
    },
    Language {
        names: &["diff", "patch"],
        sort: LanguageKind::Diff,
        ..C_LIKE
    },
];
