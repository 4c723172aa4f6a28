//! Each keyword and its sentence.

use std::fmt::Write as _;

use fancy_regex::Regex;
use serde_json::{Map, Value};

use super::{DEEPEST, SchemaViolation};

type Violations = Vec<SchemaViolation>;

/// Where the schemas are within a keyword's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nesting {
    /// Nowhere.
    None,
    /// The value is one, or a list of them.
    Direct,
    /// The members of the value are.
    Members,
}

impl Nesting {
    pub(super) fn schemas(self, value: &Value) -> Vec<&Value> {
        match (self, value) {
            (Self::Direct, Value::Array(list)) => list.iter().collect(),
            (Self::Direct, one) => vec![one],
            (Self::Members, Value::Object(members)) => members.values().collect(),
            _ => Vec::new(),
        }
    }
}

/// How schemas nest in the value of a keyword; none if the keyword is not known.
pub(super) fn nesting(keyword: &str) -> Option<Nesting> {
    Some(match keyword {
        "type" | "enum" | "const" | "required" | "minLength" | "maxLength" | "pattern"
        | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "minItems" | "maxItems" | "uniqueItems" | "minProperties" | "maxProperties" | "$ref"
        | "nullable" | "$schema" | "$id" | "$comment" | "title" | "description" | "default"
        | "examples" | "deprecated" | "readOnly" | "writeOnly" | "format" => Nesting::None,
        "items"
        | "additionalProperties"
        | "propertyNames"
        | "contains"
        | "not"
        | "anyOf"
        | "oneOf"
        | "allOf"
        | "prefixItems" => Nesting::Direct,
        "properties" | "patternProperties" | "$defs" | "definitions" => Nesting::Members,
        _ => return None,
    })
}

/// A check under way.
pub(super) struct Check<'a> {
    root: &'a Value,
}

