"""Checks data against schemas with PyPI's jsonschema: lines of {"name", "schema", "data"} on stdin, the number that fit on stdout."""

import json
import sys

from jsonschema import Draft7Validator, Draft202012Validator

fit = 0
for line in sys.stdin:
    case = json.loads(line)
    schema = case["schema"]
    draft = Draft7Validator if "draft-07" in schema.get("$schema", "") else Draft202012Validator
    draft.check_schema(schema)
    errors = [error.message for error in draft(schema).iter_errors(case["data"])]
    if errors:
        print(case["name"], errors)
    else:
        fit += 1
print(f"{fit} fit")
