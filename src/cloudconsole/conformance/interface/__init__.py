"""The first profile: what the interface itself says, and nothing else. Each module is a part of it."""