impl<'a> Check<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// A value against a schema. `path` is where the value is, and is left as it was.
    pub(super) fn value(
        &self,
        schema: &'a Value,
        value: &Value,
        path: &mut String,
        depth: usize,
    ) -> Result<(), Violations> {
        if depth > DEEPEST {
            return Err(violation(path, "must NOT be nested so deeply"));
        }
        let Value::Object(schema) = schema else {
            return match schema {
                Value::Bool(false) => Err(violation(path, "boolean schema is false")),
                _ => Ok(()),
            };
        };
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = self.referenced(target);
            return target.map_or(Ok(()), |target| self.value(target, value, path, depth + 1));
        }
        check_type(schema, value, path)?;
        match value {
            Value::Number(_) => check_number(schema, value, path)?,
            Value::String(text) => check_text(schema, text, path)?,
            _ => {}
        }
        check_choice(schema, value, path)?;
        self.combinations(schema, value, path, depth)?;
        match value {
            Value::Array(items) => self.items(schema, items, path, depth),
            Value::Object(members) => self.members(schema, members, path, depth),
            _ => Ok(()),
        }
    }

    /// A part of the same schema: `#/$defs/x`.
    fn referenced(&self, target: &str) -> Option<&'a Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }

    fn fits(&self, schema: &'a Value, value: &Value, depth: usize) -> bool {
        self.value(schema, value, &mut String::new(), depth + 1)
            .is_ok()
    }

    fn combinations(
        &self,
        schema: &'a Map<String, Value>,
        value: &Value,
        path: &mut String,
        depth: usize,
    ) -> Result<(), Violations> {
        if let Some(not) = schema.get("not")
            && self.fits(not, value, depth)
        {
            return Err(violation(path, "must NOT be valid"));
        }
        let list = |keyword| schema.get(keyword).and_then(Value::as_array);
        if let Some(any) = list("anyOf") {
            let (fitting, mut violations) = self.branches(any, value, path, depth);
            if fitting == 0 {
                violations.extend(violation(path, "must match a schema in anyOf"));
                return Err(violations);
            }
        }
        if let Some(one) = list("oneOf") {
            let (fitting, mut violations) = self.branches(one, value, path, depth);
            if fitting != 1 {
                violations.retain(|_| fitting == 0);
                let message = "must match exactly one schema in oneOf";
                violations.extend(violation(path, message));
                return Err(violations);
            }
        }
        for all in list("allOf").into_iter().flatten() {
            self.value(all, value, path, depth + 1)?;
        }
        Ok(())
    }

    /// How many branches fit, and the violations of the others.
    fn branches(
        &self,
        branches: &'a [Value],
        value: &Value,
        path: &mut String,
        depth: usize,
    ) -> (usize, Violations) {
        let (mut fitting, mut violations) = (0, Vec::new());
        for branch in branches {
            match self.value(branch, value, path, depth + 1) {
                Ok(()) => fitting += 1,
                Err(more) => violations.extend(more),
            }
        }
        (fitting, violations)
    }

    fn items(
        &self,
        schema: &'a Map<String, Value>,
        items: &[Value],
        path: &mut String,
        depth: usize,
    ) -> Result<(), Violations> {
        check_count(schema, ["maxItems", "minItems"], items.len(), "items", path)?;
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && let Some((first, second)) = equal_items(items)
        {
            let message = format!(
                "must NOT have duplicate items (items ## {first} and {second} are identical)"
            );
            return Err(violation(path, &message));
        }
        let tuple = schema.get("prefixItems").and_then(Value::as_array);
        let tuple = tuple.map_or(&[][..], |list| list);
        for (index, item) in items.iter().enumerate() {
            let wanted = tuple.get(index).or_else(|| schema.get("items"));
            if let Some(wanted) = wanted {
                within(path, &index.to_string(), |path| {
                    self.value(wanted, item, path, depth + 1)
                })?;
            }
        }
        match schema.get("contains") {
            Some(wanted) if !items.iter().any(|item| self.fits(wanted, item, depth)) => {
                Err(violation(path, "must contain at least 1 valid item(s)"))
            }
            _ => Ok(()),
        }
    }

    fn members(
        &self,
        schema: &'a Map<String, Value>,
        members: &Map<String, Value>,
        path: &mut String,
        depth: usize,
    ) -> Result<(), Violations> {
        let limits = ["maxProperties", "minProperties"];
        check_count(schema, limits, members.len(), "properties", path)?;
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let message = format!("must have required property '{name}'");
                return Err(violation(path, &message));
            }
        }
        if let Some(names) = schema.get("propertyNames") {
            for name in members.keys() {
                if let Err(mut violations) =
                    self.value(names, &Value::from(name.as_str()), path, depth + 1)
                {
                    violations.extend(violation(path, "property name must be valid"));
                    return Err(violations);
                }
            }
        }
        let patterns = patterns(schema);
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(additional) = schema.get("additionalProperties") {
            for (name, value) in members {
                let is_named = properties.is_some_and(|known| known.contains_key(name));
                let is_matched = patterns
                    .iter()
                    .any(|(pattern, _)| pattern.is_match(name).unwrap_or_default());
                if is_named || is_matched {
                    continue;
                }
                if *additional == Value::Bool(false) {
                    let message = "must NOT have additional properties";
                    return Err(violation(path, message));
                }
                within(path, name, |path| {
                    self.value(additional, value, path, depth + 1)
                })?;
            }
        }
        for (name, wanted) in properties.into_iter().flatten() {
            if let Some(value) = members.get(name) {
                within(path, name, |path| {
                    self.value(wanted, value, path, depth + 1)
                })?;
            }
        }
        for (pattern, wanted) in patterns {
            for (name, value) in members {
                if pattern.is_match(name).unwrap_or_default() {
                    within(path, name, |path| {
                        self.value(wanted, value, path, depth + 1)
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn violation(path: &str, message: &str) -> Violations {
    vec![SchemaViolation {
        path: path.to_owned(),
        message: message.to_owned(),
    }]
}

/// Checks a member of the value, whose name is part of the path meanwhile.
fn within(
    path: &mut String,
    name: &str,
    check: impl FnOnce(&mut String) -> Result<(), Violations>,
) -> Result<(), Violations> {
    let length = path.len();
    path.push('/');
    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
    let checked = check(path);
    path.truncate(length);
    checked
}

fn check_type(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), Violations> {
    let mut names: Vec<_> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    if schema.get("nullable") == Some(&Value::Bool(true)) && !names.contains(&"null") {
        names.push("null");
    }
    if names.iter().any(|name| is_of_type(value, name)) {
        return Ok(());
    }
    Err(violation(path, &format!("must be {}", names.join(","))))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|it| it.fract() == 0.0)
        }
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Whether a number keeps to a limit.
type Fits = fn(f64, f64) -> bool;

fn check_number(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), Violations> {
    let number = value.as_f64().unwrap_or(f64::NAN);
    let rules: [(&str, &str, Fits); 5] = [
        ("maximum", "must be <=", |a, b| a <= b),
        ("minimum", "must be >=", |a, b| a >= b),
        ("exclusiveMaximum", "must be <", |a, b| a < b),
        ("exclusiveMinimum", "must be >", |a, b| a > b),
        ("multipleOf", "must be multiple of", |a, b| {
            (a / b).fract() == 0.0
        }),
    ];
    for (keyword, words, fits) in rules {
        if let Some(limit) = schema.get(keyword)
            && let Some(bound) = limit.as_f64()
            && !fits(number, bound)
        {
            return Err(violation(path, &format!("{words} {limit}")));
        }
    }
    Ok(())
}

fn check_text(schema: &Map<String, Value>, text: &str, path: &str) -> Result<(), Violations> {
    let length = text.chars().count();
    check_count(
        schema,
        ["maxLength", "minLength"],
        length,
        "characters",
        path,
    )?;
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && let Ok(regex) = Regex::new(pattern)
        && !regex.is_match(text).unwrap_or_default()
    {
        let message = format!("must match pattern \"{pattern}\"");
        return Err(violation(path, &message));
    }
    Ok(())
}

/// `[most, least]` are the keywords of the two limits.
fn check_count(
    schema: &Map<String, Value>,
    [most, least]: [&str; 2],
    count: usize,
    of: &str,
    path: &str,
) -> Result<(), Violations> {
    let limit = |keyword| schema.get(keyword).and_then(Value::as_u64);
    let mut message = "must NOT have ".to_owned();
    let _ = match (limit(most), limit(least)) {
        (Some(limit), _) if count as u64 > limit => write!(message, "more than {limit} {of}"),
        (_, Some(limit)) if (count as u64) < limit => write!(message, "fewer than {limit} {of}"),
        _ => return Ok(()),
    };
    Err(violation(path, &message))
}

fn check_choice(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), Violations> {
    if let Some(constant) = schema.get("const")
        && !is_equal(constant, value)
    {
        return Err(violation(path, "must be equal to constant"));
    }
    match schema.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.iter().any(|one| is_equal(one, value)) => {
            let message = "must be equal to one of the allowed values";
            Err(violation(path, message))
        }
        _ => Ok(()),
    }
}

/// JSON has one kind of number: `1` and `1.0` are equal.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let matches = |(key, value)| b.get(key).is_some_and(|other| is_equal(value, other));
            a.len() == b.len() && a.iter().all(matches)
        }
        _ => one == other,
    }
}

/// The places of two equal items, as Ajv finds them: from the end.
fn equal_items(items: &[Value]) -> Option<(usize, usize)> {
    (0..items.len()).rev().find_map(|later| {
        let mut earlier = (0..later).rev();
        let earlier = earlier.find(|earlier| is_equal(&items[*earlier], &items[later]));
        earlier.map(|earlier| (earlier, later))
    })
}

fn patterns(schema: &Map<String, Value>) -> Vec<(Regex, &Value)> {
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let patterns = patterns.into_iter().flatten();
    let readable = |(pattern, schema): (&String, _)| Some((Regex::new(pattern).ok()?, schema));
    patterns.filter_map(readable).collect()
}
