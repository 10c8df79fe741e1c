"""The ports on the console's own store, the default."""
