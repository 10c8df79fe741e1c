"""HTML page of the API reference, rendered from the OpenAPI document."""

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, Final, NamedTuple

Schema = dict[str, Any]

_TYPES = {"string": "text"}
"""Names of JSON types that differ from JSON Schema's."""


class FieldRow(NamedTuple):
    name: str
    type: str
    description: str


def data_schema(document: Schema, action: str) -> Schema:
    """Return the schema of an action's `data`."""
    schema: Schema = document["components"]["schemas"][f"{action}Answer"]["properties"]["data"]
    return schema


def example_of(document: Schema, action: str) -> tuple[Any, Any]:
    """Return an example body of the action and its response, or None for both."""
    call = document["paths"]["/api/"]["post"]
    contents = (call["requestBody"]["content"], call["responses"]["200"]["content"])
    body, response = (content["application/json"]["examples"].get(action, {}).get("value") for content in contents)
    return body, response


def parameter_rows(document: Schema, action: str) -> list[FieldRow]:
    body = document["components"]["schemas"][f"{action}Body"]
    return [row for row in field_rows(document, body) if row.name != "action"]


def field_rows(document: Schema, schema: Schema, prefix: str = "") -> Iterator[FieldRow]:
    """Yield a row for each field of an object or of an array's objects, including nested fields."""
    schema = _resolve(schema, document)
    if "items" in schema:
        yield from field_rows(document, schema["items"], f"{prefix[:-1]}[]." if prefix else "")
    for name, below in schema.get("properties", {}).items():
        yield _row(prefix + name, below, document)
        yield from field_rows(document, below, f"{prefix}{name}.")
    if "discriminator" in schema and prefix:
        yield from _variant_rows(document, schema, prefix)


def _variant_rows(document: Schema, schema: Schema, prefix: str) -> Iterator[FieldRow]:
    """Yield a row for each field of all variants of a discriminated union."""
    tag = schema["discriminator"]["propertyName"]
    variants = {
        name: _resolve({"$ref": target}, document) for name, target in schema["discriminator"]["mapping"].items()
    }
    kinds = ", ".join(
        f"`{name}` ({variant.get('description', name).rstrip('.')})" for name, variant in variants.items()
    )
    yield FieldRow(prefix + tag, "text", f"The kind: {kinds}.")
    fields = {name: below for variant in variants.values() for name, below in variant["properties"].items()}
    for name, below in fields.items():
        having = [kind for kind, variant in variants.items() if name in variant["properties"]]
        row = _row(prefix + name, below, document)
        only = "" if len(having) == len(variants) else f"Of {', '.join(f'`{kind}`' for kind in having)}. "
        if name != tag:
            yield row._replace(description=only + row.description)


def type_text(schema: Schema, document: Schema) -> str:
    schema = _resolve(schema, document)
    if "discriminator" in schema:
        return "object"
    if "anyOf" in schema:
        return " or ".join(type_text(each, document) for each in schema["anyOf"])
    if "enum" in schema:
        return "text"
    if schema.get("items"):
        return f"array of {_plural(type_text(schema['items'], document))}"
    if "additionalProperties" in schema and schema["additionalProperties"] is not True:
        return f"object of {_plural(type_text(schema['additionalProperties'], document))}"
    kind: str = schema.get("type", "any")
    return _TYPES.get(kind, kind)


def shown(value: object, indent: str = "") -> str:
    """Format JSON, with each value on one line if it fits."""
    flat = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(flat) <= 110:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(name)}: {shown(each, deeper)}" for name, each in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + shown(each, deeper) for each in value) + f"\n{indent}]"


def _row(name: str, schema: Schema, document: Schema) -> FieldRow:
    unit = schema.get("x-unit")
    kind = type_text(schema, document)
    return FieldRow(name, f"{kind}, {unit}" if unit else kind, schema.get("description", ""))


def _plural(kind: str) -> str:
    first, *rest = kind.split(" ", 1)
    return " ".join([first if first == "text" else f"{first}s", *rest])


def _resolve(schema: Schema, document: Schema) -> Schema:
    """Merge a schema with the one that it references; its own keys take precedence."""
    if "$ref" not in schema:
        return schema
    return {**document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], **schema}


BASE_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b2a38;--soft:#5b6b7a;--line:#d5dde4;--paper:#f7f9fb;--accent:#0b6bcb}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9fb0bf;--line:#33414e;--paper:#12191f;--accent:#7cb8f7}}
body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.6 system-ui,sans-serif}
main{max-width:44rem;margin:0 auto;padding:3rem 1.25rem}
h1{font-size:2rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2.25rem 0 .5rem}
p.lead{color:var(--soft);margin:0}a{color:var(--accent)}
ol,ul{padding-left:1.4rem}li{margin:.35rem 0}
code{font:.88em ui-monospace,monospace;border:1px solid var(--line);border-radius:4px;padding:.1em .35em}
code{overflow-wrap:anywhere}
"""


Document = dict[str, Any]

STYLE: Final = (
    BASE_STYLE
    + """
