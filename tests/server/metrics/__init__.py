"""Tests of what can be seen of a running console."""
