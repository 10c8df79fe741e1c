"""Every change an operator makes, once: validated, with the totals kept in the same transaction."""
