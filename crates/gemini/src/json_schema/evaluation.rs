//! A value against a schema: references, combinations, and the parts of lists and objects.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;

use fancy_regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::keywords::escaped_part;
use super::{SchemaViolation, assertions, audit, equality};
use crate::js::regex::{PatternError, translate};

/// How many schemas may be applied within each other; a value that needs more does not fit. References add to the value's own depth.
const DEEPEST: usize = 256;

/// After so many schemas have been applied, a check is given up. References can double the work at each level.
const MOST_STEPS: usize = 2_000_000;

/// After so many steps back a pattern is given up, where JavaScript would go on for years.
const MOST_PATTERN_STEPS: usize = 100_000;

/// Whether a check goes on.
pub(super) type Flow = ControlFlow<()>;

/// How much is reported, and in which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckExtent {
    /// The first violation, in Ajv's words.
    First,
    /// All violations up to a number. They name values that Ajv's words leave out.
    Complete(usize),
}

/// A check under way.
pub(super) struct SchemaEvaluation<'a> {
    root: &'a Value,
    extent: CheckExtent,
    steps: Cell<usize>,
    /// The reason for giving up: then no verdict counts, not even below `not`.
    gave_up: Cell<Option<&'static str>>,
    patterns: RefCell<HashMap<&'a str, Option<Regex>>>,
}

/// The violations that are found so far.
#[derive(Debug, Default)]
pub(super) struct FoundViolations {
    violations: Vec<SchemaViolation>,
}

/// A value, where it is, and how many schemas it is below.
#[derive(Debug, Clone, Copy)]
pub(super) struct InstancePlace<'p> {
    path: &'p str,
    depth: usize,
}

impl InstancePlace<'_> {
    /// The path of a part of the value.
    fn path_below(self, name: &str) -> String {
        format!("{}/{}", self.path, escaped_part(name))
    }
}

impl<'a> SchemaEvaluation<'a> {
    pub(super) fn first_only(root: &'a Value) -> Self {
        Self::new(root, CheckExtent::First)
    }

    pub(super) fn complete_up_to(root: &'a Value, most: usize) -> Self {
        Self::new(root, CheckExtent::Complete(most))
    }

    fn new(root: &'a Value, extent: CheckExtent) -> Self {
        Self {
            root,
            extent,
            steps: Cell::new(0),
            gave_up: Cell::new(None),
            patterns: RefCell::default(),
        }
    }

    /// The violations of a value.
    pub(super) fn run(self, value: &Value) -> Vec<SchemaViolation> {
        let mut found = FoundViolations::default();
        let place = InstancePlace { path: "", depth: 0 };
        let _ = self.check_value(self.root, value, place, &mut found);
        if let CheckExtent::Complete(most) = self.extent {
            found.violations.truncate(most);
        }
        match self.gave_up.get() {
            None => found.violations,
            Some(why) => vec![SchemaViolation {
                path: String::new(),
                message: why.to_owned(),
            }],
        }
    }

    pub(super) fn extent(&self) -> CheckExtent {
        self.extent
    }

    /// Reports a violation. The check goes on while more are wanted.
    pub(super) fn report_violation(
        &self,
        place: InstancePlace<'_>,
        message: String,
        found: &mut FoundViolations,
    ) -> Flow {
        found.violations.push(SchemaViolation {
            path: place.path.to_owned(),
            message,
        });
        self.check_limit(found)
    }

    fn check_limit(&self, found: &FoundViolations) -> Flow {
        let most = match self.extent {
            CheckExtent::First => 1,
            CheckExtent::Complete(most) => most,
        };
        if found.violations.len() >= most {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn gives_up(&self, why: &'static str) -> Flow {
        self.gave_up.set(self.gave_up.get().or(Some(why)));
        Flow::Break(())
    }

    /// A value against a schema.
    fn check_value(
        &self,
        schema: &'a Value,
        value: &Value,
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            return self.gives_up("takes too many steps to check");
        }
        if place.depth > DEEPEST {
            return self.gives_up("must NOT be nested so deeply");
        }
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => {
                return self.report_violation(place, "boolean schema is false".to_owned(), found);
            }
            _ => return Flow::Continue(()),
        };
        if let Some(target) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.referenced_schema(target)
        {
            self.check_part(target, value, place, found)?;
        }
        assertions::check_type(self, schema, value, place, found)?;
        match value {
            Value::Number(number) => assertions::check_number(self, schema, number, place, found)?,
            Value::String(text) => {
                assertions::check_length(self, schema, text, place, found)?;
                self.check_pattern(schema, text, place, found)?;
            }
            _ => {}
        }
        assertions::check_choice(self, schema, value, place, found)?;
        self.check_combinations(schema, value, place, found)?;
        match value {
            Value::Array(items) => self.check_items(schema, items, place, found),
            Value::Object(members) => self.check_members(schema, (value, members), place, found),
            _ => Flow::Continue(()),
        }
    }

