"""Consoles from the caller's side: `Console` and `AsyncConsole` over one core that holds the protocol."""
