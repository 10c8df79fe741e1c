"""What a tenant does: a module for each command."""
