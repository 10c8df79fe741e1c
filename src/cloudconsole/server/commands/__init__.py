"""The commands that run and manage a console; the command line loads them by name."""
