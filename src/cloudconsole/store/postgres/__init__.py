"""The store on PostgreSQL: one database shared by all replicas."""
