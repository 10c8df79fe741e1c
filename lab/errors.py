"""Errors of the lab."""


class LabError(Exception):
    """An operation failed; the message is meant for the user."""
