"""Tests of the metrics and logs of a running console."""
