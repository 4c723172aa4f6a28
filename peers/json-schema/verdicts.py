"""Writes fixtures/json-schema/verdicts.jsonl: generated schemas and values, each with the verdict of PyPI's jsonschema.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install --no-deps -r peers/json-schema/requirements.txt
    /tmp/venv/bin/python peers/json-schema/verdicts.py > fixtures/json-schema/verdicts.jsonl

The seed is fixed, so the same version of jsonschema writes the same file. Left out on purpose: `multipleOf` with decimal fractions
(jsonschema divides binary fractions, so `0.3` is no multiple of `0.1` there), and patterns that Python and JavaScript read
differently: `\\w` on letters beyond ASCII, `$` before a trailing newline.
"""

import json
import random

from jsonschema import Draft7Validator, Draft202012Validator

CASES = 900
NAMES = ["a", "b", "ab", "c/d", "e~f", "ü", ""]
TEXTS = ["", "a", "ab", "abc", "aab", "b", "ü", "日本語", "a b", "0", "12", "a/b"]
NUMBERS = [0, 1, -1, 2, 3, 7, 10, 0.5, 1.0, -2.5, 1.5, 1e3, 2**53, 2**53 + 1, 9007199254740992.0, 1e300, -(2**63)]
PATTERNS = ["^a", "b$", "^[a-c]{1,2}$", "a|b", "^\\d+$", "^(a+)b?$", "^$", "[^a]", "^a.*c$"]
TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"]

rng = random.Random(20261118)


def value(depth=0):
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind in (1, 2):
        return rng.choice(NUMBERS)
    if kind in (3, 4):
        return rng.choice(TEXTS)
    if kind == 5:
        return [value(depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): value(depth + 1) for _ in range(rng.randrange(4))}


def members(depth, keys=NAMES):
    return {rng.choice(keys): schema(depth + 1) for _ in range(rng.randrange(1, 4))}


def names():
    return sorted(set(rng.choice(NAMES) for _ in range(rng.randrange(3))))


def keyword(depth, draft7):
    """One keyword, or two that belong together."""
    leaves = [
        lambda: {"type": rng.choice(TYPES)},
        lambda: {"type": rng.sample(TYPES, rng.randrange(1, 4))},
        lambda: {"enum": [value(2) for _ in range(rng.randrange(1, 5))]},
        lambda: {"const": value(2)},
        lambda: {rng.choice(["minLength", "maxLength"]): rng.randrange(4)},
        lambda: {"pattern": rng.choice(PATTERNS)},
        lambda: {rng.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]): rng.choice(NUMBERS)},
        lambda: {"multipleOf": rng.choice([1, 2, 3, 0.5, 0.25, 2.0])},
        lambda: {rng.choice(["minItems", "maxItems"]): rng.choice([0, 1, 2, 2.0])},
        lambda: {"uniqueItems": rng.choice([True, True, False])},
        lambda: {"required": names()},
        lambda: {rng.choice(["minProperties", "maxProperties"]): rng.randrange(4)},
        lambda: {"title": "t", "description": "d", "format": "date", "default": value(2)},
    ]
    deep = [
        lambda: {"properties": members(depth)},
        lambda: {"properties": members(depth), "additionalProperties": schema(depth + 1)},
        lambda: {"properties": members(depth), "additionalProperties": False},
        lambda: {"patternProperties": members(depth, PATTERNS)},
        lambda: {"patternProperties": members(depth, PATTERNS), "additionalProperties": schema(depth + 1)},
        lambda: {"propertyNames": schema(depth + 1)},
        lambda: {"items": schema(depth + 1)},
        lambda: {"contains": schema(depth + 1)},
        lambda: {"not": schema(depth + 1)},
        lambda: {rng.choice(["anyOf", "oneOf", "allOf"]): [schema(depth + 1) for _ in range(rng.randrange(1, 4))]},
        lambda: {"if": schema(depth + 1), "then": schema(depth + 1), "else": schema(depth + 1)},
        lambda: {"$ref": rng.choice(["#/$defs/leaf", "#/$defs/tree", "#/$defs/a~1b%20c"])},
    ]
    newer = [
        lambda: {"prefixItems": [schema(depth + 1) for _ in range(rng.randrange(1, 3))], "items": schema(depth + 1)},
        lambda: {"contains": schema(depth + 1), "minContains": rng.randrange(3), "maxContains": rng.randrange(1, 4)},
        lambda: {"dependentRequired": {rng.choice(NAMES): names()}},
        lambda: {"dependentSchemas": members(depth)},
    ]
    choices = leaves if depth >= 3 else leaves + deep + deep
    if depth < 3 and not draft7:
        choices = choices + newer
    return rng.choice(choices)()


def schema(depth=0, draft7=False):
    if rng.random() < 0.06:
        return rng.choice([True, False])
    whole = {}
    for _ in range(rng.randrange(1, 4)):
        whole.update(keyword(depth, draft7 or DRAFT7))
    if DRAFT7 and "$ref" in whole:
        return {"$ref": whole["$ref"]}
    return whole


DEFS = {
    "leaf": {"type": ["string", "integer"]},
    "tree": {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}}, "maxProperties": 2},
    "a/b c": {"minimum": 1},
}

for number in range(CASES):
    DRAFT7 = number % 5 == 4
    whole = schema()
    if whole is True or whole is False:
        whole = {"allOf": [whole]}
    if "$ref" in whole and DRAFT7:
        whole = {"allOf": [whole]}
    if "$ref" in json.dumps(whole):
        whole["$defs"] = DEFS
    judge = Draft202012Validator
    if DRAFT7:
        whole["$schema"] = "http://json-schema.org/draft-07/schema#"
        judge = Draft7Validator
    judge.check_schema(whole)
    values = [value() for _ in range(3)]
    print(json.dumps({"schema": whole, "cases": [[it, judge(whole).is_valid(it)] for it in values]}, ensure_ascii=False, separators=(",", ":")))
