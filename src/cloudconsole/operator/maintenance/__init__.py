"""Backups of a whole store, and restoring them, while it is being served."""