main{max-width:56rem}nav ul{columns:2;padding:0;list-style:none}nav li{margin:0;line-height:2}
h2{border-top:1px solid var(--line);padding-top:1.5rem}
h3{margin:2.25rem 0 .25rem}h4{font-size:.95rem;margin:1.25rem 0 .4rem;color:var(--soft)}p{margin:.4rem 0}
h3 a{color:inherit;text-decoration:none}h3 a:hover,h3 a:focus{text-decoration:underline}
pre{font:.82rem/1.5 ui-monospace,monospace;border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem}
pre{overflow:auto;max-height:26rem;margin:0}:target{scroll-margin-top:1rem}.zh{color:var(--soft)}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.45rem .9rem .45rem 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}td code{border:0;padding:0;font-size:.95em;overflow-wrap:normal}
@media(max-width:40rem){nav ul{columns:1}main{padding:2rem 1rem}thead{display:none}
tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}td{display:block;padding:.1rem 0;border:0}}
"""
)

LOGIN: Final = """\
base=http://127.0.0.1:8000
read -rsp "Password of demo: " password
curl -sS -c jar $base/api/ >/dev/null
token=$(awk '$6 == "csrftoken" {print $7}' jar)
printf %s "$password" | curl -sS -b jar -c jar $base/auth/login/ \\
  --data-urlencode csrfmiddlewaretoken=$token --data-urlencode username=demo \\
  --data-urlencode password@- --data-urlencode region=$base/v3
curl -sS -b jar $base/api/ -H "X-CSRFToken: $token" -d action=GetUsageLimits"""


def render(document: Document) -> str:
    names = [action["name"] for action in document["x-actions"]]
    links = [("log-in", "Log in"), *((name, name) for name in names), ("errors", "Errors")]
    contents = "".join(f'<li><a href="#{anchor}">{text}</a></li>' for anchor, text in links)
    actions, extensions = (
        "".join(_action(document, action) for action in document["x-actions"] if action["extension"] is is_extension)
        for is_extension in (False, True)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Cloud Console: reference</title><style>{STYLE}</style></head><body><main>"
        f'<h1>Reference</h1><p class="lead">{_marked(document["info"]["description"])}</p>'
        f'<p>Version {escape(document["info"]["version"])}. For programs: <a href="/openapi.json">openapi.json</a>. '
        f'<a href="/">Home</a></p><nav><ul>{contents}</ul></nav>'
        f'<h2 id="log-in">Log in</h2>{_operations(document)}<h4>With curl</h4><pre>{escape(LOGIN)}</pre>'
        f'<h2 id="actions">Actions</h2>{actions}'
        + (f'<h2 id="extensions">Extensions</h2>{extensions}' if extensions else "")
        + f'<h2 id="errors">Errors</h2>{_errors(document)}</main></body></html>'
    )


def _operations(document: Document) -> str:
    rows = [
        [
            f"<code>{method.upper()} {path}</code>",
            f"{_marked(operation['summary'])}. {_marked(operation['description'])}",
        ]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return _table(["operation", "what it does"], rows)


def _action(document: Document, action: Document) -> str:
    name, data = action["name"], data_schema(document, action["name"])
    body, response = example_of(document, name)
    parameters = parameter_rows(document, name)
    return (
        f'<h3 id="{name}"><a href="#{name}">{name}</a></h3><p>{_marked(action["purpose"]["en"])} '
        f'<span class="zh" lang="zh">{escape(action["purpose"]["zh"])}</span></p>'
        + "".join(f"<p>{_marked(note)}</p>" for note in action["notes"])
        + (f"<h4>Parameters</h4>{_fields(parameters)}" if parameters else "")
        + f"<h4><code>data</code>: {escape(type_text(data, document))}</h4>{_fields(field_rows(document, data))}"
        + (f"<h4>Example body</h4><pre>{escape(shown(body))}</pre>" if body else "")
        + (f"<h4>Response</h4><pre>{escape(shown(response))}</pre>" if response else "")
    )


def _fields(rows: Iterable[FieldRow]) -> str:
    cells = [[f"<code>{escape(row.name)}</code>", escape(row.type), _marked(row.description)] for row in rows]
    return _table(["field", "type", "meaning"], cells)


def _errors(document: Document) -> str:
    rows = [
        [
            str(error["code"]),
            f'<code id="{error["error"]}">{error["error"]}</code>',
            f"{_marked(error['when'])}. <br>{_marked(error['remedy'])}",
            f'{escape(error["message"]["en"])}<br><span class="zh" lang="zh">{escape(error["message"]["zh"])}</span>',
        ]
        for error in document["x-errors"]
    ]
    return _table(["code", "error", "when, and what to do", "message"], rows)


def _table(head: list[str], rows: list[list[str]]) -> str:
    titles = "".join(f"<th>{title}</th>" for title in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>'


def _marked(text: str) -> str:
    """Escape text and mark up backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
