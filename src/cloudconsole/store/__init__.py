"""The console's store: the data tenants read (`cloud`) and logins and sessions (`activity`)."""
