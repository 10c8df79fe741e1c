"""Results as people and programs read them: lines, a live table, JSON, JUnit."""
