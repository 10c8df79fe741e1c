"""The only code that knows HTTP."""
