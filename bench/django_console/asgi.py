"""ASGI entry point for uvicorn."""

from django.core.asgi import get_asgi_application

app = get_asgi_application()
