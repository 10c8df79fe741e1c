"""The second profile: what this project's own console does where the interface leaves it open, as documented."""
