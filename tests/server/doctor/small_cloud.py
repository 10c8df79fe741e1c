"""A fake cloud with one user and few resources, which doctor can log in to."""

import time
from datetime import UTC, datetime
from typing import Any

from tests.backends.openstack.fake_cloud import FakeCloud, Reply

USER, PASSWORD, TOKEN = "alice", "alice's own password", "gAAAA-alices-token"
PROJECT = {"id": "p1", "name": "acme", "domain": {"id": "default", "name": "Default"}}
SERVICE_PATHS = {
    "compute": "/compute/v2.1",
    "block-storage": "/volume/v3/p1",
    "network": "/network/v2.0",
    "image": "/image/v2",
    "load-balancer": "/balancer/v2",
}
FLAVOR = {"original_name": "m1.small", "vcpus": 1, "ram": 2048}
SERVER = {"id": "s1", "status": "ACTIVE", "flavor": FLAVOR, "updated": "2026-11-15T02:21:10Z"}
RESPONSES: dict[str, Any] = {
    "/compute/v2.1/limits": {"limits": {}},
    "/compute/v2.1/flavors/detail": {"flavors": [{"id": "1", "name": "m1.small", "vcpus": 1, "ram": 2048, "disk": 20}]},
    "/compute/v2.1/servers/detail": {"servers": [SERVER]},
    "/volume/v3/p1/limits": {"limits": {}},
    "/volume/v3/p1/types": {"volume_types": [{"id": "t1", "name": "fast"}]},
    "/volume/v3/p1/volumes/detail": {"volumes": []},
    "/network/v2.0/quotas/p1/details.json": {"quota": {}},
    "/image/v2/images": {"images": []},
    "/balancer/v2/lbaas/loadbalancers": {"loadbalancers": []},
}


class SmallCloud(FakeCloud):
    """Every region has the same services at the same paths."""

    def __init__(self) -> None:
        super().__init__()
        self.set_catalog(regions=("RegionOne",))
        for path, body in RESPONSES.items():
            self.respond("GET", path, Reply(body=body))
        self.respond("DELETE", "/v3/auth/tokens", Reply(204))

    def set_catalog(self, *, regions: tuple[str, ...], without: tuple[str, ...] = (), project: bool = True) -> None:
        """Set the token and catalog that Keystone returns for a login."""
        public = {"interface": "public"}
        catalog = [
            {"type": kind, "endpoints": [{**public, "region_id": name, "url": self.address + path} for name in regions]}
            for kind, path in SERVICE_PATHS.items()
            if kind not in without
        ]
        token = {
            "user": {"id": "u1", "name": USER, "domain": {"id": "default", "name": "Default"}},
            "expires_at": datetime.fromtimestamp(time.time() + 3600, UTC).isoformat(),
            "catalog": catalog,
            **({"project": PROJECT} if project else {}),
        }
        self.respond("POST", "/v3/auth/tokens", Reply(201, {"token": token}, {"X-Subject-Token": TOKEN}))
