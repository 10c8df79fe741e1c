"""The console on PostgreSQL: cache hits and misses, overload, growth to a million tenants, and a cost model."""
