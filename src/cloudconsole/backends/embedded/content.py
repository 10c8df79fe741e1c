"""URLs, domains and news from the store."""

import math
from datetime import tzinfo
from typing import Literal

import msgspec

from cloudconsole.core.clock import Clock, format_local
from cloudconsole.core.ports import CacheableResult, Tenant
from cloudconsole.spec.errors import DomainNotFound
from cloudconsole.spec.extension_records import Announcement, DomainItem
from cloudconsole.spec.records import DomainDetail, NewsItem, OriginConfig, UrlItem
from cloudconsole.store.base import Reader, RowTuple

_URLS = "SELECT url, type, id FROM urls WHERE (tenant_id IS NULL OR tenant_id = ?) AND NOT disabled ORDER BY id"
_DOMAIN = """
    SELECT id, name, comment, service_areas, service_type, enabled, cname, status, cache_behaviors, visit_control_rules,
        origin_ips, adv_origin_configs, origin_domain_name, query_string_settings
    FROM domains WHERE tenant_id = ? AND id = ?
"""
_DOMAINS = """
    SELECT id, name, enabled, status, service_type FROM domains
    WHERE tenant_id = ? AND id > ? ORDER BY id LIMIT ?
"""
_NEWS = """
    SELECT published_at, url, title, id, language, pinned FROM news
    WHERE published_at <= ? AND NOT disabled ORDER BY published_at DESC, id DESC
"""
_NEXT_NEWS = "SELECT MIN(published_at) FROM news WHERE published_at > ? AND NOT disabled"

URL_TYPES = {"link": "URL链接", "directory": "URL目录"}


class EmbeddedContent:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone

    async def urls(self, tenant: Tenant) -> CacheableResult[list[UrlItem]]:
        rows = await self._reader.all(_URLS, (tenant.id,))
        return CacheableResult([UrlItem(url, URL_TYPES[kind], url_id) for url, kind, url_id in rows])

    async def domain(self, tenant: Tenant, domain_id: str) -> CacheableResult[DomainDetail]:
        row = await self._reader.one(_DOMAIN, (tenant.id, domain_id))
        if row is None:
            raise DomainNotFound
        return CacheableResult(_domain_record(row))

    async def domains(self, tenant: Tenant, limit: int, after: str) -> CacheableResult[list[DomainItem]]:
        rows = await self._reader.all(_DOMAINS, (tenant.id, after, limit))
        return CacheableResult([DomainItem(row[0], row[1], _switch(row[2]), row[3], row[4]) for row in rows])

    async def news(self) -> CacheableResult[list[NewsItem]]:
        rows, until = await self._published()
        items = [NewsItem(format_local(published_at, self._zone), url, title) for published_at, url, title, *_ in rows]
        return CacheableResult(items, until)

    async def announcements(self) -> CacheableResult[list[Announcement]]:
        rows, until = await self._published()
        items = [
            Announcement(item_id, format_local(published_at, self._zone), url, title, language, bool(pinned))
            for published_at, url, title, item_id, language, pinned in rows
        ]
        return CacheableResult(items, until)

    async def _published(self) -> tuple[list[RowTuple], float]:
        """Return the published news, newest first, and when the next item appears."""
        now = math.floor(self._clock.now())
        async with self._reader.snapshot() as snapshot:
            rows = await snapshot.all(_NEWS, (now,))
            following = await snapshot.one(_NEXT_NEWS, (now,))
        return rows, math.inf if following is None or following[0] is None else following[0]


def _switch(enabled: bool) -> Literal["true", "false"]:
    return "true" if enabled else "false"


def _domain_record(row: RowTuple) -> DomainDetail:
    return DomainDetail(
        domain_id=row[0],
        domain_name=row[1],
        comment=row[2],
        service_areas=row[3],
        service_type=row[4],
        enabled=_switch(row[5]),
        cname=row[6],
        status=row[7],
        cache_behaviors=msgspec.Raw(row[8]),
        visit_control_rules=msgspec.Raw(row[9]),
        origin_config=OriginConfig(
            origin_ips=msgspec.json.decode(row[10], type=list[str]),
            adv_origin_configs=msgspec.Raw(row[11]),
            origin_domain_name=row[12],
        ),
        query_string_settings=row[13],
    )
