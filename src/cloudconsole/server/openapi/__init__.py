"""OpenAPI document, generated from the tables of `spec`, and its HTML reference."""
