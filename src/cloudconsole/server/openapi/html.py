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


def shown(value: object, indent: str = "", width: int = 110) -> str:
    """Format JSON, with each value on one line if it fits."""
    flat = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(flat) <= width:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(name)}: {shown(each, deeper, width)}" for name, each in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + shown(each, deeper, width) for each in value) + f"\n{indent}]"


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


Document = dict[str, Any]

_LOGIN: Final = """\
(
base={base}
username=demo; region="$base/v3"; jar=$(mktemp); trap 'rm -f "$jar"' EXIT
printf 'Password of %s: ' "$username" >&2
stty -echo 2>/dev/null; IFS= read -r password; stty echo 2>/dev/null; echo >&2
curl -sS -c "$jar" "$base/api/" >/dev/null
token=$(awk '$6 == "csrftoken" {{print $7}}' "$jar")
login=$(printf %s "$password" | curl -sS --fail-with-body -b "$jar" -c "$jar" "$base/auth/login/" \\
  --data-urlencode "csrfmiddlewaretoken=$token" --data-urlencode "username=$username" \\
  --data-urlencode password@- --data-urlencode "region=$region") ||
  {{ printf '%s\\n' "$login" >&2; exit 1; }}
curl -sS -b "$jar" "$base/api/" -H "X-CSRFToken: $token" -d action=GetUsageLimits; echo
curl -sS -b "$jar" -H "X-CSRFToken: $token" -X POST "$base/auth/logout/" >/dev/null
)"""
"""In parentheses, so that a shell reads all of it before it runs the line that asks for the password.

Then `exit`, after a failed login, leaves only them.
"""

_PYTHON: Final = """\
from getpass import getpass

from cloudconsole import Console

with Console(
    "{base}",
    username="demo",
    password=getpass(),
) as console:
    print(console.call("GetUsageLimits"))
    console.logout()"""

_CLI: Final = "cloudconsole usage --url={base} --username=demo"

_INTRODUCTION: Final = (
    "All data of the console's pages, for programs: JSON over HTTP, with one session per client. Every response has "
    "`message`, `code` and `data`, and an error also `error`."
)

_IN_CHINESE: Final = "本文档为英文；各操作的用途和错误信息附有中文。"

_STEPS: Final = (
    "`GET /api/` opens a session: it sets the cookies `sessionid` and `csrftoken`, and names regions and extensions.",
    "`POST /auth/login/` logs in with username, password, region and the CSRF token.",
    "`POST /api/` calls an action by its name in `action`, with the token as `X-CSRFToken`, as often as needed.",
    "`POST /auth/logout/` ends the session.",
)

_EXTENSIONS: Final = "Consoles differ in these; `GET /api/` lists those of a console."

_BASE: Final = '<span class="base">https://console.example.com</span>'
"""A script replaces it with the console's address."""

_EXAMPLE_WIDTH: Final = 60
"""Characters in a line of an example, beside the text."""


