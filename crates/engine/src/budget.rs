//! The budget of a run. Its limits and its counting are in `policy`; here it gets the prices of models.

use lapidary_sessions::{PriceTable, price};

pub use lapidary_policy::budget::{
    Budget, BudgetError, BudgetMeter, BudgetUnknown, ExceededLimit, TokenPrices, step_cost,
    turn_cost,
};

/// The prices of the table that comes with the program, under those of the user.
pub fn token_prices(own: Option<&PriceTable>) -> TokenPrices {
    let shipped = PriceTable::shipped();
    prices_from_table(match own {
        Some(own) => own.clone().over(shipped),
        None => shipped,
    })
}

/// The prices of this table alone.
pub fn prices_from_table(table: PriceTable) -> TokenPrices {
    TokenPrices::new(move |model, used| Some(price(used, table.price_for(model)?)))
}

#[cfg(test)]
mod tests {
    use lapidary_vocab::stats::TokenCounts;

    use super::*;

    #[test]
    fn prices_of_the_user_come_before_those_of_the_program() {
        let own = "[prices.\"gemini-2.5-flash\"]\ninput = 10\noutput = 10\n[prices.mine]\ninput = 1\noutput = 1\n";
        let own = PriceTable::from_toml(own).unwrap();
        let prices = token_prices(Some(&own));
        let used = TokenCounts {
            input: 1_000_000,
            total: 1_000_000,
            ..TokenCounts::default()
        };
        assert_eq!(prices.cost("gemini-2.5-flash", &used), Some(10.0));
        assert_eq!(prices.cost("mine", &used), Some(1.0));
        assert!(prices.cost("gemini-2.5-pro", &used).is_some());
        assert_eq!(prices.cost("no-such-model", &used), None);
        assert_eq!(token_prices(None).cost("mine", &used), None);
    }
}
