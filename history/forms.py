"""The forms of a page: what they would send as they stand, and what a page has to complain of."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Form:
    """Where it goes, and its fields; boxes that are not ticked have none."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """What was read of a page: only what the forms of operators need."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self._complaint: list[str] | None = None
        self._depth = 0
        self.feed(html)
        self.close()

    @property
    def complaint(self) -> str:
        return " ".join("".join(self._complaint or []).split())

    def form(self, path: str) -> Form | None:
        """The form that goes to a path."""
        return next((form for form in self.forms if form.action.partition("?")[0] == path), None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", "")))
        elif tag == "input" and self.forms and (given.get("type") != "checkbox" or "checked" in given):
            self.forms[-1].fields[given.get("name", "")] = given.get("value", "on")
        if given.get("role") == "alert" and self._complaint is None:
            self._complaint, self._depth = [], 1
        elif self._depth and tag not in ("input", "br"):
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._depth = max(self._depth - 1, 0)

    def handle_data(self, data: str) -> None:
        if self._depth and self._complaint is not None:
            self._complaint.append(data)
