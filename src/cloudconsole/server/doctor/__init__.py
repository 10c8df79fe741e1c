"""Checks of `cloudconsole doctor`: read-only diagnosis with suggested fixes."""
