"""Fuzzing: requests generated from the console's OpenAPI document, responses validated against it."""
