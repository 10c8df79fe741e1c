"""A real OpenStack on one machine for the tests: Keystone, Placement, Nova, Cinder, Glance, Neutron and Octavia.

`python -m lab start` brings it up on free ports of the loopback address, `python -m lab stop` ends it. The services
are the real ones, with their database and broker; only what stands behind them is fake: hypervisor, volumes, amphorae.
"""
