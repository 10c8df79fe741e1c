"""Imported by the fork server: compiles the admin UI templates once for all servers."""

from datetime import UTC

from cloudconsole.core.clock import SystemClock
from cloudconsole.server.admin_ui.templating import Renderer

Renderer(UTC, "UTC", "USD", SystemClock())
