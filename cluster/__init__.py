"""A multi-server deployment on one machine, for tests and benchmarks: PostgreSQL, nginx, replicas, faulty proxies.

All servers are real processes on free loopback ports.
"""
