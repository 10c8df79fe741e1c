"""Consistency testing: random operations on several replicas under fault injection, then a check of the history."""
