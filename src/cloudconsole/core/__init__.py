"""Domain rules without I/O: pricing, resource kinds, and the ports that actions use."""
