//! The names that a source text gives to types and functions.

use super::super::lexer::{self, SourcePiece};

/// A type that is declared: `struct`, `enum`, `union`, `trait`, or `type` outside of an `impl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredType {
    pub(crate) name: String,
    /// True for `pub` and for `pub(crate)`: other modules may refer to the type.
    pub(crate) is_public: bool,
}

/// A function that is declared, unless a trait prescribes its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredFunction {
    pub(crate) name: String,
    pub(crate) is_test: bool,
    returns_bool: bool,
    takes_mut_self: bool,
}

impl DeclaredFunction {
    /// Called like a predicate, and it changes its value or returns more than yes or no.
    pub(crate) fn is_false_predicate(&self) -> bool {
        let prefixes = ["is_", "has_", "can_"];
        let is_called_so = prefixes.iter().any(|prefix| self.name.starts_with(prefix));
        is_called_so && !self.is_test && (!self.returns_bool || self.takes_mut_self)
    }
}

/// The declarations of one source text.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) types: Vec<DeclaredType>,
    pub(crate) functions: Vec<DeclaredFunction>,
}

/// Reads the declarations of a source text. Tests inside `src` are left out unless `with_tests`.
pub(crate) fn read_declarations(text: &str, with_tests: bool) -> Declarations {
    let all = lexer::source_pieces(text);
    let pieces = if with_tests {
        all
    } else {
        lexer::without_tests(&all)
    };
    let codes: Vec<&str> = pieces.iter().filter_map(|it| it.code_text()).collect();
    let mut found = Declarations::default();
    let mut blocks: Vec<BlockKind> = Vec::new();
    let mut pending = BlockKind::Other;
    for (at, code) in codes.iter().enumerate() {
        match *code {
            "impl" if starts_item(&codes, at) => pending = impl_kind(&codes[at..]),
            "trait" => pending = BlockKind::Associated,
            "{" => blocks.push(std::mem::replace(&mut pending, BlockKind::Other)),
            "}" => {
                blocks.pop();
            }
            ";" => pending = BlockKind::Other,
            _ => {}
        }
        if is_type_keyword(&codes, at, blocks.last()) {
            found.types.push(DeclaredType {
                name: codes[at + 1].to_owned(),
                is_public: is_public(&codes, at),
            });
        }
        let is_prescribed = blocks.last() == Some(&BlockKind::TraitImpl);
        if *code == "fn" && !is_prescribed {
            found.functions.extend(declared_function(&codes, at));
        }
    }
    found
}

/// The block that a declaration stands in, as far as it matters for its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    /// `impl Trait for Type`: the trait prescribes the names.
    TraitImpl,
    /// `impl Type` or `trait Name`: `type` declares an associated type.
    Associated,
    Other,
}

/// True where `impl` starts an item, and is not part of a type such as `-> impl Iterator`.
fn starts_item(codes: &[&str], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| codes.get(before));
    before.is_none_or(|code| ["}", ";", "]", "{", "unsafe", "default"].contains(code))
}

fn impl_kind(codes: &[&str]) -> BlockKind {
    let head = codes.iter().take_while(|code| **code != "{");
    let mut has_for = false;
    for code in head {
        match *code {
            "where" => break,
            "for" => has_for = true,
            _ => {}
        }
    }
    if has_for {
        BlockKind::TraitImpl
    } else {
        BlockKind::Associated
    }
}

fn is_type_keyword(codes: &[&str], at: usize, block: Option<&BlockKind>) -> bool {
    let is_named = codes
        .get(at + 1)
        .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_uppercase()));
    let is_keyword = match codes[at] {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => block.is_none_or(|it| *it == BlockKind::Other),
        _ => false,
    };
    is_named && is_keyword
}

/// True if `pub` or `pub(…)` stands before the keyword at `at`.
fn is_public(codes: &[&str], at: usize) -> bool {
    let before = &codes[at.saturating_sub(6)..at];
    let start = before
        .iter()
        .rposition(|code| [";", "}", "{", "]"].contains(code));
    let own = &before[start.map_or(0, |it| it + 1)..];
    own.contains(&"pub")
}

