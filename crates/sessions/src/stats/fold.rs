//! Many sessions' notes, summed up.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::{
    DayStats, ModelStats, PriceSource, ProjectStats, ProviderStats, STATS_SCHEMA, Stats,
    TokenCounts, ToolStats, UsageRow,
};

use super::super::prices::{PriceTable, price};
use super::StatsRequest;
use crate::usage_notes::{NoteKind, NotedMessage, UsageNotes};

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
        for note in &notes.messages {
            if asked.contains(&note.id) {
                self.add_message(note, notes);
            }
        }
        for call in &notes.calls {
            if !asked.contains(&call.message) {
                continue;
            }
            let name = notes.numbered_name(call.tool);
            let tool = self.tools.entry(name.to_owned()).or_default();
            tool.calls += 1;
            tool.errors += u64::from(call.is_error);
            tool.cancelled += u64::from(call.is_cancelled);
            self.stats.tool_calls += 1;
            self.stats.tool_errors += u64::from(call.is_error);
        }
    }

    fn provider_stats(&mut self, notes: &UsageNotes) -> &mut ProviderStats {
        self.providers.entry(notes.provider.clone()).or_default()
    }

    fn project_stats(&mut self, notes: &UsageNotes) -> &mut ProjectStats {
        self.projects.entry(notes.project.clone()).or_default()
    }

    /// The messages that the request covers. A message of the user belongs to the model that answers it.
    fn covered_messages(&self, notes: &UsageNotes) -> HashSet<u64> {
        let mut model = None;
        let mut asked = HashSet::new();
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

    fn add_message(&mut self, note: &NotedMessage, notes: &UsageNotes) {
        let turn = u64::from(note.kind == NoteKind::Turn);
        self.stats.messages += 1;
        self.stats.turns += turn;
        let model = note.model.map(|model| notes.numbered_name(model));
        let cost = self.cost_of(note.tokens, model);
        let date = note.time.and_then(utc_date);
        if note.kind == NoteKind::Answer {
            self.add_answer(model, note.tokens, cost);
            self.add_groups(note, notes, date.as_deref(), cost);
        }
        let Some(date) = date else {
            self.stats.undated += 1;
            return;
        };
        let day = self.days.entry(date).or_default();
        day.messages += 1;
        day.turns += turn;
        if note.kind == NoteKind::Answer {
            day.tokens.add(&note.tokens.unwrap_or_default());
            add_cost(&mut day.cost, cost);
        }
    }

    fn cost_of(&mut self, tokens: Option<TokenCounts>, model: Option<&str>) -> Option<f64> {
        let (tokens, model) = (tokens?, model?);
        let rate = self.prices.price_for(model)?;
        if tokens.total > 0 {
            self.sources.insert(self.prices.source_of(rate));
        }
        Some(price(&tokens, rate))
    }

    /// Adds an answer to its agent, its project, and the row of both with its day and model.
    fn add_groups(
        &mut self,
        note: &NotedMessage,
        notes: &UsageNotes,
        date: Option<&str>,
        cost: Option<f64>,
    ) {
        let tokens = note.tokens.unwrap_or_default();
        let provider = self.provider_stats(notes);
        provider.answers += 1;
        provider.tokens.add(&tokens);
        add_cost(&mut provider.cost, cost);
        let project = self.project_stats(notes);
        project.answers += 1;
        project.tokens.add(&tokens);
        add_cost(&mut project.cost, cost);
        let model = note
            .model
            .map(|model| notes.numbered_name(model).to_owned());
        let date = date.map(str::to_owned);
        let key = (date, notes.provider.clone(), notes.project.clone(), model);
        let row = self.rows.entry(key).or_default();
        row.answers += 1;
        row.tokens.add(&tokens);
        add_cost(&mut row.cost, cost);
    }

    fn add_answer(&mut self, model: Option<&str>, tokens: Option<TokenCounts>, cost: Option<f64>) {
        let stats = self.models.entry(model.map(str::to_owned)).or_default();
        self.stats.answers += 1;
        stats.answers += 1;
        let Some(tokens) = tokens else {
            self.stats.answers_without_tokens += 1;
            return;
        };
        stats.tokens.add(&tokens);
        self.stats.tokens.add(&tokens);
        add_cost(&mut stats.cost, cost);
        add_cost(&mut self.stats.cost, cost);
        if cost.is_none() {
            let unpriced = &mut self.stats.unpriced_tokens;
            *unpriced = unpriced.saturating_add(tokens.total);
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
