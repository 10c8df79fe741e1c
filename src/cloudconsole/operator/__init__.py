"""Operators' changes to the cloud: validated, audited, and counted in one transaction."""
