"""What needs attention, for the home page: of the store, the certificate and the cloud behind, in words and links."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

from sqlalchemy import Connection

from cloudconsole.backends.openstack.config import EndpointState
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import ClientInfo
from cloudconsole.core.resources import TYPED_UNITS
from cloudconsole.operator.attention import (
    BACKUP_SECONDS,
    DAY,
    FAILED_LOGIN_SECONDS,
    MAX_FAILED_LOGINS,
    MAX_TENANTS,
    PRICE_CHANGE_SECONDS,
    FailedLogins,
    PriceChange,
    Scans,
    StoreScanner,
    failed_logins,
    last_backup,
    upcoming_price_changes,
)
from cloudconsole.operator.audit import BACKUP
from cloudconsole.operator.login_failures import locked_usernames
from cloudconsole.operator.messages import Message, Term
from cloudconsole.operator.near_quotas import NEAR_PERCENT, QuotaLevel, TenantNearQuota
from cloudconsole.operator.tenant_overview import tenants_of_accounts
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.operator.unpriced_resources import UnpricedResources
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import price_name, unit_of
from cloudconsole.server.admin_ui.templating import link, notice_in
from cloudconsole.server.metrics.layout import CERTIFICATE_EXPIRY
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.server.runtime.tls import EXPIRY_WARNING
from cloudconsole.spec.i18n import Text
from cloudconsole.store.tables.activity import LOGIN, LOGIN_REJECTED, OPERATOR_LOGIN

Severity = Literal["danger", "warning", "info"]
CheckEndpoints = Callable[[ClientInfo], Awaitable[list[EndpointState]]]

SEVERITIES: Final[dict[Severity, Text]] = {
    "danger": Text("Problem", "故障"),
    "warning": Text("Warning", "警告"),
    "info": Text("Notice", "提示"),
}
"""Names, the most severe first."""
MAX_DETAILS: Final = 5
_MANY_FAILURES: Final = 10
"""Failed logins after which an account and address have to wait."""


class Detail(NamedTuple):
    text: Label
    page: str


class Entry(NamedTuple):
    """Something that needs attention, with the page or the command that deals with it."""

    severity: Severity
    text: Label
    page: str | None = None
    details: tuple[Detail, ...] = ()
    more: Label | None = None
    """Text of a link to `page` below the details."""
    command: str | None = None


class Attention(NamedTuple):
    entries: list[Entry]
    facts: list[Label]
    """What was checked and is in order."""
    scanned_at: str | None
    """The time of kept figures."""


class _Activity(NamedTuple):
    logins: list[FailedLogins]
    locked: list[str]


class _StoreState(NamedTuple):
    scans: Scans
    price_changes: list[PriceChange]
    backup_at: int | None


class AttentionReader:
    """Collects what needs attention."""

    def __init__(
        self,
        executor: DatabaseExecutor,
        metrics: WorkerMetrics,
        check_endpoints: CheckEndpoints | None,
        *,
        is_embedded: bool,
    ) -> None:
        """`is_embedded` says whether the store is backed up by this program."""
        self._executor = executor
        self._metrics = metrics
        self._check_endpoints = check_endpoints
        self._is_embedded = is_embedded
        self._scanner = StoreScanner()

    async def read(self, client: ClientInfo) -> Attention:
        endpoints, (state, activity) = await asyncio.gather(self._endpoint_states(client), self._read_store())
        now, facts = self._executor.now(), list[Label]()
        entries = [
            *_endpoint_entries(endpoints, facts),
            *_unpriced_entries(state.scans.unpriced),
            *self._certificate_entries(facts),
            *(self._backup_entries(state.backup_at, now, facts) if self._is_embedded else ()),
            *_locked_entries(activity.locked),
            *self._login_entries(activity.logins, now),
            *_quota_entries(state.scans.near_quota),
            *self._price_entries(state.price_changes),
        ]
        order = list(SEVERITIES)
        entries.sort(key=lambda entry: order.index(entry.severity))
        return Attention(entries, facts, format_utc(state.scans.at) if state.scans.is_kept else None)

    async def _endpoint_states(self, client: ClientInfo) -> list[EndpointState]:
        return [] if self._check_endpoints is None else await self._check_endpoints(client)

    async def _read_store(self) -> tuple[_StoreState, _Activity]:
        state = await self._executor.read(self._store_state)
        activity = await self._executor.read_activity(self._activity)
        # Users of identity services have no account here that could be unlocked.
        if activity.locked:
            accounts = await self._executor.read(lambda tx: tenants_of_accounts(tx, activity.locked))
            activity = activity._replace(locked=[name for name in activity.locked if name in accounts])
        return state, activity

    def _activity(self, connection: Connection) -> _Activity:
        now = self._executor.now()
        logins = (
            failed_logins(connection, event + LOGIN_REJECTED, now - FAILED_LOGIN_SECONDS)
            for event in (OPERATOR_LOGIN, LOGIN)
        )
        return _Activity([each for each in logins if each is not None], locked_usernames(connection, now))

    def _store_state(self, tx: OperatorTransaction) -> _StoreState:
        backup_at = last_backup(tx) if self._is_embedded else None
        return _StoreState(self._scanner.scan(tx), upcoming_price_changes(tx), backup_at)

    def _certificate_entries(self, facts: list[Label]) -> Iterator[Entry]:
        expiry = self._metrics.get(CERTIFICATE_EXPIRY)
        if not expiry:
            return
        moment, left = self._moment(expiry), datetime.fromtimestamp(expiry, UTC) - datetime.now(UTC)
        if left > EXPIRY_WARNING:
            facts.append(Message("TLS certificate valid until {moment}", "TLS 证书有效期至 {moment}", moment=moment))
            return
        command = "systemctl reload cloudconsole"
        if left <= timedelta():
            text = Message(
                "The TLS certificate expired on {moment}: browsers and clients reject this console. Renew its file, "
                "then reload it",
                "TLS 证书已于 {moment} 过期，浏览器和客户端将拒绝连接本控制台。请更新证书文件并重新加载",
                moment=moment,
            )
            yield Entry("danger", text, command=command)
            return
        text = Message(
            "The TLS certificate expires on {moment}: renew its file, then reload it",
            "TLS 证书将于 {moment} 过期，请更新证书文件并重新加载",
            moment=moment,
        )
        yield Entry("warning", text, command=command)

    def _backup_entries(self, backup_at: int | None, now: int, facts: list[Label]) -> Iterator[Entry]:
        command = "cloudconsole admin backup FILE"
        if backup_at is None:
            yield Entry("warning", Text("No backup has been made", "尚未进行过备份"), command=command)
            return
        moment = self._moment(backup_at)
        if now - backup_at <= BACKUP_SECONDS:
            facts.append(Message("Last backup: {moment}", "最近一次备份：{moment}", moment=moment))
            return
        text = Message(
            "The last backup is {days} days old, of {moment}",
            "最近一次备份已是 {days} 天前（{moment}）",
            days=(now - backup_at) // DAY,
            moment=moment,
        )
        yield Entry("warning", text, link("audit/", change=BACKUP), command=command)

    def _login_entries(self, logins: Iterable[FailedLogins], now: int) -> Iterator[Entry]:
        since = datetime.fromtimestamp(now - FAILED_LOGIN_SECONDS, self._executor.zone).strftime("%Y-%m-%dT%H:%M")
        for each in logins:
            name, most = each.most_frequent
            of_operators = each.event.startswith(OPERATOR_LOGIN)
            is_many = most >= _MANY_FAILURES
            text = Message(
                "{who} in the last day: {failures}, for {accounts} from {addresses}; most often {name} ({most})",
                "{who}：最近一天共 {failures} 次，涉及 {accounts}、{addresses}，最多的是 {name}（{most} 次）",
                who=_OPERATOR_FAILURES if of_operators else _TENANT_FAILURES,
                failures=_at_least(each.failures),
                accounts=_counted(each.accounts, "known account", "known accounts", "个已知账户"),
                addresses=_counted(each.addresses, "address", "addresses", "个地址"),
                name=name,
                most=most,
            )
            page = link("audit/", log="access", event=each.event, since=since)
            yield Entry("warning" if is_many else "info", text, page)

    def _price_entries(self, changes: list[PriceChange]) -> Iterator[Entry]:
        if not changes:
            return
        text = Message(
            "Prices that change in the next {days} days: {count}",
            "未来 {days} 天内变动的价格：{count} 项",
            days=PRICE_CHANGE_SECONDS // DAY,
            count=len(changes),
        )
        details = tuple(self._price_detail(change) for change in changes[:MAX_DETAILS])
        yield Entry("info", text, link("price/"), details, _ALL_PRICES if len(changes) > MAX_DETAILS else None)

    def _price_detail(self, change: PriceChange) -> Detail:
        record = change.record
        name = price_name(change.key, notice_in(self._executor.zone, record["from"]) or record["from"])
        if change.before is None:
            text = Message("{name}: {price} (new)", "{name}：{price}（新增）", name=name, price=record["price"])
        else:
            text = Message(
                "{name}: {price} instead of {before}",
                "{name}：由 {before} 调整为 {price}",
                name=name,
                price=record["price"],
                before=change.before,
            )
        return Detail(text, link("price/one/", key=change.key))

    def _moment(self, second: int) -> str:
        text = format_utc(second)
        return notice_in(self._executor.zone, text) or text


_OPERATOR_FAILURES: Final = Text("Failed sign-ins of operators", "管理员登录失败")
_TENANT_FAILURES: Final = Text("Failed sign-ins of tenants", "租户登录失败")
_ALL_PRICES: Final = Text("All prices", "全部价格")
_ALL_NEAR_QUOTA: Final = Text("All tenants near a quota", "全部接近配额的租户")
_FAILURES: Final = {
    "slow": Text("does not respond in time", "未及时响应"),
    "unreachable": Text("cannot be reached", "无法连接"),
    "invalid": Text("does not respond like a Keystone", "响应不符合 Keystone 接口"),
}


def _counted(number: int, one: str, many: str, chinese: str) -> Text:
    return Text(f"{number} {one if number == 1 else many}", f"{number} {chinese}")


def _at_least(failures: int) -> str:
    return f"{failures:,}+" if failures >= MAX_FAILED_LOGINS else f"{failures:,}"


def _endpoint_entries(states: Iterable[EndpointState], facts: list[Label]) -> Iterator[Entry]:
    for state in states:
        if state.failure is None:
            facts.append(
                Message("Identity service {address} responds", "认证服务 {address} 响应正常", address=state.address)
            )
            continue
        text = Message(
            "The identity service {address} {failure}: its users cannot sign in",
            "认证服务 {address} {failure}，其用户无法登录",
            address=state.address,
            failure=_FAILURES[state.failure],
        )
        yield Entry("danger", text, command="cloudconsole doctor")


def _locked_entries(usernames: list[str]) -> Iterator[Entry]:
    if not usernames:
        return
    text = Message(
        "Accounts locked by failed sign-ins, each for a few minutes: {count}",
        "因登录失败而被锁定数分钟的账户：{count} 个",
        count=f"{len(usernames):,}",
    )
    details = tuple(Detail(name, link("account/one/", key=name)) for name in usernames[:MAX_DETAILS])
    yield Entry("warning", text, details=details)


def _unpriced_entries(unpriced: list[UnpricedResources]) -> Iterator[Entry]:
    if not unpriced:
        return
    text = Text(
        "Resources of OpenStack projects have no price: nothing is billed for them, and these projects have no cost "
        "estimates; add prices",
        "OpenStack 项目中有资源没有价格：这些资源不计费，且这些项目无法估算费用，请添加价格",
    )
    details = tuple(_unpriced_detail(each) for each in unpriced[:MAX_DETAILS])
    yield Entry("danger", text, link("price/add/"), details)


def _unpriced_detail(each: UnpricedResources) -> Detail:
    is_typed = each.type is not None and each.kind in TYPED_UNITS
    text = Message(
        "{kind}{type} in {region}: {resources} of {projects}",
        "{region} 的{kind}{type}：{projects}的 {resources}",
        kind=Term("kind", each.kind),
        type=f" {each.type}" if is_typed else "",
        region=each.region,
        resources=_counted(each.resources, "resource", "resources", "个资源"),
        projects=_counted(each.projects, "project", "projects", "个项目"),
    )
    return Detail(text, link("price/add/", node=each.region if each.has_node else None))


def _quota_entries(near: list[TenantNearQuota]) -> Iterator[Entry]:
    if not near:
        return
    is_exhausted = any(level.used >= level.limit for each in near for level in each.levels)
    text = Message(
        "Tenants that use at least {percent} % of a quota, the most used first",
        "配额使用率达到 {percent}% 的租户，按使用率降序",
        percent=NEAR_PERCENT,
    )
    details = tuple(_quota_detail(each) for each in near[:MAX_TENANTS])
    page = link("quota/", near="on")
    yield Entry("warning" if is_exhausted else "info", text, page, details, _ALL_NEAR_QUOTA)


def _quota_detail(near: TenantNearQuota) -> Detail:
    text: Label = Text("", "")
    for number, level in enumerate(near.levels):
        each = _level_text(level)
        text = Message("{text}, {each}", "{text}，{each}", text=text, each=each) if number else each
    named = Message("{tenant}: {text}", "{tenant}：{text}", tenant=near.tenant, text=text)
    return Detail(named, link("tenant/one/", key=near.tenant))


def _level_text(level: QuotaLevel) -> Message:
    unit = unit_of("quota", level.quota)
    return Message(
        "{quota} {used} of {limit}{unit} ({percent} %)" if level.limit else "{quota} {used} of 0{unit}",
        "{quota} {used}/{limit}{unit}（{percent}%）" if level.limit else "{quota} {used}/0{unit}",
        quota=Term("quota", level.quota),
        used=f"{level.used:,}",
        limit=f"{level.limit:,}",
        unit=Message(" {unit}", " {unit}", unit=unit) if unit else "",
        percent=f"{level.share * 100:.1f}".removesuffix(".0") if level.limit else 0,
    )
