//! Many sessions' notes, summed up.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::{
    DayStats, ModelStats, PriceSource, ProjectStats, ProviderStats, STATS_SCHEMA, Stats,
    TokenCounts, ToolStats, UsageRow,
};

use super::super::prices::{ModelPrice, PriceTable, price};
use super::StatsRequest;
use crate::by_hash::HashedIds;
use crate::usage_notes::{NoteKind, NotedMessage, UsageNotes};

/// How long a day is.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) struct StatsFold<'r> {
    request: &'r StatsRequest,
    prices: &'r PriceTable,
    pub(super) warnings: Vec<String>,
    stats: Stats,
    models: BTreeMap<Option<String>, ModelStats>,
    days: BTreeMap<String, DayStats>,
    tools: BTreeMap<String, ToolStats>,
    providers: BTreeMap<Provider, ProviderStats>,
    projects: BTreeMap<Option<String>, ProjectStats>,
    rows: BTreeMap<RowKey, UsageRow>,
    sources: BTreeSet<PriceSource>,
}

/// Day, agent, project and model.
type RowKey = (Option<String>, Provider, Option<String>, Option<String>);

impl<'r> StatsFold<'r> {
    pub(super) fn new(request: &'r StatsRequest, prices: &'r PriceTable) -> Self {
        Self {
            request,
            prices,
            warnings: Vec::new(),
            stats: Stats {
                schema: STATS_SCHEMA.to_owned(),
                prices_as_of: prices.as_of.clone(),
                ..Stats::default()
            },
            models: BTreeMap::new(),
            days: BTreeMap::new(),
            tools: BTreeMap::new(),
            providers: BTreeMap::new(),
            projects: BTreeMap::new(),
            rows: BTreeMap::new(),
            sources: BTreeSet::new(),
        }
    }

    /// Counts a session, as far as it was asked for.
    pub(super) fn add_session(&mut self, notes: &UsageNotes) {
        let asked = self.covered_messages(notes);
        if asked.is_empty() {
            return;
        }
        if notes.is_subagent {
            self.stats.subagents += 1;
        } else {
            self.stats.sessions += 1;
            self.provider_stats(notes).sessions += 1;
            self.project_stats(notes).sessions += 1;
        }
        let mut tallies = Vec::new();
        for note in &notes.messages {
            if asked.contains(&note.id) {
                self.tally_message(&mut tallies, note, notes);
            }
        }
        for tally in &tallies {
            self.add_tally(tally, notes);
        }
        self.add_calls(notes, &asked);
    }

    fn add_calls(&mut self, notes: &UsageNotes, asked: &HashedIds) {
        // By the number of the tool's name first: a session has many calls of few tools.
        let mut counted: BTreeMap<u32, ToolStats> = BTreeMap::new();
        for call in &notes.calls {
            if asked.contains(&call.message) {
                let tool = counted.entry(call.tool).or_default();
                tool.calls += 1;
                tool.errors += u64::from(call.is_error);
                tool.cancelled += u64::from(call.is_cancelled);
            }
        }
        for (number, counts) in counted {
            let name = notes.numbered_name(number).to_owned();
            let tool = self.tools.entry(name).or_default();
            tool.calls += counts.calls;
            tool.errors += counts.errors;
            tool.cancelled += counts.cancelled;
            self.stats.tool_calls += counts.calls;
            self.stats.tool_errors += counts.errors;
        }
    }

    fn provider_stats(&mut self, notes: &UsageNotes) -> &mut ProviderStats {
        self.providers.entry(notes.provider.clone()).or_default()
    }

    fn project_stats(&mut self, notes: &UsageNotes) -> &mut ProjectStats {
        self.projects.entry(notes.project.clone()).or_default()
    }

    /// The messages that the request covers. A message of the user belongs to the model that answers it.
    fn covered_messages(&self, notes: &UsageNotes) -> HashedIds {
        let mut model = None;
        let mut asked = HashedIds::default();
        for note in notes.messages.iter().rev() {
            if note.kind == NoteKind::Answer {
                model = note.model.map(|model| notes.numbered_name(model));
            }
            let is_counted = note.kind != NoteKind::Repeated;
            if is_counted && self.is_of_model(model) && self.is_in_time(note.time) {
                asked.insert(note.id);
            }
        }
        asked
    }

    fn is_of_model(&self, model: Option<&str>) -> bool {
        let Some(wanted) = &self.request.model else {
            return true;
        };
        let wanted = wanted.to_lowercase();
        model.is_some_and(|model| model.to_lowercase().contains(&wanted))
    }

    fn is_in_time(&self, time: Option<i64>) -> bool {
        let (since, until) = (self.request.since, self.request.until);
        match time {
            Some(time) => {
                since.is_none_or(|since| time >= since) && until.is_none_or(|until| time < until)
            }
            None => since.is_none() && until.is_none(),
        }
    }

    /// Adds a message to the others of its day and model: a session has many messages, and few of these.
    fn tally_message(
        &mut self,
        tallies: &mut Vec<DayTally<'r>>,
        note: &NotedMessage,
        notes: &UsageNotes,
    ) {
        let day = note.time.map(|ms| ms.div_euclid(DAY_MS));
        let is_same = |tally: &DayTally<'_>| (tally.day, tally.model) == (day, note.model);
        let place = tallies.iter().rposition(is_same).unwrap_or_else(|| {
            let model = note.model.map(|model| notes.numbered_name(model));
            tallies.push(DayTally {
                day,
                model: note.model,
                rate: model.and_then(|model| self.prices.price_for(model)),
                ..DayTally::default()
            });
            tallies.len() - 1
        });
        tallies[place].add_message(note);
    }

