"""Backup, restore, retention, repair and copying of a store."""
