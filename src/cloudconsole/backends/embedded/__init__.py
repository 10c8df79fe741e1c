"""The ports over the console's own store: the default, with nothing to set up."""