    fn add_tally(&mut self, tally: &DayTally<'_>, notes: &UsageNotes) {
        self.stats.messages += tally.messages;
        self.stats.turns += tally.turns;
        if let Some(rate) = tally.rate.filter(|_| tally.tokens.total > 0) {
            self.sources.insert(self.prices.source_of(rate));
        }
        let date = tally
            .day
            .and_then(|day| utc_date(day.saturating_mul(DAY_MS)));
        if tally.answers > 0 {
            self.add_answers(tally, notes);
            self.add_groups(tally, notes, date.as_deref());
        }
        let Some(date) = date else {
            self.stats.undated += tally.messages;
            return;
        };
        let day = self.days.entry(date).or_default();
        day.messages += tally.messages;
        day.turns += tally.turns;
        day.tokens.add(&tally.tokens);
        add_cost(&mut day.cost, tally.cost);
    }

    /// Adds answers to their agent, their project, and the row of both with their day and model.
    fn add_groups(&mut self, tally: &DayTally<'_>, notes: &UsageNotes, date: Option<&str>) {
        let provider = self.provider_stats(notes);
        provider.answers += tally.answers;
        provider.tokens.add(&tally.tokens);
        add_cost(&mut provider.cost, tally.cost);
        let project = self.project_stats(notes);
        project.answers += tally.answers;
        project.tokens.add(&tally.tokens);
        add_cost(&mut project.cost, tally.cost);
        let model = tally
            .model
            .map(|model| notes.numbered_name(model).to_owned());
        let date = date.map(str::to_owned);
        let key = (date, notes.provider.clone(), notes.project.clone(), model);
        let row = self.rows.entry(key).or_default();
        row.answers += tally.answers;
        row.tokens.add(&tally.tokens);
        add_cost(&mut row.cost, tally.cost);
    }

    fn add_answers(&mut self, tally: &DayTally<'_>, notes: &UsageNotes) {
        let model = tally
            .model
            .map(|model| notes.numbered_name(model).to_owned());
        let stats = self.models.entry(model).or_default();
        stats.answers += tally.answers;
        stats.tokens.add(&tally.tokens);
        add_cost(&mut stats.cost, tally.cost);
        self.stats.answers += tally.answers;
        self.stats.answers_without_tokens += tally.without_tokens;
        self.stats.tokens.add(&tally.tokens);
        add_cost(&mut self.stats.cost, tally.cost);
        if tally.rate.is_none() {
            let unpriced = &mut self.stats.unpriced_tokens;
            *unpriced = unpriced.saturating_add(tally.tokens.total);
        }
    }

    pub(super) fn finish(self) -> Stats {
        let mut stats = self.stats;
        stats.warnings = self.warnings;
        let models = self.models.into_iter();
        stats.models = models
            .map(|(model, stats)| ModelStats { model, ..stats })
            .collect();
        stats
            .models
            .sort_by_key(|model| std::cmp::Reverse(model.tokens.total));
        let days = self.days.into_iter();
        stats.days = days
            .map(|(date, stats)| DayStats { date, ..stats })
            .collect();
        let providers = self.providers.into_iter();
        stats.providers = providers
            .map(|(provider, stats)| ProviderStats { provider, ..stats })
            .collect();
        stats
            .providers
            .sort_by_key(|provider| std::cmp::Reverse(provider.sessions));
        let projects = self.projects.into_iter();
        stats.projects = projects
            .map(|(project, stats)| ProjectStats { project, ..stats })
            .collect();
        stats
            .projects
            .sort_by_key(|project| std::cmp::Reverse(project.tokens.total));
        let rows = self.rows.into_iter();
        stats.usage = rows
            .map(|((date, provider, project, model), row)| UsageRow {
                date,
                provider,
                project,
                model,
                ..row
            })
            .collect();
        stats.price_sources = self.sources.into_iter().collect();
        // By date: the earliest is the first.
        let dates = stats.price_sources.iter().map(|source| &source.as_of);
        let earliest = dates.into_iter().find(|date| !date.is_empty());
        // A table of the user's own with a date stands for all.
        if let Some(earliest) = earliest.filter(|_| self.prices.has_shipped_date()) {
            stats.prices_as_of.clone_from(earliest);
        }
        let tools = self.tools.into_iter();
        stats.tools = tools
            .map(|(name, stats)| ToolStats { name, ..stats })
            .collect();
        stats
            .tools
            .sort_by_key(|tool| std::cmp::Reverse(tool.calls));
        stats
    }
}

/// The messages of a session on one day that are of one model, or of none.
#[derive(Debug, Default)]
struct DayTally<'r> {
    /// Days since 1970. None for messages without a time.
    day: Option<i64>,
    model: Option<u32>,
    /// The model's price. It may depend on the size of a prompt, so each answer has a cost of its own.
    rate: Option<&'r ModelPrice>,
    messages: u64,
    turns: u64,
    answers: u64,
    without_tokens: u64,
    /// Tokens of the answers.
    tokens: TokenCounts,
    cost: Option<f64>,
}

impl DayTally<'_> {
    fn add_message(&mut self, note: &NotedMessage) {
        self.messages += 1;
        self.turns += u64::from(note.kind == NoteKind::Turn);
        if note.kind != NoteKind::Answer {
            return;
        }
        self.answers += 1;
        match note.tokens {
            None => self.without_tokens += 1,
            Some(tokens) => {
                self.tokens.add(&tokens);
                add_cost(&mut self.cost, self.rate.map(|rate| price(&tokens, rate)));
            }
        }
    }
}

fn add_cost(sum: &mut Option<f64>, cost: Option<f64>) {
    if let Some(cost) = cost {
        *sum = Some(sum.unwrap_or(0.0) + cost);
    }
}

/// The day of a time (UTC).
fn utc_date(ms: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(ms).ok()?;
    Some(time.to_zoned(TimeZone::UTC).date().to_string())
}
