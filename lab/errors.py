"""The one error of the lab."""


class LabFailed(Exception):
    """What was asked for cannot be done; the message says why, and is all that its reader needs."""
