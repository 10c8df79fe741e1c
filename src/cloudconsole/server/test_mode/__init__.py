"""A console for the desk of those who write callers: a clock to move, known tokens, and failures to order."""
