"""The ports over an OpenStack: Keystone vouches for users; its other services give the figures."""
