"""Backup, restore and retention of a store, and its copy to PostgreSQL."""
