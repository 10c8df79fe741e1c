"""Alembic environment: runs the migrations on the given connection."""

from typing import Any

from alembic import context

from cloudconsole.store.migrations import record_compatibility


def _record(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:  # noqa: ARG001 - Alembic passes all of them
    """Record the compatibility that the migration declares; the oldest ones declare none."""
    oldest_compatible = getattr(step.up_revision.module, "oldest_compatible", None)
    if oldest_compatible is not None:
        record_compatibility(ctx.connection, step.up_revision_id, oldest_compatible)


context.configure(connection=context.config.attributes["connection"], transactional_ddl=True, on_version_apply=_record)
with context.begin_transaction():
    context.run_migrations()
