"""The data that GetUsageLimits needs; usage is kept as totals, as in the console, so that nothing is counted."""

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
    tenant = models.ForeignKey(Tenant, models.CASCADE)
    kind = models.TextField()
    items = models.BigIntegerField()
    vcpus = models.BigIntegerField()
    ram_mb = models.BigIntegerField()
    size_gb = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "kind"], name="one_usage_of_a_kind")]  # noqa: RUF012


class Account(AbstractBaseUser):
    username = models.CharField(max_length=150, unique=True)
    tenant = models.ForeignKey(Tenant, models.CASCADE)

    objects = BaseUserManager()

    USERNAME_FIELD = "username"
