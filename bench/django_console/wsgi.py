"""WSGI entry point for gunicorn."""

from django.core.wsgi import get_wsgi_application

app = get_wsgi_application()
