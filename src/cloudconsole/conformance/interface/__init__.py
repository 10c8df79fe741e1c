"""Interface profile: only what the interface itself specifies, one module per part."""
