"""Tuned as Django recommends: no debug mode, cached sessions, persistent connections, WAL, minimal middleware."""

import os

DEBUG = False
SECRET_KEY = os.environ["BENCH_DJANGO_KEY"]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "bench.django_console.urls"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "bench.django_console",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["BENCH_DJANGO_DATABASE"],
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728;",
        },
    }
}
# Process memory: the fastest backend, and consistent with a single worker.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
SESSION_ENGINE = "django.contrib.sessions.backends.cached_db"
AUTH_USER_MODEL = "django_console.Account"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_I18N = False
USE_TZ = True
LOGGING_CONFIG = None

# 0 reads the store for every request; otherwise responses may be this old.
USAGE_CACHE_SECONDS = float(os.environ.get("BENCH_DJANGO_CACHE_SECONDS", "0"))
