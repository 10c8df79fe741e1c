"""The console with a real OpenStack backend."""
