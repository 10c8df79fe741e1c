"""Requests without end, made from the console's own OpenAPI document, each answer judged by that document."""
