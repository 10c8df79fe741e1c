"""Tenant commands, one module each."""
