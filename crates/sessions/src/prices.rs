//! Prices of tokens: a table with a date, which a user's own table may override.

mod shipped;

use std::collections::BTreeMap;

use lapidary_vocab::stats::{PriceSource, TokenCounts};
use toml::{Table, Value};

/// Prices are for so many tokens.
const UNIT: f64 = 1e6;

/// Models and their prices.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    /// The day of which they are. Of several sources the earliest.
    pub as_of: String,
    models: BTreeMap<String, ModelPrice>,
}

/// The source of prices that a user has written down.
const OWN_TABLE: &str = "your own table";

/// The prices of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrice {
    usual: TokenRate,
    /// From more than so many tokens read at once.
    long: Option<(u64, TokenRate)>,
    /// The day and the place of a price that comes with the program; none for a price of the user's own.
    source: Option<(&'static str, &'static str)>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TokenRate {
    input: f64,
    cached: f64,
    /// Written to a cache for five minutes.
    cache_write: f64,
    /// Written to a cache for an hour.
    cache_write_1h: f64,
    output: f64,
}

/// Why prices cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// It is no TOML.
    #[error("it is not TOML: {0}")]
    Syntax(String),
    /// A value of the wrong type.
    #[error("`{0}` has to be {1}")]
    Odd(String, &'static str),
}

impl ModelPrice {
    /// A price for each token read and each token written, however many there are.
    pub fn per_token(input: f64, output: f64) -> Self {
        let (input, output) = (input * UNIT, output * UNIT);
        Self {
            usual: TokenRate {
                input,
                cached: input,
                cache_write: input,
                cache_write_1h: input,
                output,
            },
            long: None,
            source: None,
        }
    }
}

/// The cost of an answer in US dollars. Thoughts count as output; tokens that were read from a cache or written to one count as
/// input, at rates of their own.
///
/// ```
/// use lapidary_sessions::{ModelPrice, price};
/// use lapidary_vocab::stats::TokenCounts;
///
/// let used = TokenCounts { input: 120, output: 35, ..TokenCounts::default() };
/// assert_eq!(price(&used, &ModelPrice::per_token(0.001, 0.002)), 0.19);
/// ```
#[expect(
    clippy::cast_precision_loss,
    reason = "nobody uses that many tokens at once"
)]
pub fn price(used: &TokenCounts, price: &ModelPrice) -> f64 {
    let rate = match price.long {
        Some((above, long)) if used.input > above => long,
        _ => price.usual,
    };
    // Figures of a file may contradict each other: no token is paid for twice.
    let cached = used.cached.min(used.input);
    let cache_written = used.cache_written.min(used.input - cached);
    let for_an_hour = used.cache_written_1h.min(cache_written);
    let read = (used.input - cached - cache_written).saturating_add(used.tool);
    let written = used.output.saturating_add(used.thoughts);
    let cost = read as f64 * rate.input
        + cached as f64 * rate.cached
        + (cache_written - for_an_hour) as f64 * rate.cache_write
        + for_an_hour as f64 * rate.cache_write_1h
        + written as f64 * rate.output;
    cost / UNIT
}

impl PriceTable {
    /// The table that comes with the program.
    pub fn shipped() -> Self {
        let others = shipped::OTHER_MODELS.into_iter();
        let models = shipped::MODELS.into_iter().chain(others);
        Self {
            as_of: shipped::EARLIEST.to_owned(),
            models: models
                .map(|(name, price)| (name.to_owned(), price))
                .collect(),
        }
    }

