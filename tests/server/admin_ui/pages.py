"""All paths of the admin UI, and a minimal browser: it parses pages, submits their forms and follows redirects."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, TreeBuilder

from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES
from cloudconsole.server.commands.admin.accounts import VERBS
from tests.harness import FORM, ApiClient, InProcessTransport, Reply

SIGN_IN: Final = "/admin/sign-in/"
LANGUAGE: Final = "/admin/language/"
_VERBS: Final = {
    entity.name: [one for one in (*entity.verbs, *(VERBS if entity is ACCOUNTS else ())) if one not in ("show", "list")]
    for entity in ENTITY_TYPES
}

POSTS: Final = [f"/admin/{name}/{verb}/" for name, verbs in _VERBS.items() for verb in verbs] + ["/admin/sign-out/"]
"""Paths that change something, except the sign-in and the language."""

GETS: Final = [
    "/admin/",
    "/admin/audit/",
    *(f"/admin/{entity.name}/" for entity in ENTITY_TYPES),
    *(f"/admin/{entity.name}/one/" for entity in ENTITY_TYPES),
    *(path for path in POSTS if not path.endswith(("/change/", "/sign-out/"))),
]
"""Paths that show something, except the sign-in."""
CSVS: Final = [f"/admin/{entity.name}/csv/" for entity in ENTITY_TYPES]
"""Paths of downloads of lists."""
AUDIT_CSV: Final = "/admin/audit/csv/"
_VOID: Final = {"img", "input", "link", "meta"}


@dataclass
class Form:
    """A form on a page: its fields and their values, without unticked checkboxes."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)
    """Values of check boxes and buttons."""
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
                sent[known] = self.boxes.get(known, "on") if value is True else value
        return sent


class _TreeParser(HTMLParser):
    """Builds a tree; fails for elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tree = TreeBuilder()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attributes})
        self._open.append(tag)
        if tag in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


class Page:
    """A parsed page."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.status = reply.status
        self.html = reply.body.decode()
        parser = _TreeParser()
        parser.feed(self.html)
        parser.close()
        root = parser.tree.close()
        self.root = root
        self.tags = [(element.tag, element.attrib) for element in root.iter()]
        self.links = [attributes["href"] for tag, attributes in self.tags if tag == "a" and "href" in attributes]
        self.text = _text(root)
        self._headings = [_text(heading) for heading in root.iter("h1")]
        by_id = {element.attrib["id"]: element for element in root.iter() if "id" in element.attrib}
        outside = [element for element in root.iter() if "form" in element.attrib]
        forms = [_form(element, by_id, outside) for element in root.iter("form")]
        self.forms = [form for form in forms if form.action != LANGUAGE]
        """All but the choice of the language, which every page has."""
        (self.language_form,) = [form for form in forms if form.action == LANGUAGE]
        alerts = [element for element in root.iter() if element.get("role") == "alert"]
        lines = "".join(alerts[0].itertext()).split("\n") if alerts else []
        self.problems = [" ".join(line.split()) for line in lines if line.strip()]
        """The lines of the problem summary."""

    @property
    def heading(self) -> str:
        """The only heading of the first level."""
        (heading,) = self._headings
        return heading

    def form(self, ending: str) -> Form:
        """Return the form whose action ends with this path."""
        (found,) = [form for form in self.forms if form.action.partition("?")[0].endswith(ending)]
        return found


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _form(element: Element, by_id: dict[str, Element], outside: list[Element]) -> Form:
    form = Form(element.get("action", ""), element.get("method", "get"))
    for control in [*element.iter(), *(each for each in outside if each.attrib["form"] == element.get("id"))]:
        name = control.get("name", "")
        if "aria-invalid" in control.attrib:
            problem = next(each for each in control.attrib["aria-describedby"].split() if each.endswith("-problem"))
            form.problems[name] = _text(by_id[problem])
        if control.tag == "button" or control.get("type") == "checkbox":
            form.boxes[name] = control.get("value", "on")
            if "checked" in control.attrib:
                form.fields[name] = control.get("value", "on")
        elif control.tag == "input":
            form.fields[name] = control.get("value", "")
        elif control.tag == "textarea":
            form.fields[name] = "".join(control.itertext()).removeprefix("\n")
        elif control.tag == "select":
            options = sorted(control.iter("option"), key=lambda option: "selected" not in option.attrib)
            form.fields[name] = options[0].get("value", _text(options[0]))
    return form


class Operator:
    """A client of the admin UI."""

    def __init__(self, transport: InProcessTransport) -> None:
        self.transport = transport
        self.client = ApiClient(transport)

    def get(self, path: str) -> Page:
        """Return a page, following redirects."""
        return self._follow(self.client.send("GET", path))

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        sent = {"Content-Type": FORM, "Origin": self.transport.base} | headers
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
