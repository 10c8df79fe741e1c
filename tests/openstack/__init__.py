"""Tests against a real OpenStack, started by `make test-openstack`; `make test` does not run them."""