    /// Reads a file with `[prices."model"]` tables and an optional `as_of`. Other keys are ignored.
    pub fn from_toml(text: &str) -> Result<Self, PriceError> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| PriceError::Syntax(error.message().to_owned()))?;
        let as_of = table.get("as_of").and_then(Value::as_str);
        let mut prices = Self {
            as_of: as_of.unwrap_or_default().to_owned(),
            models: BTreeMap::new(),
        };
        let Some(models) = table.get("prices") else {
            return Ok(prices);
        };
        let odd = |name: &str, what| PriceError::Odd(name.to_owned(), what);
        let models = models.as_table();
        for (model, price) in models.ok_or_else(|| odd("prices", "a table"))? {
            let name = format!("prices.\"{model}\"");
            let price = price.as_table().ok_or_else(|| odd(&name, "a table"))?;
            prices
                .models
                .insert(model.clone(), read_price(&name, price)?);
        }
        Ok(prices)
    }

    /// Lays these prices over `others`. The date is that of `others` unless these prices have one.
    #[must_use]
    pub fn over(mut self, mut others: Self) -> Self {
        if self.as_of.is_empty() {
            self.as_of = others.as_of;
        }
        others.models.append(&mut self.models);
        self.models = others.models;
        self
    }

    /// The price of a model, if it is known. A name with a date behind it is the model of that name: `claude-opus-4-5-20251101`.
    pub fn price_for(&self, model: &str) -> Option<&ModelPrice> {
        let name = model.strip_prefix("models/").unwrap_or(model);
        let undated = || self.models.get(without_date(name)?);
        self.models.get(name).or_else(undated)
    }

    /// Whether its date is that of the program's own table.
    pub(crate) fn has_shipped_date(&self) -> bool {
        self.as_of == shipped::EARLIEST
    }

    /// The source of a price.
    pub fn source_of(&self, price: &ModelPrice) -> PriceSource {
        let (as_of, source) = price.source.unwrap_or((&self.as_of, OWN_TABLE));
        PriceSource {
            as_of: as_of.to_owned(),
            source: source.to_owned(),
        }
    }
}

/// A name without the eight digits of a date behind it.
fn without_date(name: &str) -> Option<&str> {
    let (name, date) = name.rsplit_once(['-', '@'])?;
    let is_date = date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit());
    is_date.then_some(name)
}

fn read_price(name: &str, table: &Table) -> Result<ModelPrice, PriceError> {
    let long = match table.get("long") {
        None => None,
        Some(long) => {
            let name = format!("{name}.long");
            let odd = |what| PriceError::Odd(name.clone(), what);
            let long = long.as_table().ok_or_else(|| odd("a table"))?;
            let above = long.get("above").and_then(Value::as_integer);
            let above = above.and_then(|above| u64::try_from(above).ok());
            let above = above.ok_or_else(|| odd("a table with a number of tokens, `above`"))?;
            Some((above, read_rate(&name, long)?))
        }
    };
    let usual = read_rate(name, table)?;
    Ok(ModelPrice {
        usual,
        long,
        source: None,
    })
}