def render(document: Document, head: str, icon: str) -> str:
    """Return the page; `head` has its style and scripts, `icon` is the address of the console's icon."""
    actions, extensions = (
        [action for action in document["x-actions"] if action["extension"] is is_extension]
        for is_extension in (False, True)
    )
    version = escape(document["info"]["version"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Cloud Console: API reference</title>{head}</head><body>"
        '<a class="skip-link button primary" href="#content">Skip to main content</a>'
        f'<header><a class="brand" href="/"><img src="{icon}" width="28" height="28" alt="">Cloud Console</a>'
        f'<span class="muted">Version {version}</span><a href="/openapi.json">openapi.json</a></header>'
        f'<main id="content" tabindex="-1"><div><h1>API reference</h1><p>{_marked(_INTRODUCTION)}</p>'
        f'<p class="muted" lang="zh">{_IN_CHINESE}</p></div>'
        f"{_contents(actions, extensions)}<div>{_first_steps()}"
        f'<h2 id="operations">Operations</h2>{_operations(document)}'
        f'<h2 id="actions">Actions</h2>{_summary("Actions", actions)}{_details(document, actions)}'
        + (
            f'<h2 id="extensions">Extensions</h2><p>{_marked(_EXTENSIONS)}</p>'
            f"{_summary('Extensions', extensions)}{_details(document, extensions)}"
            if extensions
            else ""
        )
        + f'<h2 id="errors">Errors</h2>{_errors(document)}</div></main></body></html>'
    )


def _contents(actions: list[Document], extensions: list[Document]) -> str:
    def entry(anchor: str, text: str, purpose: str = "") -> str:
        return f'<li data-text="{escape(purpose)}"><a href="#{anchor}">{text}</a></li>'

    def group(title: str, entries: Iterable[str]) -> str:
        return f"<p>{title}</p><ul>{''.join(entries)}</ul>"

    groups = [
        group(
            "Basics",
            [entry("first-steps", "First steps"), entry("operations", "Operations"), entry("errors", "Errors")],
        ),
        *(
            group(title, (entry(each["name"], each["name"], each["purpose"]["en"]) for each in found))
            for title, found in (("Actions", actions), ("Extensions", extensions))
            if found
        ),
    ]
    return f'<nav aria-label="Contents"><details open><summary>Contents</summary>{"".join(groups)}</details></nav>'


def _first_steps() -> str:
    steps = "".join(f"<li>{_marked(step)}</li>" for step in _STEPS)
    examples = (("curl", _LOGIN), ("Python", _PYTHON), ("the CLI", _CLI))
    blocks = "".join(
        f"<h3>With {name}</h3>{_code_block(f'Log in with {name}', escape(text, quote=False).format(base=_BASE))}"
        for name, text in examples
    )
    return f'<h2 id="first-steps">First steps</h2><ol>{steps}</ol>{blocks}'


def _summary(label: str, actions: Iterable[Document]) -> str:
    rows = [
        [f'<a href="#{action["name"]}"><code>{action["name"]}</code></a>', _marked(action["purpose"]["en"])]
        for action in actions
    ]
    return _table(f"{label} and their purposes", ["Action", "Purpose"], rows)


def _details(document: Document, actions: Iterable[Document]) -> str:
    return "".join(_action(document, action) for action in actions)


def _operations(document: Document) -> str:
    rows = [
        [
            f"<code>{method.upper()} {path}</code>",
            f"{_marked(operation['summary'])}. {_marked(operation['description'])}",
        ]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return _table("Operations", ["Operation", "What it does"], rows)


def _action(document: Document, action: Document) -> str:
    """Return the section of an action: its description and, beside it on wide screens, its example."""
    name, data = action["name"], data_schema(document, action["name"])
    body, response = example_of(document, name)
    parameters = parameter_rows(document, name)
    example = (f"<h4>Request body</h4>{_example(f'Body of {name}', body)}" if body else "") + (
        f"<h4>Response</h4>{_example(f'Response of {name}', response)}" if response else ""
    )
    purpose = action["purpose"]
    return (
        f'<section class="action"><h3 id="{name}"><a href="#{name}">{name}</a></h3><div>'
        f'<p>{_marked(purpose["en"])} <span class="muted" lang="zh">{escape(purpose["zh"])}</span></p>'
        + "".join(f"<p>{_marked(note)}</p>" for note in action["notes"])
        + "<h4>Parameters</h4>"
        + (_fields(f"Parameters of {name}", parameters) or '<p class="muted">None.</p>')
        + f"<h4>Response, <code>data</code>: {escape(type_text(data, document))}</h4>"
        + (_fields(f"Fields of {name}", field_rows(document, data)))
        + "</div>"
        + (f'<div class="example">{example}</div>' if example else "")
        + "</section>"
    )


def _fields(label: str, rows: Iterable[FieldRow]) -> str:
    """Return a table of the fields, if there are any."""
    cells = [[f"<code>{escape(row.name)}</code>", escape(row.type), _marked(row.description)] for row in rows]
    return _table(label, ["Field", "Type", "Meaning"], cells) if cells else ""


def _errors(document: Document) -> str:
    rows = [
        [
            f'<code id="{error["error"]}">{error["error"]}</code>',
            str(error["code"]),
            f"{_marked(error['when'][:1].upper() + error['when'][1:])}. <br>{_marked(error['remedy'])}",
            f"{escape(error['message']['en'])}<br>"
            f'<span class="muted" lang="zh">{escape(error["message"]["zh"])}</span>',
        ]
        for error in document["x-errors"]
    ]
    return _table("Errors", ["Error", "Code", "When, and what to do", "Message"], rows)


def _table(label: str, head: list[str], rows: list[list[str]]) -> str:
    titles = "".join(f"<th>{title}</th>" for title in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return _scrollable("div", label, f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>")


def _example(label: str, value: object) -> str:
    return _code_block(label, escape(shown(value, width=_EXAMPLE_WIDTH)))


def _code_block(label: str, content: str) -> str:
    """Return code, to which the script adds a copy button."""
    return f'<div class="code">{_scrollable("pre", label, content)}</div>'


def _scrollable(tag: str, label: str, content: str) -> str:
    """Return an element that can be scrolled with the keyboard."""
    return f'<{tag} class="scroll" tabindex="0" role="group" aria-label="{escape(label)}">{content}</{tag}>'


def _marked(text: str) -> str:
    """Escape text and mark up backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
