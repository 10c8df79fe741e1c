"""The generated documents are up to date and list every action, field and error."""

from pathlib import Path

import msgspec
import pytest
from tools.build_docs import DOCUMENTS

from cloudconsole.spec.actions import ACTIONS, Action
from cloudconsole.spec.errors import ApiError

ROOT = Path(__file__).parents[2]
ACTIONS_PAGE = (ROOT / "docs/reference/actions.md").read_text("utf-8")
ERRORS_PAGE = (ROOT / "docs/reference/errors.md").read_text("utf-8")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_generated_document_is_up_to_date(name: str) -> None:
    assert DOCUMENTS[name]() == (ROOT / name).read_text("utf-8"), "run: make docs"


@pytest.mark.parametrize("error", ApiError.__subclasses__(), ids=lambda error: error.error)
def test_every_error_is_documented_with_code_and_messages(error: type[ApiError]) -> None:
    rows = [line for line in ERRORS_PAGE.splitlines() if f"| `{error.error}` |" in line]
    assert rows[0].startswith(f"| {error.code} |")
    assert error.text.en in rows[-1]
    assert error.text.zh in rows[-1]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_action_is_documented_with_its_fields(action: Action) -> None:
    section = ACTIONS_PAGE.partition(f"\n## {action.name}\n")[2].partition("\n## ")[0]
    assert action.purpose.en in section
    record = action.record if isinstance(action.record, type) else action.record.__args__[0]
    for name in (*(field.encode_name for field in msgspec.structs.fields(record)), *action.parameters):
        assert f"| `{name}` |" in section
