"""Costs over time from the billing record."""
