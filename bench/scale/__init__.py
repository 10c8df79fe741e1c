"""What the console does at scale: far more calls than it can answer, and many of everything."""
