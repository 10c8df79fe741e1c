"""Create the Django database and insert the tenants from standard input (JSON)."""

import json
import sys

import django
from django.core.management import call_command
from django.db import transaction


def main() -> None:
    django.setup()
    from bench.django_console.models import Account, Quotas, Tenant, Usage

    call_command("migrate", run_syncdb=True, verbosity=0)
    with transaction.atomic():
        for row in json.load(sys.stdin):
            tenant = Tenant.objects.create(name=row["name"])
            Quotas.objects.create(tenant=tenant, **row["quotas"])
            Usage.objects.create(tenant=tenant, **row["usage"])
            for username, password in row["accounts"].items():
                account = Account(username=username, tenant=tenant)
                account.set_password(password)
                account.save()


if __name__ == "__main__":
    main()
