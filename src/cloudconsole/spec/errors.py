"""API error hierarchy; each class declares its identifier, HTTP status and message.

ApiError
├── MalformedBody          400  malformed_body
├── MissingField           400  missing_field
├── InvalidField           400  invalid_field
├── UnknownRegion          400  unknown_region
├── InvalidHost            400  invalid_host
├── InvalidCredentials     401  invalid_credentials
├── LoginRequired          401  login_required
├── CsrfFailed             403  csrf_failed
├── NoProject              403  no_project
├── ProjectRequired        403  project_required
├── UnknownAction          404  unknown_action
├── DomainNotFound         404  domain_not_found
├── FlavorNotFound         404  flavor_not_found
├── NodeNotFound           404  node_not_found
├── NotFound               404  not_found
├── MethodNotAllowed       405  method_not_allowed
├── BodyTooLarge           413  body_too_large
├── UnsupportedMediaType   415  unsupported_media_type
├── TooManyRequests        429  too_many_requests
├── InternalError          500  internal_error
├── UpstreamFailed         502  upstream_failed
├── Unavailable            503  unavailable
└── UpstreamTimeout        504  upstream_timeout
"""

from collections.abc import Iterable
from typing import ClassVar, Final, Self

from cloudconsole.spec.i18n import Language, Text

MAX_PROJECTS: Final = 20
"""How many projects a message names."""


class ApiError(Exception):
    """An error returned to the client as an envelope; `error` and `code` are stable, the message is not."""

    error: ClassVar[str]
    code: ClassVar[int]
    text: ClassVar[Text]
    when: ClassVar[str]
    remedy: ClassVar[str]
    """What the client can do."""

    def __init__(self, *, field: str | None = None, retry_after: int | None = None, **values: object) -> None:
        super().__init__(self.error)
        self.field = field
        self.retry_after = retry_after
        self.values = values if field is None else {"field": field, **values}

    def message(self, language: Language) -> str:
        return self.text.format_in(language, **self.values)


class MalformedBody(ApiError):
    error, code = "malformed_body", 400
    text = Text(
        "The request body is malformed: send one JSON object, or form fields, in UTF-8.",
        "无法读取请求正文：请以 UTF-8 发送一个 JSON 对象或表单字段。",
    )
    when = "the body is not a JSON object, not UTF-8, nested too deeply, or contains lone surrogates, NaN or Infinity; \
or it is a form with more than 64 fields"
    remedy = "Send one JSON object, or form fields, in UTF-8."


class MissingField(ApiError):
    error, code = "missing_field", 400
    text = Text("The field '{field}' is required.", "缺少必填字段“{field}”。")
    when = "`action`, a required parameter, `username`, `password` or `region` is absent, null or empty"
    remedy = "Send the field named in `field`."

    def __init__(self, field: str) -> None:
        super().__init__(field=field)


class InvalidField(ApiError):
    error, code = "invalid_field", 400
    text = Text(
        "The field '{field}' must be text of 1 to 64 characters without control characters.",
        "字段“{field}”必须是 1 到 64 个字符且不含控制字符的文本。",
    )
    when = "a field has the wrong type, an ID is longer than 64 characters or contains control characters, or a \
parameter of an extension is out of range"
    remedy = "Fix the field named in `field`."

    def __init__(self, field: str, instead: Text | None = None, **values: object) -> None:
        """`instead` replaces the message for fields that are not identifiers; `values` are those in it."""
        super().__init__(field=field)
        self.values.update(values)
        self._message = instead or self.text

    @classmethod
    def because(cls, field: str, reason: str) -> Self:
        """Return the error of a value that is invalid for a reason other than an identifier's rules."""
        return cls(
            field, Text("The field '{field}' is invalid: {reason}.", "字段“{field}”无效：{reason}。"), reason=reason
        )

    def message(self, language: Language) -> str:
        return self._message.format_in(language, **self.values)


class UnknownRegion(ApiError):
    error, code = "unknown_region", 400
    text = Text("Unknown region. This console accepts: {regions}", "未知的 region。本控制台接受：{regions}")
    when = "`region` is not one of the accepted URLs"
    remedy = "Send one listed in the message or by `GET /api/`."

    def __init__(self, accepted: list[str]) -> None:
        super().__init__(field="region", regions=", ".join(accepted))


