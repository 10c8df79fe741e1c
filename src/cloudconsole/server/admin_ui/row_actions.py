"""Row actions, such as disable, remove and end."""

from collections.abc import Callable, Mapping, Set
from typing import Final, NamedTuple

from cloudconsole.operator.entities import ACCOUNTS, NEWS, RESOURCES, ChangeResult, EntityType
from cloudconsole.operator.entities.accounts import clear_throttle, throttle_cleared
from cloudconsole.operator.errors import ValidationError
from cloudconsole.operator.fields import NOT_AN_ADDRESS
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.admin_ui.fields import FormField, submitted_value
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import label_of
from cloudconsole.server.admin_ui.names import DONE, entity_name
from cloudconsole.server.admin_ui.password_fields import PASSWORDS, new_password
from cloudconsole.server.ip_addresses import forwarded_address, throttle_address
from cloudconsole.spec.i18n import Text
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.session_lookup import Session

ADDRESS: Final = FormField(
    "address",
    label_of("address"),
    Text(
        "Clears only failures from this IP address; all if empty.", "仅清除来自此 IP 地址的失败记录；留空则全部清除。"
    ),
    "text",
    ("address",),
)


def reset_password(executor: DatabaseExecutor, who: Session, key: str, fields: Mapping[str, str]) -> ChangeResult:
    with executor.reading() as tx:
        role = ACCOUNTS.show(tx, key)["role"]
    # Hashed before the transaction: hashing is slow, and a transaction blocks other writers.
    password_hash = hash_password(new_password(fields, executor.password_policy, role))
    with executor.writing(who) as tx:
        return ACCOUNTS.reset_password(tx, key, password_hash)


def end_sessions(executor: DatabaseExecutor, who: Session, key: str) -> ChangeResult:
    with executor.writing(who) as tx:
        return ACCOUNTS.end_sessions(tx, key)


def clear(executor: DatabaseExecutor, who: Session, key: str, fields: Mapping[str, str]) -> ChangeResult:
    network = _network(fields.get("address", "").strip())
    with executor.activity() as failures:
        with executor.writing(who) as tx:
            done = clear_throttle(tx, failures, key, network)
        failures.commit()
    return done


def _network(text: str) -> str | None:
    if not text:
        return None
    address = forwarded_address(text)
    if address is None:
        raise ValidationError([(("address",), NOT_AN_ADDRESS)])
    return throttle_address(address)


ENDED: Final = "ended"
"""State of an ended resource."""
UNLOCK: Final = "clear-throttle"


class ActionRequest(NamedTuple):
    """A requested row action."""

    actor: Session
    key: str
    fields: Mapping[str, str]
    confirmations: Set[str] = frozenset()


class RowAction(NamedTuple):
    entity: EntityType
    verb: str
    button: Text
    description: Text
    """Sentence for the confirmation page."""
    past: Callable[[ChangeResult], Label]
    """Past tense for the notice."""
    run: Callable[[DatabaseExecutor, ActionRequest], ChangeResult]
    fields: tuple[FormField, ...] = ()
    is_harmless: bool = False
    """Runs without confirmation, since the opposite action undoes it."""

    @property
    def path(self) -> str:
        return f"{self.entity.name}/{self.verb}/"

    def applies_to(self, record: Record, state: str | None) -> bool:
        """Return whether the action makes sense in this state."""
        if self.verb in ("disable", "enable"):
            is_off = record.get("disabled", not record.get("enabled", True))
            return bool(is_off) is (self.verb == "enable")
        return self.verb != "end" or state != ENDED


