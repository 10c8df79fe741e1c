"""The embedded store: two SQLite files in one directory."""