fn declared_function(codes: &[&str], at: usize) -> Option<DeclaredFunction> {
    let name = codes.get(at + 1)?;
    if !name.starts_with(|first: char| first.is_lowercase() || first == '_') {
        return None; // the type of a function, `fn(u8) -> u8`
    }
    let head = codes[at..]
        .iter()
        .take_while(|it| !["{", ";"].contains(*it));
    let head: Vec<&str> = head.copied().collect();
    let returns_bool = head.windows(2).any(|pair| pair == ["->", "bool"]);
    let takes_mut_self = head.windows(3).any(|it| {
        it == ["&", "mut", "self"] || (it[0] == "&" && it[2] == "self" && it[1] == "mut")
    }) || head
        .windows(4)
        .any(|it| it[0] == "&" && it[2] == "mut" && it[3] == "self");
    Some(DeclaredFunction {
        name: (*name).to_owned(),
        is_test: is_test(codes, at),
        returns_bool,
        takes_mut_self,
    })
}

/// True if an attribute such as `#[test]` or `#[tokio::test]` stands right before the function.
fn is_test(codes: &[&str], at: usize) -> bool {
    let before = &codes[at.saturating_sub(24)..at];
    let start = before
        .iter()
        .rposition(|code| [";", "}", "{"].contains(code));
    let own = &before[start.map_or(0, |it| it + 1)..];
    own.windows(2)
        .any(|pair| pair[0] == "test" && ["]", "("].contains(&pair[1]))
}

/// `OpenCall` is two words, `Html` one.
pub(crate) fn is_one_word_type(name: &str) -> bool {
    let humps = name.chars().zip(name.chars().skip(1));
    let is_start =
        |(before, letter): &(char, char)| letter.is_uppercase() && !before.is_uppercase();
    humps.filter(is_start).count() == 0
}

/// `line_times` is two words, `parse` one.
pub(crate) fn is_one_word_function(name: &str) -> bool {
    !name.trim_matches('_').contains('_')
}

/// The comments of a source text, tests left out.
pub(crate) fn source_comments(text: &str) -> Vec<String> {
    let pieces = lexer::without_tests(&lexer::source_pieces(text));
    let comments = pieces.iter().filter_map(|piece| match piece {
        SourcePiece::Comment(comment) => Some((*comment).to_owned()),
        SourcePiece::Word(_) | SourcePiece::Mark(_) => None,
    });
    comments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        pub struct OpenCall { state: State }
        pub(crate) enum Kind { A }
        struct Kept;
        type Pair = (u8, u8);
        impl Iterator for Kept { type Item = u8; fn next(&mut self) -> Option<u8> { None } }
        impl Kept {
            fn is_kept(&self) -> bool { true }
            fn is_taken(&mut self) -> bool { true }
            fn has_ended(&self) -> Option<u8> { None }
            fn of() -> impl Iterator<Item = u8> { [].into_iter() }
        }
        #[tokio::test(start_paused = true)]
        async fn is_a_test() {}
    ";

    #[test]
    fn types_have_their_visibility_and_associated_types_are_left_out() {
        let found = read_declarations(TEXT, true).types;
        let found: Vec<(&str, bool)> = found.iter().map(|it| (&*it.name, it.is_public)).collect();
        let expected = [
            ("OpenCall", true),
            ("Kind", true),
            ("Kept", false),
            ("Pair", false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_predicate_returns_bool_and_changes_nothing() {
        let found = read_declarations(TEXT, true).functions;
        let names: Vec<&str> = found.iter().map(|it| &*it.name).collect();
        assert_eq!(
            names,
            ["is_kept", "is_taken", "has_ended", "of", "is_a_test"]
        );
        let wrong = found.iter().filter(|it| it.is_false_predicate());
        let wrong: Vec<&str> = wrong.map(|it| &*it.name).collect();
        assert_eq!(wrong, ["is_taken", "has_ended"]);
    }

    #[test]
    fn words_of_a_name_are_counted_by_capitals_and_underscores() {
        assert!(
            is_one_word_type("Html") && is_one_word_type("RPC") && !is_one_word_type("OpenCall")
        );
        assert!(is_one_word_function("parse") && !is_one_word_function("line_times"));
    }
}
