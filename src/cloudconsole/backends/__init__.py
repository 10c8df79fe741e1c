"""Implementations of the ports in `core.ports`; each translates its own errors."""
