"""The store on PostgreSQL: one database for all replicas, which holds everything."""