    /// A part of the same schema: `#/$defs/x`.
    fn referenced_schema(&self, target: &str) -> Option<&'a Value> {
        self.root
            .pointer(&decoded_pointer(target.strip_prefix('#')?)?)
    }

    /// The same value against another schema.
    fn check_part(
        &self,
        schema: &'a Value,
        value: &Value,
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let depth = place.depth + 1;
        self.check_value(schema, value, InstancePlace { depth, ..place }, found)
    }

    /// A part of the value against a schema.
    fn check_member(
        &self,
        schema: &'a Value,
        value: &Value,
        (place, name): (InstancePlace<'_>, &str),
        found: &mut FoundViolations,
    ) -> Flow {
        let (path, depth) = (place.path_below(name), place.depth + 1);
        self.check_value(schema, value, InstancePlace { path: &path, depth }, found)
    }

    fn check_fit(
        &self,
        schema: &'a Value,
        value: &Value,
        place: InstancePlace<'_>,
    ) -> Result<(), FoundViolations> {
        let mut found = FoundViolations::default();
        let _ = self.check_part(schema, value, place, &mut found);
        if found.violations.is_empty() {
            Ok(())
        } else {
            Err(found)
        }
    }

    fn check_pattern(
        &self,
        schema: &'a Map<String, Value>,
        text: &str,
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
            return Flow::Continue(());
        };
        // A pattern that is none is ignored, as Ajv ignores it in Gemini CLI.
        if self.match_pattern(pattern, text)?.unwrap_or(true) {
            return Flow::Continue(());
        }
        self.report_violation(place, format!("must match pattern \"{pattern}\""), found)
    }

    /// Whether a text has a match; none if the pattern is no regular expression.
    fn match_pattern(&self, pattern: &'a str, text: &str) -> ControlFlow<(), Option<bool>> {
        let mut patterns = self.patterns.borrow_mut();
        let regex = patterns
            .entry(pattern)
            .or_insert_with(|| compile_pattern(pattern).ok());
        let Some(regex) = regex else {
            return ControlFlow::Continue(None);
        };
        let Ok(matches) = regex.is_match(text) else {
            self.gives_up("has text for which a pattern takes too many steps")?;
            return ControlFlow::Continue(None);
        };
        ControlFlow::Continue(Some(matches))
    }

    fn check_combinations(
        &self,
        schema: &'a Map<String, Value>,
        value: &Value,
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        if let Some(not) = schema.get("not")
            && self.check_fit(not, value, place).is_ok()
        {
            self.report_violation(place, "must NOT be valid".to_owned(), found)?;
        }
        let list = |keyword| schema.get(keyword).and_then(Value::as_array);
        if let Some(any) = list("anyOf") {
            let (fitting, violations) = self.check_branches(any, value, place);
            if fitting == 0 {
                found.violations.extend(violations);
                self.report_violation(place, "must match a schema in anyOf".to_owned(), found)?;
            }
        }
        if let Some(one) = list("oneOf") {
            let (fitting, violations) = self.check_branches(one, value, place);
            if fitting != 1 {
                found
                    .violations
                    .extend(violations.into_iter().filter(|_| fitting == 0));
                let message = "must match exactly one schema in oneOf";
                self.report_violation(place, message.to_owned(), found)?;
            }
        }
        for all in list("allOf").into_iter().flatten() {
            self.check_part(all, value, place, found)?;
        }
        self.check_condition(schema, value, place, found)
    }

    fn check_condition(
        &self,
        schema: &'a Map<String, Value>,
        value: &Value,
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let Some(condition) = schema.get("if") else {
            return Flow::Continue(());
        };
        let holds = self.check_fit(condition, value, place).is_ok();
        let branch = if holds { "then" } else { "else" };
        let Some(consequence) = schema.get(branch) else {
            return Flow::Continue(());
        };
        if let Err(more) = self.check_fit(consequence, value, place) {
            found.violations.extend(more.violations);
            let message = format!("must match \"{branch}\" schema");
            self.report_violation(place, message, found)?;
        }
        Flow::Continue(())
    }

    /// How many branches fit, and the violations of the others.
    fn check_branches(
        &self,
        branches: &'a [Value],
        value: &Value,
        place: InstancePlace<'_>,
    ) -> (usize, Vec<SchemaViolation>) {
        let (mut fitting, mut violations) = (0, Vec::new());
        for branch in branches {
            match self.check_fit(branch, value, place) {
                Ok(()) => fitting += 1,
                Err(more) => violations.extend(more.violations),
            }
        }
        (fitting, violations)
    }

    fn check_items(
        &self,
        schema: &'a Map<String, Value>,
        items: &[Value],
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let limits = ["maxItems", "minItems"];
        assertions::check_count(self, schema, (limits, items.len(), "items"), place, found)?;
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && let Some((first, second)) = equality::equal_items(items)
        {
            let message = format!(
                "must NOT have duplicate items (items ## {first} and {second} are identical)"
            );
            self.report_violation(place, message, found)?;
        }
        let tuple = schema.get("prefixItems").and_then(Value::as_array);
        let tuple = tuple.map_or(&[][..], |list| list);
        for (index, item) in items.iter().enumerate() {
            let wanted = tuple.get(index).or_else(|| schema.get("items"));
            if let Some(wanted) = wanted {
                self.check_member(wanted, item, (place, &index.to_string()), found)?;
            }
        }
        self.check_contains(schema, items, place, found)
    }

    /// `contains`, with its limits.
    fn check_contains(
        &self,
        schema: &'a Map<String, Value>,
        items: &[Value],
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let Some(wanted) = schema.get("contains") else {
            return Flow::Continue(());
        };
        let limit = |keyword| schema.get(keyword).and_then(audit::whole_count);
        let (least, most) = (limit("minContains").unwrap_or(1), limit("maxContains"));
        let fitting = items.iter();
        let fitting = fitting.filter(|item| self.check_fit(wanted, item, place).is_ok());
        let count = fitting.count() as u64;
        let message = match most {
            _ if count >= least && most.is_none_or(|most| count <= most) => {
                return Flow::Continue(());
            }
            Some(most) => {
                format!("must contain at least {least} and no more than {most} valid item(s)")
            }
            None => format!("must contain at least {least} valid item(s)"),
        };
        self.report_violation(place, message, found)
    }

    fn check_members(
        &self,
        schema: &'a Map<String, Value>,
        (value, members): (&Value, &Map<String, Value>),
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let limits = ["maxProperties", "minProperties"];
        let count = (limits, members.len(), "properties");
        assertions::check_count(self, schema, count, place, found)?;
        assertions::check_required(self, schema, members, place, found)?;
        if let Some(names) = schema.get("propertyNames") {
            for name in members.keys() {
                if let Err(more) = self.check_fit(names, &Value::from(name.as_str()), place) {
                    found.violations.extend(more.violations);
                    self.report_violation(place, "property name must be valid".to_owned(), found)?;
                }
            }
        }
        self.check_additional(schema, members, place, found)?;
        let of = |keyword| schema.get(keyword).and_then(Value::as_object);
        for (name, wanted) in of("dependentSchemas").into_iter().flatten() {
            if members.contains_key(name) {
                self.check_part(wanted, value, place, found)?;
            }
        }
        for (name, wanted) in of("properties").into_iter().flatten() {
            if let Some(value) = members.get(name) {
                self.check_member(wanted, value, (place, name), found)?;
            }
        }
        for (pattern, wanted) in of("patternProperties").into_iter().flatten() {
            for (name, value) in members {
                if self.match_pattern(pattern, name)?.unwrap_or_default() {
                    self.check_member(wanted, value, (place, name), found)?;
                }
            }
        }
        Flow::Continue(())
    }

    /// Members that neither `properties` nor `patternProperties` name.
    fn check_additional(
        &self,
        schema: &'a Map<String, Value>,
        members: &Map<String, Value>,
        place: InstancePlace<'_>,
        found: &mut FoundViolations,
    ) -> Flow {
        let Some(wanted) = schema.get("additionalProperties") else {
            return Flow::Continue(());
        };
        let of = |keyword| schema.get(keyword).and_then(Value::as_object);
        for (name, value) in members {
            let mut is_known = of("properties").is_some_and(|known| known.contains_key(name));
            for pattern in of("patternProperties")
                .into_iter()
                .flatten()
                .map(|(it, _)| it)
            {
                is_known |= self.match_pattern(pattern, name)?.unwrap_or_default();
            }
            match (is_known, wanted, self.extent) {
                (true, ..) => {}
                (false, Value::Bool(false), CheckExtent::First) => {
                    let message = "must NOT have additional properties";
                    self.report_violation(place, message.to_owned(), found)?;
                }
                (false, Value::Bool(false), CheckExtent::Complete(_)) => {
                    let message = format!("must NOT have the additional property '{name}'");
                    self.report_violation(place, message, found)?;
                }
                (false, ..) => self.check_member(wanted, value, (place, name), found)?,
            }
        }
        Flow::Continue(())
    }
}

/// A pattern as JavaScript reads it.
pub(super) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern).map_err(|error| match error {
        PatternError::Invalid(reason) => reason,
        PatternError::TooLarge => "it is too long or too deep".to_owned(),
        PatternError::Foreign => "it uses what only JavaScript has".to_owned(),
    })?;
    let mut builder = RegexBuilder::new(&translated.fancy);
    let built = builder.backtrack_limit(MOST_PATTERN_STEPS).build();
    built.map_err(|error| error.to_string())
}

/// The pointer of a reference, in which `%20` is a space.
pub(super) fn decoded_pointer(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let code = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(code).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
