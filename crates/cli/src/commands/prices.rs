//! Prices of models, and the cost of a transcript's turns by them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lapidary::engine::budget::{TokenPrices, prices_from_table, step_cost, turn_cost};
use lapidary::engine::config::FILE_NAME;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::render::COMPUTED_COST;
use lapidary::sessions::PriceTable;
use lapidary::vocab::{Body, Event, Json};

use crate::failure::Failure;
use crate::invocation::Invocation;
use lapidary::directories;

/// The program's prices, and the user's over them.
pub(super) fn known_prices(environment: &SearchEnvironment) -> Result<PriceTable, Failure> {
    let shipped = PriceTable::shipped();
    let own = directories::config(environment).map(|folder| folder.join(FILE_NAME));
    match own.filter(|path| path.is_file()) {
        Some(own) => Ok(read_prices(&own)?.over(shipped)),
        None => Ok(shipped),
    }
}

pub(super) fn read_prices(path: &Path) -> Result<PriceTable, Failure> {
    let named = || format!("the prices in `{}` cannot be used", path.display());
    let text = std::fs::read_to_string(path).with_context(named);
    let text = text.map_err(Failure::bad_config)?;
    let prices = PriceTable::from_toml(&text).with_context(named);
    prices.map_err(Failure::bad_config)
}

/// Computes the cost of a transcript where the agent does not report it.
#[derive(Debug)]
pub(super) struct TranscriptPrices {
    invocation: Arc<Invocation>,
    /// Read for the first event that needs them.
    prices: OnceCell<TokenPrices>,
}

impl TranscriptPrices {
    pub(super) fn new(invocation: &Arc<Invocation>) -> Self {
        Self {
            invocation: invocation.clone(),
            prices: OnceCell::new(),
        }
    }

    /// The event with its computed cost, if it ends a turn or a step and there is a price for it.
    pub(super) fn priced_event<'e>(&self, event: &'e Event) -> Cow<'e, Event> {
        let cost = match &event.body {
            Body::TurnComplete(turn) if turn.cost_usd.is_none() => {
                turn_cost(turn, self.token_prices())
            }
            Body::UsageUpdate(step) if step.model.is_some() => step_cost(step, self.token_prices()),
            _ => None,
        };
        let Some(cost) = cost else {
            return Cow::Borrowed(event);
        };
        let mut priced = event.clone();
        let cost = Json::from_value(&cost);
        priced.base.extensions.insert(COMPUTED_COST.into(), cost);
        Cow::Owned(priced)
    }

    fn token_prices(&self) -> &TokenPrices {
        self.prices.get_or_init(|| {
            let here = self.invocation.current_dir().unwrap_or_default();
            let environment = SearchEnvironment::from_vars(self.invocation.all_variables(), here);
            let known = known_prices(&environment).unwrap_or_else(|failure| {
                self.invocation
                    .print_message(&format!("warning: {:#}", failure.error));
                PriceTable::shipped()
            });
            prices_from_table(known)
        })
    }
}
