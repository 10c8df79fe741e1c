"""What can be seen of a running console: counters that all workers share, the metrics page, the audit lines."""