class InvalidHost(ApiError):
    error, code = "invalid_host", 400
    text = Text("This console does not serve the requested host.", "本控制台不为所请求的主机名提供服务。")
    when = "the `Host` header does not name a host that this console serves"
    remedy = "Use the console's own URL; the operator configures its host names."

    def __init__(self, instead: Text | None = None) -> None:
        """`instead` replaces the message if the name itself is not the problem."""
        super().__init__()
        self._message = instead or self.text

    def message(self, language: Language) -> str:
        return self._message.format_in(language, **self.values)


class InvalidCredentials(ApiError):
    error, code = "invalid_credentials", 401
    text = Text("The username or password is wrong, or the account is disabled.", "用户名或密码错误，或账户已停用。")
    when = "the user is unknown, the password is wrong or the account is disabled; the response does not say which"
    remedy = "Check the username and password; only the operator can enable an account."


class LoginRequired(ApiError):
    error, code = "login_required", 401
    text = Text("Log in first: the session is absent, expired or ended.", "请先登录：会话不存在、已过期或已结束。")
    when = "there is no valid session"
    remedy = "Log in, then repeat the request."


class CsrfFailed(ApiError):
    error, code = "csrf_failed", 403
    text = Text(
        "The CSRF check failed: send the csrftoken cookie and its value as X-CSRFToken (at login as "
        "csrfmiddlewaretoken), and no Origin other than this console's.",
        "CSRF 校验失败：请发送 csrftoken Cookie，并将其值再次放入 X-CSRFToken（登录时放入 csrfmiddlewaretoken）；"
        "Origin 只能是本控制台自身。",
    )
    when = "the token is missing, does not match, or belongs to another session; \
or `Origin` or `Sec-Fetch-Site` indicates another origin"
    remedy = "Send the `csrftoken` cookie and its value as header or field; `GET /api/` sets the cookie again."


class NoProject(ApiError):
    error, code = "no_project", 403
    text = Text(
        "The account has no project on this console. Ask the operator for one.",
        "该账户在此没有可用的项目。请联系运营方。",
    )
    when = "in the upstream cloud the account has no project that it can use"
    remedy = "Ask the cloud's operator for a role in a project."


class ProjectRequired(ApiError):
    error, code = "project_required", 403
    text = Text("Specify one of your projects: {projects}", "请指定一个项目：{projects}")
    when = "in the upstream cloud the account has several projects and no default one, or not the one in `project`"
    remedy = "Send the name or the ID of one of its projects as `project`; the message lists names."

    def __init__(self, projects: Iterable[str]) -> None:
        """Name the first projects only."""
        names = sorted(set(projects))
        more = [] if len(names) <= MAX_PROJECTS else ["…"]
        super().__init__(field="project", projects=", ".join([*names[:MAX_PROJECTS], *more]))


class UnknownAction(ApiError):
    error, code = "unknown_action", 404
    text = Text(
        "Unknown action. GET /api/ lists the actions; their names are case-sensitive.",
        "未知的 action。GET /api/ 会列出全部操作；名称区分大小写。",
    )
    when = "`action` is not one of those listed by `GET /api/`"
    remedy = "Check the spelling; names are case-sensitive."

    def __init__(self) -> None:
        super().__init__(field="action")


class DomainNotFound(ApiError):
    error, code = "domain_not_found", 404
    text = Text("There is no domain with this ID.", "不存在此 id 的域名。")
    when = "the tenant has no such domain"
    remedy = "Use the ID of one of the tenant's own domains."

    def __init__(self) -> None:
        super().__init__(field="domainId")


class FlavorNotFound(ApiError):
    error, code = "flavor_not_found", 404
    text = Text("{place}: there is no flavor '{name}'.", "{place}：没有配置“{name}”。")
    when = "an item names a flavor that the tenant cannot use"
    remedy = "Use an ID or a name that GetFlavors returns."

    def __init__(self, place: str, name: str) -> None:
        super().__init__(field=place.partition("[")[0], place=place, name=name)


