"""Configuration files as text, and the options that the projects have in common."""

from typing import Any

from lab.plan import SERVICE_PASSWORD, Plan

Sections = dict[str, dict[str, Any]]


def text(sections: Sections) -> str:
    """Sections as an INI file."""
    lines: list[str] = []
    for section, options in sections.items():
        lines += [f"[{section}]", *(f"{name} = {_written(value)}" for name, value in options.items()), ""]
    return "\n".join(lines)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def database(plan: Plan, name: str) -> dict[str, Any]:
    """How a project finds its database."""
    return {"connection": plan.database(name), "max_pool_size": 3, "max_overflow": 10}


def locks(plan: Plan, region: str, project: str) -> dict[str, Any]:
    """Where a project's processes keep out of each other's way."""
    return {"lock_path": plan.data(region, project) / "locks"}


def credentials(plan: Plan, user: str) -> dict[str, Any]:
    """How a project's own user logs in to Keystone."""
    return {
        "auth_url": plan.keystone,
        "auth_type": "password",
        "project_domain_name": "Default",
        "user_domain_name": "Default",
        "project_name": "service",
        "username": user,
        "password": SERVICE_PASSWORD,
    }


def token(plan: Plan, user: str) -> dict[str, Any]:
    """How a project checks the tokens of its callers."""
    return credentials(plan, user) | {
        "www_authenticate_uri": plan.keystone,
        "service_token_roles_required": True,
        "service_token_roles": "service",
        # By default a revoked token is good for five minutes more, which no test waits for.
        "token_cache_time": 5,
    }
