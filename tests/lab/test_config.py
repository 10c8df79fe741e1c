"""Configuration of the services."""

from configparser import RawConfigParser

import pytest
from lab.plan import REGIONS, Plan

from lab import config


def parsed(sections: config.Sections) -> RawConfigParser:
    parser = RawConfigParser(default_section="none")
    parser.read_string(config.to_ini(sections))
    return parser


def test_sections_are_formatted_as_ini() -> None:
    assert config.to_ini({"one": {"a": 1, "b": True}, "two": {}}) == "[one]\na = 1\nb = true\n\n[two]\n"


@pytest.mark.parametrize("project", config.PROJECTS)
def test_a_region_refers_to_no_other_region(plan: Plan, project: str) -> None:
    written = config.to_ini(config.PROJECTS[project](plan, REGIONS[1]))
    assert REGIONS[0].lower() not in written.lower()
    assert REGIONS[1].lower() in written.lower()


@pytest.mark.parametrize("project", config.PROJECTS)
def test_every_service_validates_tokens_with_the_labs_keystone(plan: Plan, project: str) -> None:
    read = parsed(config.PROJECTS[project](plan, REGIONS[0]))
    assert read["keystone_authtoken"]["auth_url"] == f"http://127.0.0.1:{plan.ports['keystone']}"


def test_wrong_passwords_lock_a_user_for_seconds(plan: Plan) -> None:
    rules = parsed(config.keystone(plan))["security_compliance"]
    assert 1 < int(rules["lockout_failure_attempts"]) < 10
    assert 1 < int(rules["lockout_duration"]) < 10
