"""What stands behind the ports: one folder each, self-contained, with its own errors translated at its door."""
