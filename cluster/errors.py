"""Errors of the cluster."""


class ClusterError(Exception):
    """An operation failed; the message is meant for the user."""
