"""The interface as an OpenAPI document, made from the tables of `spec`, and as a page to read made from that."""
