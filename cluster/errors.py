"""The one error of the cluster."""


class ClusterFailed(Exception):
    """What was asked for cannot be done; the message says why, and is all that its reader needs."""
