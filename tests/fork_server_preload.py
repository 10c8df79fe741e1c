"""Loaded by the process that warm ones are forked from: the operator's pages, compiled for all servers to come."""

from datetime import UTC

from cloudconsole.server.admin_ui.templating import Renderer

Renderer(UTC, "UTC", "USD")