fn read_rate(name: &str, table: &Table) -> Result<TokenRate, PriceError> {
    let amount = |key: &str| {
        let value = table.get(key)?;
        #[expect(clippy::cast_precision_loss, reason = "it is a price")]
        let amount = match value {
            Value::Integer(whole) => Some(*whole as f64),
            other => other.as_float(),
        };
        let amount = amount.filter(|amount| amount.is_finite() && *amount >= 0.0);
        let odd = || PriceError::Odd(format!("{name}.{key}"), "a number that is not negative");
        Some(amount.ok_or_else(odd))
    };
    let needed = |key: &str| {
        let odd = || PriceError::Odd(format!("{name}.{key}"), "there");
        amount(key).unwrap_or_else(|| Err(odd()))
    };
    let input = needed("input")?;
    let cache_write = amount("cache_write").unwrap_or(Ok(input))?;
    Ok(TokenRate {
        input,
        cache_write,
        cache_write_1h: amount("cache_write_1h").unwrap_or(Ok(cache_write))?,
        // Without a `cached` price, cached tokens cost as much as others.
        cached: amount("cached").unwrap_or(Ok(input))?,
        output: needed("output")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input: u64, output: u64) -> TokenCounts {
        TokenCounts {
            input,
            output,
            ..TokenCounts::default()
        }
    }

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-12, "{one} is not {other}");
    }

    #[test]
    fn o28_a_configured_price_gives_the_cost_and_none_gives_none() {
        close(
            price(&used(120, 35), &ModelPrice::per_token(0.001, 0.002)),
            0.19,
        );
        assert_eq!(PriceTable::shipped().price_for("no-such-model"), None);
    }

    #[test]
    fn the_shipped_table_has_a_date_and_each_model_once() {
        let prices = PriceTable::shipped();
        let shipped = shipped::MODELS.len() + shipped::OTHER_MODELS.len();
        assert_eq!(prices.models.len(), shipped);
        assert_eq!(prices.as_of, "2026-07-04");
        assert!(prices.as_of.parse::<jiff::civil::Date>().is_ok());
        assert!(prices.price_for("gemini-2.5-pro").is_some());
        assert!(prices.price_for("models/gemini-2.5-flash").is_some());
        let dated = prices.price_for("claude-sonnet-4-5-20250929");
        assert_eq!(dated, prices.price_for("claude-sonnet-4-5"));
        assert!(dated.is_some());
        assert_eq!(prices.price_for("claude-sonnet-4-5-2025"), None);
    }

    #[test]
    fn long_requests_cost_more_and_cached_tokens_less_and_thoughts_are_written() {
        let prices = PriceTable::shipped();
        let pro = prices.price_for("gemini-2.5-pro").unwrap();
        close(price(&used(200_000, 1000), pro), 0.25 + 0.01);
        close(price(&used(200_001, 1000), pro), 200_001.0 * 2.5e-6 + 0.015);
        let cached = TokenCounts {
            cached: 100_000,
            thoughts: 500,
            tool: 1000,
            ..used(100_000, 500)
        };
        close(price(&cached, pro), 0.0125 + 0.01 + 0.00125);
        let sonnet = prices.price_for("claude-sonnet-4-5").unwrap();
        let written = TokenCounts {
            cached: 50_000,
            cache_written: 40_000,
            cache_written_1h: 10_000,
            ..used(100_000, 0)
        };
        let parts = 10_000.0 * 3e-6 + 50_000.0 * 0.3e-6 + 30_000.0 * 3.75e-6 + 10_000.0 * 6e-6;
        close(price(&written, sonnet), parts);
        // A lie: more cached than read.
        let odd = TokenCounts {
            cached: 5,
            ..used(1, 0)
        };
        close(price(&odd, pro), 0.125e-6);
    }

    #[test]
    fn ones_own_prices_count_first_and_nonsense_is_refused() {
        let own = PriceTable::from_toml(
            "model = \"x\"\n[prices.\"gemini-2.5-pro\"]\ninput = 1\noutput = 2\n[prices.mine]\ninput = 0\noutput = 0\n",
        );
        let all = own.unwrap().over(PriceTable::shipped());
        assert_eq!(all.as_of, "2026-07-04");
        close(
            price(
                &used(1_000_000, 0),
                all.price_for("gemini-2.5-pro").unwrap(),
            ),
            1.0,
        );
        close(
            price(
                &used(1_000_000, 0),
                all.price_for("gemini-2.5-flash").unwrap(),
            ),
            0.3,
        );
        assert!(all.price_for("mine").is_some());
        for (bad, complaint) in [
            ("[prices", "it is not TOML"),
            ("prices = 1", "`prices` has to be a table"),
            ("[prices]\nx = 1", "`prices.\"x\"` has to be a table"),
            (
                "[prices.x]\noutput = 1",
                "`prices.\"x\".input` has to be there",
            ),
            (
                "[prices.x]\ninput = -1\noutput = 1",
                "`prices.\"x\".input` has to be a number",
            ),
            (
                "[prices.x]\ninput = nan\noutput = 1",
                "`prices.\"x\".input` has to be a number",
            ),
            (
                "[prices.x]\ninput = 1\noutput = 1\nlong = {}",
                "`prices.\"x\".long` has to be a table with",
            ),
        ] {
            let told = PriceTable::from_toml(bad).unwrap_err().to_string();
            assert!(told.starts_with(complaint), "{bad}: {told}");
        }
    }
}
