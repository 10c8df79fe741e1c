"""HTTP layer: connections, requests, responses and endpoints."""
