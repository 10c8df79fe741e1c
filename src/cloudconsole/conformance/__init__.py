"""The conformance kit: checks any console from outside, section by section."""
