"""Command-line interface. Commands that need the server are imported by name, only when called."""
