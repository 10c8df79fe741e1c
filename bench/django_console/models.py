"""The data of GetUsageLimits; as in the console, usage is stored in one row per tenant."""

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models


class Tenant(models.Model):
    name = models.TextField(unique=True)


class Quotas(models.Model):
    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True)
    instances = models.BigIntegerField()
    cores = models.BigIntegerField()
    ram = models.BigIntegerField()
    volumes = models.BigIntegerField()
    gigabytes = models.BigIntegerField()
    snapshots = models.BigIntegerField()
    floating_ips = models.BigIntegerField()
    security_groups = models.BigIntegerField()
    security_group_rules = models.BigIntegerField()
    keypairs = models.BigIntegerField()
    personality = models.BigIntegerField()
    personality_size = models.BigIntegerField()
    image_meta = models.BigIntegerField()
    server_meta = models.BigIntegerField()


class Usage(models.Model):
    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True)
    instances = models.BigIntegerField(default=0)
    cores = models.BigIntegerField(default=0)
    ram = models.BigIntegerField(default=0)
    volumes = models.BigIntegerField(default=0)
    gigabytes = models.BigIntegerField(default=0)
    snapshots = models.BigIntegerField(default=0)
    floating_ips = models.BigIntegerField(default=0)
    security_groups = models.BigIntegerField(default=0)
    keypairs = models.BigIntegerField(default=0)


class Account(AbstractBaseUser):
    username = models.CharField(max_length=150, unique=True)
    tenant = models.ForeignKey(Tenant, models.CASCADE)

    objects = BaseUserManager()

    USERNAME_FIELD = "username"
