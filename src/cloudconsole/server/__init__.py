"""The service: HTTP, the actions, and the commands that run it."""
