"""Metrics: counters in shared memory, Prometheus exposition and its server."""
