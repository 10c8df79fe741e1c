"""Test mode: controllable clock, seeded randomness and fault injection."""
