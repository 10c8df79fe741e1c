"""The console before a real OpenStack, measured: one module a part."""
