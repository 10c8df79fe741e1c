"""A real OpenStack on one machine, for tests: Keystone, Placement, Nova, Cinder, Glance, Neutron and Octavia.

`python -m lab start` starts it on free loopback ports, `python -m lab stop` stops it. The services, database and broker
are real; only hypervisor, volumes and amphorae are fake.
"""
