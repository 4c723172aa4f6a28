//! Budgets: how they are written, and what real agents use up.

use lapidary_normalize::NormalizeOptions;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_testkit::captures::fixtures;
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Cause, Event};
use lapidary_wire::lines::RawLine;
use serde_json::{Value, json};

use super::{Budget, BudgetMeter, ExceededLimit, TokenPrices};

fn event(mut value: Value) -> Event {
    let base = json!({"id": "r-0", "seq": 0, "provider": "acp", "sessionId": "s"});
    for (key, field) in base.as_object().unwrap() {
        let object = value.as_object_mut().unwrap();
        object.entry(key).or_insert(field.clone());
    }
    Event::from_json(&value.to_string()).unwrap()
}

fn call(id: &str) -> Value {
    json!({"event": "tool_invocation", "callId": id, "toolName": "t", "kind": "read", "input": {}})
}

fn done(id: &str) -> Value {
    json!({"event": "tool_completion", "callId": id, "status": "completed"})
}

fn said() -> Value {
    json!({"event": "stream_delta", "kind": "text", "textDelta": "x"})
}

fn ended(usage: &Value) -> Value {
    let mut turn = json!({"event": "turn_complete"});
    for (key, value) in usage.as_object().unwrap() {
        turn[key] = value.clone();
    }
    turn
}

fn step(counts: &Value) -> Value {
    json!({"event": "usage_update", "stepUsage": counts})
}

fn cost(amount: f64) -> Value {
    let cost = json!({"amount": amount, "currency": "USD"});
    json!({"event": "usage_update", "stepUsage": {"used": 5, "size": 9}, "extensions": {"acp.cost": cost}})
}

/// One model has a price: 0.3 dollars for a million tokens of input, 2.5 for a million of output or thoughts.
fn prices() -> TokenPrices {
    TokenPrices::new(|model, used| {
        let count = |count: u64| f64::from(u32::try_from(count).unwrap());
        let cost = count(used.input) * 0.3 + count(used.output + used.thoughts) * 2.5;
        (model == "gemini-2.5-flash").then_some(cost / 1e6)
    })
}

/// How many of the events may come before the budget is exceeded; all of them if it never is.
#[track_caller]
fn check(budget: &str, events: &[Value], expected: Option<(usize, &str)>, unknown: &[&str]) {
    let mut meter = BudgetMeter::new(Budget::parse(budget).unwrap());
    meter.set_prices(prices());
    let notes = events.iter().map(|value| meter.note(&event(value.clone())));
    let notes: Vec<Option<ExceededLimit>> = notes.collect();
    let at = notes.iter().position(Option::is_some);
    let found = at.map(|at| (at, notes[at].as_ref().unwrap().to_string()));
    assert_eq!(
        found,
        expected.map(|(at, said)| (at, said.to_owned())),
        "{budget}"
    );
    assert_eq!(meter.unknown(), unknown, "{budget}");
}

#[test]
fn tokens_of_steps_and_turns_are_counted_once() {
    let steps = [
        step(&json!({"input_tokens": 40, "output_tokens": 10})),
        step(&json!({"total_tokens": 50})),
        ended(&json!({"usage": {"inputTokens": 80, "outputTokens": 30}})),
        ended(&json!({"usage": {"totalTokens": 5, "inputTokens": 1}})),
    ];
    check("tokens=115", &steps, None, &[]);
    let said = "the budget of tokens=114 is exceeded: 115 so far (the agent reports its tokens only at the end of a turn)";
    check("tokens=114", &steps, Some((3, said)), &[]);
    let said = "the budget of tokens=99 is exceeded: 100 so far";
    check("tokens=99", &steps, Some((1, said)), &[]);
}

#[test]
fn a_full_context_is_no_use_of_tokens() {
    let events = [
        step(&json!({"used": 100_000, "size": 1_000_000})),
        ended(&json!({})),
    ];
    check("tokens=1", &events, None, &["tokens"]);
}

#[test]
fn unreported_usage_is_unknown_once_a_turn_is_over() {
    check(
        "tokens=1,cost=1,tool-calls=1,turns=1",
        &[said(), call("a")],
        None,
        &[],
    );
    let over = [said(), ended(&json!({}))];
    check(
        "tokens=1,cost=1,tool-calls=1,turns=1",
        &over,
        None,
        &["tokens", "cost"],
    );
    check("tool-calls=1,turns=1", &over, None, &[]);
    let one_of_two = [
        ended(&json!({"usage": {"totalTokens": 1}})),
        ended(&json!({})),
    ];
    check("tokens=9", &one_of_two, None, &["tokens"]);
}

