"""Horizon settings for production as documented: no debug mode, static files built in advance."""

import os

DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
SECRET_KEY = os.environ["BENCH_HORIZON_KEY"]
LOCAL_PATH = os.environ["BENCH_HORIZON_FOLDER"]
STATIC_ROOT = os.path.join(LOCAL_PATH, "static")  # noqa: PTH118 - as in Horizon's own settings
COMPRESS_OFFLINE = True
# Process memory: the fastest backend, and consistent with a single worker.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
OPENSTACK_KEYSTONE_URL = "http://127.0.0.1:9/v3"
