"""The console's own store: what tenants read (`cloud.db`) and what happens around them (`activity.db`)."""
