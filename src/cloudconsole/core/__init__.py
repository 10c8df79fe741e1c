"""The rules, without any I/O: money and hours, kinds of resources, and the ports that actions speak."""
