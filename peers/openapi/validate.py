"""Validates an OpenAPI document on stdin with PyPI's openapi-spec-validator. Prints its version and the number of its paths."""

import json
import sys

from openapi_spec_validator import OpenAPIV31SpecValidator

document = json.load(sys.stdin)
errors = list(OpenAPIV31SpecValidator(document).iter_errors())
for error in errors[:20]:
    print("/".join(map(str, error.absolute_path)), error.message[:400], file=sys.stderr)
if errors:
    sys.exit(f"{len(errors)} errors")
print(document["openapi"], len(document["paths"]))
