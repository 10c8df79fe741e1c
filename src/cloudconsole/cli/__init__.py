"""The command line. Commands that need the server are loaded by name, only when called."""