class NodeNotFound(ApiError):
    error, code = "node_not_found", 404
    text = Text("{place}: there is no node '{name}'.", "{place}：没有节点“{name}”。")
    when = "an item names a node that does not exist"
    remedy = "Use a node that GetPrices names, or leave it out."

    def __init__(self, place: str, name: str) -> None:
        super().__init__(field=place.partition("[")[0], place=place, name=name)


class NotFound(ApiError):
    error, code = "not_found", 404
    text = Text("There is nothing at this path.", "此路径下没有内容。")
    when = "the path does not exist"
    remedy = "Check the path; every path of the interface ends with a slash."


class MethodNotAllowed(ApiError):
    error, code = "method_not_allowed", 405
    text = Text("Method not allowed. This path supports: {allow}", "此路径支持的方法：{allow}")
    when = "the path does not support the method"
    remedy = "Use a method listed in the `Allow` header."

    def __init__(self, allow: str) -> None:
        super().__init__(allow=allow)
        self.allow = allow


class BodyTooLarge(ApiError):
    error, code = "body_too_large", 413
    text = Text("The request body is larger than {limit} bytes.", "请求正文超过 {limit} 字节。")
    when = "the body is larger than 64 KiB, or the configured limit; the connection is closed"
    remedy = "Send a smaller body; no action needs that much."

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit)


class UnsupportedMediaType(ApiError):
    error, code = "unsupported_media_type", 415
    text = Text(
        "Unsupported media type. Send UTF-8 with one of these Content-Types: {accepted}",
        "请以 UTF-8 编码发送请求正文，Content-Type 为下列之一：{accepted}",
    )
    when = "the `Content-Type` is missing or not accepted, or its charset is not UTF-8"
    remedy = "Use a `Content-Type` listed in the message."

    def __init__(self, accepted: tuple[str, ...]) -> None:
        super().__init__(accepted=", ".join(accepted))


class TooManyRequests(ApiError):
    error, code = "too_many_requests", 429
    text = Text(
        "Too many failed logins. Try again in {seconds} seconds.",
        "登录失败次数过多，请在 {seconds} 秒后重试。",
    )
    when = "too many logins failed for this user or from this address"
    remedy = "Wait for the number of seconds in `Retry-After`."

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after=retry_after, seconds=retry_after)


class InternalError(ApiError):
    error, code = "internal_error", 500
    text = Text(
        "Internal error. Report request ID {request_id} to the operator.",
        "服务内部出错。请提供请求编号 {request_id}。",
    )
    when = "the console failed unexpectedly"
    remedy = "Report the request ID to the operator."

    def __init__(self, request_id: str) -> None:
        super().__init__(request_id=request_id)


class UpstreamFailed(ApiError):
    error, code = "upstream_failed", 502
    text = Text("An upstream service of this console failed.", "本控制台所依赖的服务出错。")
    when = "an upstream service failed"
    remedy = "Try again later."


class UpstreamTimeout(ApiError):
    error, code = "upstream_timeout", 504
    text = Text("An upstream service of this console did not respond in time.", "本控制台所依赖的服务未及时响应。")
    when = "an upstream service did not respond in time"
    remedy = "Try again later."


class Unavailable(ApiError):
    error, code = "unavailable", 503
    text = Text("The console is temporarily unavailable. Try again shortly.", "控制台暂时无法响应，请稍后重试。")
    when = "the console is overloaded or shutting down, or its store is unreachable"
    remedy = "Try again after the number of seconds in `Retry-After`."

    def __init__(
        self,
        retry_after: int = 1,
        *,
        closes: bool = True,
        of_store: bool = False,
        instead: Text | None = None,
        **values: object,
    ) -> None:
        """Close the connection if `closes` is set: a new one may reach a worker that can respond.

        `of_store` marks the store as the cause if there is no other exception. `instead` replaces the message, with its
        values, if the reason is known.
        """
        super().__init__(retry_after=retry_after)
        self.values = values
        self.closes = closes
        self.of_store = of_store
        self._message = instead or self.text

    def message(self, language: Language) -> str:
        return self._message.format_in(language, **self.values)


ERRORS: Final = tuple(ApiError.__subclasses__())
"""All errors of the console; packages may declare more."""
