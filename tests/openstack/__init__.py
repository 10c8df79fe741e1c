"""A console before a real OpenStack. `make test-openstack` starts one and runs these; `make test` leaves them alone."""
