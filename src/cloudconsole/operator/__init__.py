"""Every change an operator makes, once: validated, audited, totals kept."""