#[test]
fn money_is_the_sessions_so_far_or_adds_up_by_turns() {
    let session = [
        cost(0.4),
        cost(0.9),
        ended(&json!({"costUsd": 0.9})),
        cost(1.1),
    ];
    let said = "the budget of cost=1 is exceeded: 1.1 so far";
    check("cost=1", &session, Some((3, said)), &[]);
    let turns = [
        ended(&json!({"costUsd": 0.75})),
        ended(&json!({"costUsd": 0.75})),
    ];
    let said = "the budget of cost=1 is exceeded: 1.5 so far";
    check("cost=1", &turns, Some((1, said)), &[]);
    let mut euros = cost(5.0);
    euros["extensions"]["acp.cost"]["currency"] = "EUR".into();
    check("cost=1", &[euros, ended(&json!({}))], None, &["cost"]);
}

#[test]
fn money_that_is_not_reported_is_priced_by_model() {
    let turn = |model: &str| {
        let used =
            json!({"inputTokens": 1_000_000, "outputTokens": 100_000, "totalTokens": 1_200_000});
        ended(&json!({"modelUsage": {model: used}, "usage": {"totalTokens": 1_200_000}}))
    };
    // 0.3 for a million tokens of input, and 2.5 a million for output and thoughts.
    let said = "the budget of cost=0.5 is exceeded: 0.8 so far (the agent reports no cost: tokens by Lapidary's price table)";
    check(
        "cost=0.5",
        &[turn("gemini-2.5-flash")],
        Some((0, said)),
        &[],
    );
    check("cost=1", &[turn("gemini-2.5-flash")], None, &[]);
    check("cost=0.5", &[turn("no-such-model")], None, &["cost"]);
}

/// The amount that exceeds the budget in a conversation, from the lines of both sides.
fn spent(lines: &[(LineDirection, Value)]) -> Option<String> {
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("r"), Provider::Acp);
    let mut meter = BudgetMeter::new(Budget::parse("cost=0.0001").unwrap());
    let mut events = Vec::new();
    for (from, line) in lines {
        let line = line.to_string();
        normalizer.push(*from, RawLine::Whole(line.as_bytes()), None, &mut events);
    }
    let notes = events.iter().map(|event| meter.note(event));
    notes.last().flatten().map(|exceeded| exceeded.used)
}

#[test]
fn the_cost_of_a_session_before_this_run_is_not_counted() {
    use LineDirection::{FromAgent, FromClient};
    let asks = |id: u32, method: &str, session: &str| {
        let params = json!({"sessionId": session, "cwd": "/", "mcpServers": [], "prompt": [{"type": "text", "text": "x"}]});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (FromClient, line)
    };
    let answers = |id: u32, result: Value| {
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result});
        (FromAgent, line)
    };
    let costs = |session: &str, amount: f64| {
        let cost = json!({"amount": amount, "currency": "USD"});
        let update = json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": cost});
        let params = json!({"sessionId": session, "update": update});
        let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
        (FromAgent, line)
    };
    let used = |amount: &str| Some(amount.to_owned());
    for method in ["session/load", "session/resume"] {
        let mut lines = vec![
            asks(1, method, "s"),
            costs("s", 2.0),
            answers(1, json!({})),
            costs("s", 5.0),
            asks(2, "session/prompt", "s"),
        ];
        assert_eq!(spent(&lines), None, "{method}");
        lines.push(costs("s", 5.5));
        assert_eq!(spent(&lines), used("0.5"), "{method}");
        lines.extend([
            asks(3, method, "t"),
            answers(3, json!({})),
            costs("t", 7.0),
            asks(4, "session/prompt", "t"),
            costs("t", 7.25),
        ]);
        assert_eq!(spent(&lines), used("0.75"), "{method}");
        lines.push(costs("nobody opened it", 3.0));
        assert_eq!(spent(&lines), used("3.75"), "{method}");
        lines.push(costs("t", 1.0)); // it counts anew
        assert_eq!(spent(&lines), used("4.5"), "{method}");
    }
}

#[test]
fn a_call_counts_once_however_many_messages_mention_it() {
    let events = [
        call("a"),
        call("a"),
        done("a"),
        call("b"),
        call("b"),
        call("c"),
    ];
    let said = "the budget of tool-calls=2 is exceeded: 3 so far";
    check("tool-calls=2", &events, Some((5, said)), &[]);
    check("tool-calls=3", &events, None, &[]);
    let said = "the budget of tool-calls=0 is exceeded: 1 so far";
    check("tool-calls=0", &events, Some((0, said)), &[]);
}

#[test]
fn a_turn_is_an_answer_of_the_model() {
    let events = [
        said(),
        call("a"),
        call("b"),
        done("a"),
        done("b"), // one
        said(),
        said(),
        call("c"),
        done("c"), // two
        call("d"),
        done("d"), // three
        said(),
        ended(&json!({})), // four
        said(),
    ];
    let exceeded = "the budget of turns=4 is exceeded: 5 so far";
    check("turns=4", &events, Some((13, exceeded)), &[]);
    check("turns=5", &events, None, &[]);
    let counted = [said(), ended(&json!({"numTurns": 7}))];
    let exceeded = "the budget of turns=6 is exceeded: 7 so far";
    check("turns=6", &counted, Some((1, exceeded)), &[]);
}

