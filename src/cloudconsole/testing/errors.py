"""Errors of test consoles."""


class ServerNotStarted(Exception):
    """The console could not be started, or it does not respond."""
