"""Horizon imports its settings as `local.local_settings`; the parent directory is on its path."""