#[test]
fn max_turns_counts_as_turns_do_and_ends_with_a_cause_of_its_own() {
    let mut meter = BudgetMeter::new(Budget {
        max_turns: Some(1),
        ..Budget::default()
    });
    let note = |line: &Value, meter: &mut BudgetMeter| meter.note(&event(line.clone()));
    for line in [said(), call("a"), done("a")] {
        assert_eq!(note(&line, &mut meter), None);
    }
    let exceeded = note(&said(), &mut meter).unwrap();
    assert_eq!(exceeded.to_string(), "the limit of 1 turn is reached");
    assert_eq!(exceeded.cause(), Cause::MaxTurns);
    assert!(exceeded.hint().unwrap().contains("--max-turns"));
    let mut meter = BudgetMeter::new(Budget::parse("turns=1").unwrap());
    for line in [said(), call("a"), done("a")] {
        note(&line, &mut meter);
    }
    let exceeded = note(&said(), &mut meter).unwrap();
    assert_eq!((exceeded.cause(), exceeded.hint()), (Cause::Budget, None));
}

#[test]
fn replayed_history_was_paid_for_by_another_run() {
    let mut replayed = call("a");
    replayed["extensions"] = json!({"acp.replay": true});
    check("tool-calls=0", &[replayed], None, &[]);
}

/// The recorded agents report their usage in four places, or not at all.
#[test]
fn real_agents_are_measured() {
    let measured = |golden: &str, budget: &str| {
        let path = fixtures()
            .join("../golden")
            .join(golden)
            .join("events.jsonl");
        let mut meter = BudgetMeter::new(Budget::parse(budget).unwrap());
        let text = std::fs::read_to_string(path).unwrap();
        let notes = text
            .lines()
            .map(|line| meter.note(&Event::from_json(line).unwrap()));
        let exceeded = notes.last().flatten().map(|exceeded| exceeded.used);
        (exceeded, meter.unknown())
    };
    let used = |used: &str| (Some(used.to_owned()), vec![]);
    assert_eq!(
        measured("acp-agents/claude-agent-acp-0.99-turn", "tokens=1"),
        used("59")
    );
    assert_eq!(
        measured("acp-agents/claude-agent-acp-0.99-turn", "cost=0.0001"),
        used("0.0008437999999999999")
    );
    assert_eq!(
        measured("acp-agents/qwen-code-0.24-cancel", "tokens=1"),
        used("70")
    );
    assert_eq!(measured("acp-agents/opencode-turn", "tokens=1"), used("67"));
    assert_eq!(
        measured("acp-agents/gemini-cli-turn", "tokens=1"),
        used("114")
    );
    assert_eq!(
        measured("acp-agents/ts-sdk-example-1", "tokens=1,cost=1"),
        (None, vec!["tokens", "cost"])
    );
    assert_eq!(
        measured("acp-agents/ts-sdk-example-1", "tool-calls=1"),
        used("2")
    );
}

#[test]
fn a_budget_that_is_none_says_why() {
    for (text, message) in [
        ("", "a budget needs a limit, such as tokens=100000"),
        (" , ", "a budget needs a limit, such as tokens=100000"),
        (
            "toolcalls=5",
            "unknown limit `toolcalls` (did you mean `tool-calls`?)",
        ),
        (
            "money=5",
            "unknown limit `money`; the limits are tokens, cost, tool-calls, turns",
        ),
        ("tokens", "`tokens` needs a number, as in tokens=10"),
        ("tokens=", "`tokens` needs a number, as in tokens=10"),
        ("tokens=0", "tokens must be a whole number from 1, got: 0"),
        (
            "tokens=1e5",
            "tokens must be a whole number from 1, got: 1e5",
        ),
        (
            "tool-calls=-1",
            "tool-calls must be a whole number from 0, got: -1",
        ),
        ("cost=0", "cost must be an amount of US dollars > 0, got: 0"),
        (
            "cost=nan",
            "cost must be an amount of US dollars > 0, got: nan",
        ),
        ("turns=1,turns=2", "turns was given twice"),
    ] {
        assert_eq!(
            Budget::parse(text).unwrap_err().to_string(),
            message,
            "{text}"
        );
    }
    let all = Budget::parse("tokens=1,cost=$0.5,tool_calls=0,turns=3").unwrap();
    assert_eq!(all.to_string(), "tokens=1,cost=0.5,tool-calls=0,turns=3");
}

#[test]
fn a_narrowed_budget_keeps_the_lower_limit() {
    let parse = |text| Budget::parse(text).unwrap();
    let narrowed = parse("tokens=5,cost=1").narrowed_by(parse("tokens=9,cost=0.5,turns=3"));
    assert_eq!(narrowed, parse("tokens=5,cost=0.5,turns=3"));
    let over = parse("tokens=9").over(parse("tokens=5,turns=3"));
    assert_eq!(over, parse("tokens=9,turns=3"));
}
