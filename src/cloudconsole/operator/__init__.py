"""Every change an operator makes, once: validated, noted in the audit, the totals kept in the same transaction."""
