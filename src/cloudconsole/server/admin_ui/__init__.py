"""Admin UI at `/admin/`, generated from the entity types; all changes go through `cloudconsole.operator`."""
