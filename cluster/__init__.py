"""The parts of many machines on this one, for tests and benchmarks: PostgreSQL, replicas, and wires that can fail.

Each is real, listens on a free port of the loopback address, and is ended by process id.
"""
