//! Samples against the schemas: valid, complete, and the same after reading and writing.

use std::collections::BTreeSet;
use std::fmt::Debug;

use jsonschema::Validator;
use lapidary_vocab::Json;
use lapidary_vocab::command::{Command, CommandLine};
use lapidary_vocab::schema::Published;
use lapidary_vocab::{Event, RuntimeEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{agent_samples, samples};

/// One published schema, and the parts of it that the samples have covered.
struct Contract {
    name: &'static str,
    schema: Value,
    validator: Validator,
    seen: BTreeSet<String>,
}

impl Contract {
    fn named(name: &'static str) -> Self {
        let schema = Published::named(name).unwrap().schema();
        Self {
            name,
            validator: jsonschema::validator_for(&schema).unwrap(),
            schema,
            seen: BTreeSet::new(),
        }
    }

    /// Holds a line of ours against the schema: it is valid, and no property of the schema is missing in it.
    fn check_line(&mut self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<_> = self.validator.iter_errors(&value).collect();
        assert!(errors.is_empty(), "{}: {errors:#?} in {line}", self.name);
        let schema = self.schema.clone();
        let fields = self.properties_for(&schema, &value);
        check_fields(&fields, &value, &schema["description"]);
    }

    /// The properties that the schema has for this value, after every value inside has been checked in the same way.
    fn properties_for(&mut self, schema: &Value, value: &Value) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            fields.insert(name.clone());
            if let Some(inner) = value.get(name) {
                self.check_inside(property, inner);
            }
        }
        if let Some(name) = schema["$ref"].as_str() {
            let definition = self.schema.pointer(&name[1..]).unwrap().clone();
            self.seen.insert(name.to_owned());
            fields.extend(self.properties_for(&definition, value));
        }
        if let Some(choice) = self.choice_for(schema, value) {
            fields.extend(self.properties_for(&choice, value));
        }
        for item in value.as_array().into_iter().flatten() {
            self.check_inside(&schema["items"], item);
        }
        if schema["additionalProperties"].is_object() {
            for inner in value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(_, inner)| inner)
            {
                self.check_inside(&schema["additionalProperties"], inner);
            }
        }
        fields
    }

    fn check_inside(&mut self, schema: &Value, value: &Value) {
        let fields = self.properties_for(schema, value);
        check_fields(&fields, value, schema);
    }

    /// The one choice of a union that the value is.
    fn choice_for(&self, schema: &Value, value: &Value) -> Option<Value> {
        let choices = schema["anyOf"].as_array()?;
        let fits = |choice: &&Value| {
            let mut alone = (*choice).clone();
            alone["$defs"] = self.schema["$defs"].clone();
            jsonschema::is_valid(&alone, value)
        };
        choices.iter().find(fits).cloned()
    }

    /// Every definition was shown by some sample.
    fn check_all_seen(&self) {
        let definitions = self.schema["$defs"].as_object().unwrap();
        let all: BTreeSet<_> = definitions
            .keys()
            .map(|name| format!("#/$defs/{name}"))
            .collect();
        assert_eq!(self.seen, all, "{}: a kind has no sample", self.name);
    }
}

/// A value without properties of its own (text, lists, free JSON) has nothing to forget.
fn check_fields(fields: &BTreeSet<String>, value: &Value, place: &Value) {
    if !fields.is_empty() {
        let written = value.as_object().unwrap().keys().cloned().collect();
        assert_eq!(*fields, written, "schema against sample, in {place}");
    }
}

/// Checks samples that read and write themselves with serde alone.
fn check_plain<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    name: &'static str,
    samples: &[T],
) {
    let mut contract = Contract::named(name);
    for sample in samples {
        let line = serde_json::to_string(sample).unwrap();
        contract.check_line(&line);
        let read: T = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        assert_eq!(read, *sample);
    }
    contract.check_all_seen();
}

#[test]
fn every_event_is_valid_and_survives_reading_and_writing() {
    let mut contract = Contract::named("events");
    for sample in samples::events() {
        let line = sample.to_json();
        contract.check_line(&line);
        let read = Event::from_json(&line).unwrap();
        assert_eq!(read.to_json(), line);
        assert_eq!(read, sample);
    }
    contract.check_all_seen();
}

#[test]
fn every_runtime_event_is_valid_and_survives_reading_and_writing() {
    let mut contract = Contract::named("runtime");
    for sample in samples::runtime_events() {
        let line = serde_json::to_string(&sample).unwrap();
        contract.check_line(&line);
        let read = RuntimeEvent::from_json(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        assert_eq!(read, sample);
    }
    contract.check_all_seen();
}

#[test]
fn every_message_is_valid_and_survives_reading_and_writing() {
    check_plain("messages", &samples::messages());
}

#[test]
fn a_full_result_is_valid_and_survives_reading_and_writing() {
    check_plain("result", &[samples::result()]);
}

#[test]
fn every_command_is_valid_and_survives_reading_and_writing() {
    let mut contract = Contract::named("commands");
    for sample in samples::commands() {
        let line = CommandLine {
            id: Some(Json::from_value(&"mine")),
            command: sample.clone(),
        };
        let line = serde_json::to_string(&line).unwrap();
        contract.check_line(&line);
        let read: Command = serde_json::from_str(&line).unwrap();
        assert_eq!(read, sample);
    }
    contract.check_all_seen();
}

#[test]
fn full_capabilities_are_valid_and_survive_reading_and_writing() {
    check_plain("capabilities", &[samples::capabilities()]);
}

#[test]
fn a_checkup_is_valid_and_survives_reading_and_writing() {
    check_plain("doctor", &[samples::checkup()]);
    assert!(!samples::checkup().healthy);
}

#[test]
fn a_report_about_rules_is_valid_and_survives_reading_and_writing() {
    check_plain("policy", &[samples::policy_report()]);
    check_plain("compiled-policy", &[samples::compiled_policy()]);
    check_plain("config", &[samples::config_shown()]);
    check_plain("config-check", &[samples::config_check()]);
}

#[test]
fn a_report_about_hooks_is_valid_and_survives_reading_and_writing() {
    check_plain("hooks-test", &[samples::hook_test()]);
}

#[test]
fn a_report_about_agents_is_valid_and_survives_reading_and_writing() {
    check_plain("agents", &[agent_samples::list()]);
    check_plain("agent", &[agent_samples::shown()]);
    check_plain("agents-check", &[agent_samples::check()]);
    check_plain("agents-change", &[agent_samples::change()]);
    check_plain("activity", &agent_samples::activity());
}
