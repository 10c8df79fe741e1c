"""Processes that serve a console: supervisor and workers."""
