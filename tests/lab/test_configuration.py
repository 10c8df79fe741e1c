"""The configuration that services are started with."""

from configparser import RawConfigParser

import pytest
from lab.plan import REGIONS, Plan

from lab import configuration, options


def parsed(sections: options.Sections) -> RawConfigParser:
    parser = RawConfigParser(default_section="none")
    parser.read_string(options.text(sections))
    return parser


def test_sections_become_a_file() -> None:
    assert options.text({"one": {"a": 1, "b": True}, "two": {}}) == "[one]\na = 1\nb = true\n\n[two]\n"


@pytest.mark.parametrize("project", configuration.PROJECTS)
def test_a_region_speaks_of_no_other(plan: Plan, project: str) -> None:
    written = options.text(configuration.PROJECTS[project](plan, REGIONS[1]))
    assert REGIONS[0].lower() not in written.lower()
    assert REGIONS[1].lower() in written.lower()


@pytest.mark.parametrize("project", configuration.PROJECTS)
def test_every_project_checks_tokens_at_the_labs_keystone(plan: Plan, project: str) -> None:
    read = parsed(configuration.PROJECTS[project](plan, REGIONS[0]))
    assert read["keystone_authtoken"]["auth_url"] == f"http://127.0.0.1:{plan.ports['keystone']}"


def test_wrong_passwords_lock_a_user_out_for_seconds(plan: Plan) -> None:
    rules = parsed(configuration.keystone(plan))["security_compliance"]
    assert 1 < int(rules["lockout_failure_attempts"]) < 10
    assert 1 < int(rules["lockout_duration"]) < 10
