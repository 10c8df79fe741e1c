"""Configuration of the server."""