_DESCRIPTIONS: Final[Mapping[tuple[str, str], Text]] = {
    ("tenant", "disable"): Text(
        "Its accounts can no longer sign in, and their sessions end immediately.",
        "停用后，其账户将无法登录，现有会话立即结束。",
    ),
    ("account", "disable"): Text(
        "It can no longer sign in, and its sessions end immediately.", "停用后，该账户将无法登录，现有会话立即结束。"
    ),
    ("node", "disable"): Text(
        "It accepts no new resources; existing ones stay.", "停用后，该节点不再接受新资源，现有资源不受影响。"
    ),
    ("flavor", "disable"): Text("It is no longer offered to tenants.", "停用后，不再向租户提供该配置。"),
    ("url", "disable"): Text("It is no longer shown to tenants.", "停用后，租户不再看到该 URL。"),
    ("domain", "disable"): Text("The domain is taken out of service.", "停用后，该域名停止加速服务。"),
    ("news", "disable"): Text("It is withdrawn: tenants no longer see it.", "公告将被撤回，租户不再看到。"),
    ("account", "remove"): Text(
        "The account is permanently deleted, and its sessions end immediately.",
        "该账户将被永久删除，其会话立即结束。",
    ),
    ("resource", "remove"): Text(
        "It is removed from all lists and from the use of quotas; its costs up to the last full hour stay. To keep it "
        "in the lists, end it instead.",
        "该资源将从列表和配额用量中移除，此前整点已产生的费用仍会保留。如需在列表中保留，请改用“结束”。",
    ),
    ("resource", "end"): Text(
        "It counts in the hour of its end, and in no later one.", "资源在结束所在的小时仍计费，之后不再计费。"
    ),
    ("price", "remove"): Text(
        "The price is permanently deleted. Costs up to the last full hour stay.",
        "该价格将被永久删除，此前整点已产生的费用仍会保留。",
    ),
    ("quota", "reset"): Text("All its limits become those of a new tenant.", "所有配额将恢复为新租户的默认值。"),
}
_OTHER_DESCRIPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "disable": ("The {entity} is disabled.", "{entity}将被停用。"),
    "enable": ("The {entity} is enabled.", "{entity}将被启用。"),
    "remove": ("The {entity} is permanently deleted.", "{entity}将被永久删除。"),
}
_BUTTONS: Final = {
    "disable": Text("Disable", "停用"),
    "enable": Text("Enable", "启用"),
    "end": Text("End", "结束"),
    "remove": Text("Delete", "删除"),
    "reset": Text("Reset to the defaults", "恢复默认值"),
}
_NEWS_BUTTONS: Final = {"disable": Text("Withdraw", "撤回"), "enable": Text("Publish again", "重新发布")}

_END: Final = FormField(
    "at", label_of("ended"), Text("Time of the end; now if empty.", "结束时间；留空为当前时间。"), "time", ("ended",)
)


def row_actions_for(entity: EntityType) -> tuple[RowAction, ...]:
    """Return the actions of an entity type, in display order."""
    plain = tuple(_row_action(entity, verb) for verb in entity.verbs if verb in _BUTTONS)
    return (*_OF_ACCOUNTS, *plain) if entity is ACCOUNTS else plain


def _row_action(entity: EntityType, verb: str) -> RowAction:
    def do(executor: DatabaseExecutor, order: ActionRequest) -> ChangeResult:
        with executor.writing(order.actor, order.confirmations) as tx:
            done: ChangeResult = getattr(entity, verb)(tx, order.key)
            return done

    description = _DESCRIPTIONS.get((entity.name, verb))
    if description is None:
        english, chinese = _OTHER_DESCRIPTIONS[verb]
        one = entity_name(entity)
        description = Text(english.format(entity=one.en), chinese.format(entity=one.zh))
    button = _NEWS_BUTTONS[verb] if entity is NEWS and verb in _NEWS_BUTTONS else _BUTTONS[verb]
    past = _always(DONE[verb])
    if entity is RESOURCES and verb == "end":
        return RowAction(entity, verb, button, description, past, _end, (_END,))
    return RowAction(entity, verb, button, description, past, do, is_harmless=verb == "enable")


def _always(past: Text) -> Callable[[ChangeResult], Label]:
    return lambda _done: past


def _end(executor: DatabaseExecutor, order: ActionRequest) -> ChangeResult:
    with executor.writing(order.actor) as tx:
        return RESOURCES.end(tx, order.key, submitted_value(_END, order.fields) or None)


_OF_ACCOUNTS: Final = (
    RowAction(
        ACCOUNTS,
        "password",
        Text("Reset password", "重置密码"),
        Text("It gets a new password, and its sessions end immediately.", "设置新密码，该账户的会话立即结束。"),
        _always(DONE["password"]),
        lambda executor, order: reset_password(executor, order.actor, order.key, order.fields),
        PASSWORDS,
    ),
    RowAction(
        ACCOUNTS,
        "end-sessions",
        Text("End sessions", "结束会话"),
        Text("It is signed out on all devices.", "该账户将在所有设备上退出登录。"),
        _always(DONE["end-sessions"]),
        lambda executor, order: end_sessions(executor, order.actor, order.key),
    ),
    RowAction(
        ACCOUNTS,
        UNLOCK,
        Text("Unlock account", "解除锁定"),
        Text(
            "Its failed sign-ins are cleared, so that it can sign in without waiting.",
            "清除登录失败记录，该账户无需等待即可登录。",
        ),
        throttle_cleared,
        lambda executor, order: clear(executor, order.actor, order.key, order.fields),
        (ADDRESS,),
    ),
)
