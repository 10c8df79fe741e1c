"""What Horizon takes its own settings from: it imports `local.local_settings`, so its parent is on the path for it."""
