//! Secrets, and the words around them.

use super::{SecretContext, TemplateClass};
use crate::mutate::SeededRng;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const WORDS: [&str; 24] = [
    "alpha", "battery", "copper", "dragon", "ember", "falcon", "garnet", "horse", "island",
    "jasmine", "kettle", "lantern", "meadow", "nickel", "orchid", "pepper", "quartz", "river",
    "staple", "timber", "umbra", "velvet", "winter", "yonder",
];

/// Tokens with the beginning that their issuer gives them: beginning, characters, their number. In two halves each, so that no scanner
/// takes this file for a leak.
const ISSUED: [(&str, &str, &str, usize); 32] = [
    ("gh", "p_", ALPHANUMERIC, 36),
    ("gh", "s_", ALPHANUMERIC, 36),
    ("github", "_pat_", ALPHANUMERIC, 82),
    ("gl", "pat-", BASE64_URL, 20),
    ("AI", "za", BASE64_URL, 35),
    ("ya", "29.", BASE64_URL, 100),
    ("GOC", "SPX-", BASE64_URL, 28),
    ("sk-", "ant-api03-", BASE64_URL, 95),
    ("sk-", "proj-", ALPHANUMERIC, 48),
    ("sk-", "or-v1-", HEX, 64),
    ("AK", "IA", UPPER, 16),
    ("xo", "xb-123456789012-", ALPHANUMERIC, 24),
    ("np", "m_", ALPHANUMERIC, 36),
    ("py", "pi-AgEIcHlwaS5vcmc", BASE64_URL, 70),
    ("h", "f_", ALPHANUMERIC, 34),
    ("sk", "_live_", ALPHANUMERIC, 24),
    ("gs", "k_", ALPHANUMERIC, 52),
    ("dop", "_v1_", HEX, 64),
    ("da", "pi", HEX, 32),
    ("sh", "pat_", HEX, 32),
    ("lin", "_api_", ALPHANUMERIC, 40),
    ("nt", "n_", ALPHANUMERIC, 46),
    ("hv", "s.", BASE64_URL, 90),
    ("ATA", "TT3xFfGF0", BASE64_URL, 170),
    ("dp", ".pt.", ALPHANUMERIC, 43),
    ("NR", "AK-", UPPER, 27),
    ("PM", "AK-", HEX, 59),
    ("sb", "p_", HEX, 40),
    ("r8", "_", ALPHANUMERIC, 37),
    ("pp", "lx-", ALPHANUMERIC, 48),
    ("xa", "i-", ALPHANUMERIC, 80),
    ("gl", "sa_", ALPHANUMERIC, 41),
];

/// A secret of a class, with characters that its context allows.
pub(super) fn secret_value(
    rng: &mut SeededRng,
    class: TemplateClass,
    context: SecretContext,
) -> String {
    match class {
        TemplateClass::Issued => issued_key(rng),
        TemplateClass::Random => random_key(rng, context),
        TemplateClass::Password => chosen_password(rng, context),
    }
}

fn issued_key(rng: &mut SeededRng) -> String {
    if rng.below(12) == 0 {
        let (head, body) = (
            random_chars(rng, BASE64_URL, 20),
            random_chars(rng, BASE64_URL, 80),
        );
        return format!(
            "ey{}{head}.eyJ{body}.{}",
            "J",
            random_chars(rng, BASE64_URL, 43)
        );
    }
    let (first, second, alphabet, count) = ISSUED[rng.below(ISSUED.len())];
    format!("{first}{second}{}", random_chars(rng, alphabet, count))
}

fn random_key(rng: &mut SeededRng, context: SecretContext) -> String {
    match rng.below(7) {
        0 => random_chars(rng, HEX, 32),
        1 => random_chars(rng, HEX, 40),
        2 => random_chars(rng, HEX, 64),
        3 => random_uuid(rng),
        4 if context != SecretContext::Url => format!("{}=", random_chars(rng, BASE64, 43)),
        5 => random_chars(rng, BASE64_URL, 32),
        _ => {
            let count = 20 + rng.below(29);
            random_chars(rng, ALPHANUMERIC, count)
        }
    }
}

