"""Horizon as its documentation advises for production: no debugging, and all that is static prepared beforehand."""

import os

DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
SECRET_KEY = os.environ["BENCH_HORIZON_KEY"]
LOCAL_PATH = os.environ["BENCH_HORIZON_FOLDER"]
STATIC_ROOT = os.path.join(LOCAL_PATH, "static")  # noqa: PTH118 - as its settings have it
COMPRESS_OFFLINE = True
# In the worker's own memory: the fastest there is, and right while there is one worker.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
OPENSTACK_KEYSTONE_URL = "http://127.0.0.1:9/v3"
