"""The ports on an OpenStack cloud: Keystone authenticates users, its other services provide the data."""