/// What people choose: one in eight is nothing but letters.
fn chosen_password(rng: &mut SeededRng, context: SecretContext) -> String {
    let symbol = random_chars(rng, "!-_.+", 1);
    let symbol = if context == SecretContext::Url {
        "-"
    } else {
        &symbol
    };
    match rng.below(8) {
        0 => format!("{}{}", random_word(rng), random_word(rng)),
        1 => format!("{}{}", random_word(rng), 10 + rng.below(9_000)),
        2 => format!(
            "{}{}{symbol}",
            capitalized_word(&random_word(rng)),
            10 + rng.below(90)
        ),
        3 => format!(
            "{}-{}-{}",
            random_word(rng),
            random_word(rng),
            1 + rng.below(99)
        ),
        4 => {
            random_word(rng).replace('e', "3").replace('a', "4") + &random_chars(rng, HEX, 3) + "0"
        }
        5 => format!(
            "{}{symbol}{}",
            random_chars(rng, ALPHANUMERIC, 6),
            random_chars(rng, ALPHANUMERIC, 6)
        ),
        6 => format!(
            "{}{symbol}{}",
            capitalized_word(&random_word(rng)),
            2000 + rng.below(27)
        ),
        _ => random_chars(rng, ALPHANUMERIC, 16),
    }
}

/// Fills the remaining placeholders of a template: `<<word>>`, `<<sha>>` and so on.
pub(super) fn fill_template(rng: &mut SeededRng, template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("<<") {
        let (name, after) = after.split_once(">>").expect("a placeholder ends");
        text += before;
        text += &placeholder_value(rng, name);
        rest = after;
    }
    text + rest
}

fn placeholder_value(rng: &mut SeededRng, name: &str) -> String {
    match name {
        "word" => random_word(rng),
        "Word" => capitalized_word(&random_word(rng)),
        "host" => format!("{}.{}.example", random_word(rng), random_word(rng)),
        "number" => (1_000 + rng.below(9_000_000)).to_string(),
        "uuid" => random_uuid(rng),
        "short" => random_chars(rng, HEX, 7),
        "sha" => random_chars(rng, HEX, 40),
        "md5" => random_chars(rng, HEX, 32),
        "sha256" => random_chars(rng, HEX, 64),
        "sri" => format!("sha512-{}==", random_chars(rng, BASE64, 86)),
        "image" => format!("iVBORw0KGgoAAAANSUhEUgAA{}", random_chars(rng, BASE64, 400)),
        "id" => random_chars(rng, ALPHANUMERIC, 20),
        "slug" => format!(
            "{}-{}-{}",
            random_word(rng),
            random_chars(rng, HEX, 10),
            random_chars(rng, LOWER, 5)
        ),
        "path" => format!(
            "src/{}/{}_{}.rs",
            random_word(rng),
            random_word(rng),
            rng.below(99)
        ),
        "version" => format!("{}.{}.{}", rng.below(20), rng.below(20), rng.below(20)),
        "ident" => format!("{}_{}{}", random_word(rng), random_word(rng), rng.below(9)),
        "Ident" => format!(
            "{}{}{}",
            random_word(rng),
            capitalized_word(&random_word(rng)),
            capitalized_word(&random_word(rng))
        ),
        other => panic!("no placeholder is called `{other}`"),
    }
}

fn random_uuid(rng: &mut SeededRng) -> String {
    let groups = [8, 4, 4, 4, 12].map(|count| random_chars(rng, HEX, count));
    groups.join("-")
}

fn random_word(rng: &mut SeededRng) -> String {
    WORDS[rng.below(WORDS.len())].to_owned()
}

fn capitalized_word(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

fn random_chars(rng: &mut SeededRng, alphabet: &str, count: usize) -> String {
    let alphabet = alphabet.as_bytes();
    let char = |_| char::from(alphabet[rng.below(alphabet.len())]);
    (0..count).map(char).collect()
}
