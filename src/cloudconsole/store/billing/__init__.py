"""The append-only record of what has run and of all prices, written in the transaction of each change."""
