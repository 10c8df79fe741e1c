"""A minimal browser: parses pages, fills in and submits their forms, and follows redirects."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urlencode

from tests.harness import FORM, ApiClient, InProcessTransport, Reply

SIGN_IN: Final = "/admin/sign-in/"
_VOID: Final = {"input", "meta", "link", "br"}


@dataclass
class Form:
    """A form on a page: its fields and their values, without unticked checkboxes."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    boxes: set[str] = field(default_factory=set)
    buttons: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    """Problem texts by field name."""

    def filled(self, **values: str | bool | None) -> dict[str, str]:
        """Return the fields to submit with these values, for fields of this form only; `__` in a name means `.`."""
        sent = dict(self.fields)
        for name, value in values.items():
            known = name.replace("__", ".")
            assert known in self.fields or known in self.boxes, f"{known} is not in the form {self.action}"
            if value is False or value is None:
                sent.pop(known, None)
            else:
                sent[known] = "on" if value is True else value
        return sent


class _PageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.text: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.headings: list[str] = []
        self.by_id: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self._described: list[tuple[Form, str, str]] = []
        self._select: str | None = None
        self._area: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        attrs = {name: value or "" for name, value in attributes}
        self.tags.append((tag, attrs))
        if tag not in _VOID:
            self._open.append((tag, attrs.get("id", "")))
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "h1":
            self.headings.append("")
        if tag == "form":
            self.forms.append(Form(attrs.get("action", ""), attrs.get("method", "get")))
        elif self.forms and tag in ("input", "select", "textarea", "button", "option"):
            self._control(self.forms[-1], tag, attrs)

    def _control(self, form: Form, tag: str, attrs: dict[str, str]) -> None:
        name = attrs.get("name", "")
        if "aria-invalid" in attrs:
            self._described.append((form, name, attrs["aria-describedby"]))
        if tag == "option":
            if self._select is not None and ("selected" in attrs or self._select not in form.fields):
                form.fields[self._select] = attrs.get("value", "\0" if "value" not in attrs else "")
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._area = name
            form.fields[name] = ""
        elif tag == "button":
            form.buttons.append(name)
            form.boxes.add(name)
        elif attrs.get("type") == "checkbox":
            form.boxes.add(name)
            if "checked" in attrs:
                form.fields[name] = attrs.get("value", "on")
        else:
            form.fields[name] = attrs.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag == "select":
            self._select = None
        if tag == "textarea" and self._area is not None:
            form, name = self.forms[-1], self._area
            form.fields[name] = form.fields[name].removeprefix("\n")
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1].fields[self._area] += data
        elif self._select is not None and self.forms[-1].fields.get(self._select) == "\0":
            self.forms[-1].fields[self._select] = data
        self.text.append(data)
        for tag, element in self._open:
            if element:
                self.by_id[element] = self.by_id.get(element, "") + data
            if tag == "h1":
                self.headings[-1] += data

    def finish(self) -> None:
        for form, name, described in self._described:
            form.problems[name] = next(self.by_id[each] for each in described.split() if each.endswith("-problem"))


class Page:
    """A parsed page."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.status = reply.status
        self.html = reply.body.decode()
        parser = _PageParser()
        parser.feed(self.html)
        parser.close()
        parser.finish()
        self.forms = parser.forms
        self.links = parser.links
        self.tags = parser.tags
        self.text = " ".join("".join(parser.text).split())
        self.heading = " ".join(parser.headings[0].split()) if parser.headings else ""
        self.headings = len(parser.headings)
        self._by_id = parser.by_id

    def form(self, ending: str) -> Form:
        """Return the form whose action ends with this path."""
        (found,) = [form for form in self.forms if form.action.partition("?")[0].endswith(ending)]
        return found

    @property
    def problems(self) -> list[str]:
        """The lines of the problem summary."""
        within, found = False, list[str]()
        for tag, attrs in self.tags:
            if attrs.get("role") == "alert":
                within = True
            elif within and tag == "form":
                break
        if within:
            found = list(self._summary())
        return found

    def _summary(self) -> Iterator[str]:
        start = self.html.index('role="alert"')
        parser = _PageParser()
        parser.feed(self.html[self.html.index(">", start) + 1 : self.html.index("</div>", start)])
        yield from (" ".join(line.split()) for line in "".join(parser.text).split("\n") if line.strip())


@dataclass
class Operator:
    """A client of the admin UI."""

    transport: InProcessTransport
    client: ApiClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = ApiClient(self.transport)

    def get(self, path: str) -> Page:
        """Return a page, following redirects."""
        return self._follow(self.client.send("GET", path))

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        sent = {
            "Content-Type": FORM,
            "Origin": self.transport.base,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return self.client.send("POST", path, sent, urlencode(fields).encode())

    def send(self, form: Form, **values: str | bool | None) -> Page:
        """Fill in and submit a form; return the resulting page."""
        if form.method == "get":
            return self.get(f"{form.action}?{urlencode(form.filled(**values))}")
        return self._follow(self.post(form.action, form.filled(**values)))

    def sign_in(self, username: str = "operator", password: str | None = None, path: str = "/admin/") -> Page:
        page = self.get(path)
        return self.send(page.form(SIGN_IN), username=username, password=password or f"console-{username}")

    def _follow(self, reply: Reply) -> Page:
        for _ in range(5):
            location = reply.header("location")
            if reply.status not in (303, 308) or location is None:
                return Page(reply)
            reply = self.client.send("GET", location)
        raise AssertionError("too many redirects")
