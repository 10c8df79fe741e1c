"""Random values: valid ones for a schema, and odd ones."""

import re
from datetime import date
from random import Random
from typing import Any, Final

from cloudconsole.spec.extensions import MONTH

Schema = dict[str, Any]

ODD_TEXTS: Final = (
    "",
    " ",
    "\0",
    "\x7f",
    "\x85",
    "\u202e",
    "\ufeff",
    "\ud800",
    "a" * 64,
    "a" * 65,
    "9" * 64,
    "😀" * 64,
    "😀" * 65,
    "' OR 1=1 --",
    "{0}{field}",
    "%s%n",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "206813",
    "207001",
    "GetNews",
    "null",
    "true",
)
ODD_NUMBERS: Final = (
    0,
    -1,
    -0.0,
    0.5,
    1e308,
    5e-324,
    2**31,
    2**53,
    2**63,
    -(2**63) - 1,
    2**64,
    10**64 - 1,
    10**64,
    10**300,
)
ALPHABETS: Final = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "云控制台域名用户密码éüßñøłőžабв",
    "\u200b\u2028\u2029\u00ad\ufffd😀🏳️",
)


class Values:
    def __init__(self, rng: Random, schemas: dict[str, Schema]) -> None:
        self._rng = rng
        self._schemas = schemas

    def valid(self, schema: Schema) -> Any:
        """Generate a value that matches the schema."""
        rng = self._rng
        if "$ref" in schema:
            return self.valid(self._schemas[schema["$ref"].rpartition("/")[2]])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return rng.choice(schema["enum"])
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self.valid(rng.choice(schema[choice]))
        return self._typed_value(schema)

    def _typed_value(self, schema: Schema) -> Any:
        match schema["type"]:
            case "object":
                required = schema.get("required", [])
                chosen = [name for name in schema["properties"] if name in required or self._rng.random() < 0.5]
                return {name: self.valid(schema["properties"][name]) for name in chosen}
            case "string" if schema.get("format") == "date":
                return str(date.fromordinal(self._rng.randint(1, date.max.toordinal())))
            case "string" if schema.get("pattern") == MONTH:
                return f"{self._rng.randint(1970, 9998)}-{self._rng.randint(1, 12):02}"
            case "string":
                return self._matching_text(schema)
            case "integer":
                low, high = schema.get("minimum", -(2**62)), schema.get("maximum", 2**62)
                return self._rng.choice((self._rng.randint(max(low, -(10**9)), min(high, 10**9)), low, high))
            case "array":
                least = schema.get("minItems", 0)
                return [self.valid(schema["items"]) for _ in range(least + self._rng.randrange(3))]
            case "null":
                return None
            case unknown:
                raise ValueError(f"unsupported schema type {unknown!r}")

    def _matching_text(self, schema: Schema) -> str:
        shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 80)
        while True:
            text = self.text(self._rng.randint(shortest, longest), shortest)
            if len(text) <= longest and re.search(schema.get("pattern", ""), text):
                return text

    def text(self, longest: int, shortest: int = 0) -> str:
        """Generate text without control characters."""
        alphabet = self._rng.choice(ALPHABETS)
        return "".join(self._rng.choices(alphabet, k=self._rng.randint(min(shortest, longest), longest)))

    def odd(self, depth: int = 0) -> Any:
        """Generate any JSON value, preferably an edge case."""
        rng = self._rng
        kind = rng.randrange(6 if depth < 3 else 4)
        if kind == 0:
            return rng.choice((None, True, False))
        if kind == 1:
            return rng.choice(ODD_NUMBERS)
        if kind == 2:
            return rng.choice(ODD_TEXTS)
        if kind == 3:
            return self.text(40)
        if kind == 4:
            return [self.odd(depth + 1) for _ in range(rng.randrange(4))]
        return {self.text(8): self.odd(depth + 1) for _ in range(rng.randrange(4))}
