"""Extensions of installed packages: loading, validation, and handlers that contain their failures."""

import asyncio
import re
from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Any, Final

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import fields

from cloudconsole.core.coroutines import ensure_task
from cloudconsole.core.ports import CacheableResult, Ports, PriceMissing, Tenant
from cloudconsole.extensions import Call, Extension
from cloudconsole.server.actions import Handler, of_cloud_user
from cloudconsole.server.openapi.document import build_document
from cloudconsole.server.openapi.html import render
from cloudconsole.server.openapi.schemas import all_schemas, body_name, form_name, response_name
from cloudconsole.spec import envelope, errors
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError, UpstreamTimeout
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.installed_extensions import InstalledExtension

OWN_ERRORS: Final = frozenset(kind.error for kind in errors.ERRORS)
_UNCACHED: Final = float("-inf")
_IMMUTABLE: Final = (
    *(inspect.StrType, inspect.IntType, inspect.FloatType, inspect.BoolType, inspect.NoneType, inspect.LiteralType),
    *(
        inspect.EnumType,
        inspect.DateTimeType,
        inspect.DateType,
        inspect.TimeType,
        inspect.DecimalType,
        inspect.UUIDType,
    ),
)


class PluginError(Exception):
    """An installed extension cannot be used; the text says why, and names its package."""


def load_extension(installed: InstalledExtension) -> Extension:
    """Import an extension and check its declaration."""
    try:
        extension = installed.entry_point.load()
    except (Exception, SystemExit) as problem:
        raise PluginError(f"{installed} cannot be imported: {type(problem).__name__}: {problem}") from problem
    if not isinstance(extension, Extension):
        raise PluginError(f"{installed} is not a cloudconsole.extensions.Extension")
    try:
        first = next(_problems(extension, installed.name), None)
    except Exception as problem:
        # Whatever else is wrong with it would stop a worker.
        raise PluginError(f"{installed} has an invalid declaration: {type(problem).__name__}: {problem}") from problem
    if first is not None:
        raise PluginError(f"{installed} {first}")
    return extension


def _problems(extension: Extension, name: str) -> Iterator[str]:
    if extension.name != name:
        yield f"is registered under another name than its own, {extension.name}"
    texts: tuple[Any, ...] = (extension.purpose, extension.success, *(error.text for error in extension.errors))
    if not all(isinstance(text, Text) for text in texts):
        yield "has a purpose, success or error text that is not a Text"
    if not iscoroutinefunction(extension.handle):
        yield "has a handle that is not a coroutine function"
    yield from _parameter_problems(extension.parameters)
    for error in extension.errors:
        if not _is_declared(error):
            yield f"has an invalid error, {error.__name__}: see cloudconsole.extensions"
    taken = _schema_names(extension) & set(all_schemas((*ACTIONS, *EXTENSIONS)))
    if taken:
        yield f"has a type named {min(taken)}, like the console itself"
    hash(extension)
    document = build_document((*ACTIONS, *EXTENSIONS, extension))
    render(document, "", "")
    envelope.encode(document)


def _parameter_problems(parameters: Any) -> Iterator[str]:
    if not (isinstance(parameters, type) and issubclass(parameters, Struct) and parameters.__struct_config__.frozen):
        yield "has parameters that are not a frozen Struct"
        return
    for parameter in fields(parameters):
        if parameter.encode_name == "action" or not parameter.encode_name.isidentifier():
            yield f"has a parameter named {parameter.encode_name}"
        if _is_mutable(inspect.type_info(parameter.type)):
            yield f"has a mutable parameter, {parameter.encode_name}: use tuples and frozen Structs"


def _is_mutable(kind: Any) -> bool:
    match kind:
        case inspect.Metadata():
            return _is_mutable(kind.type)
        case inspect.VarTupleType():
            return _is_mutable(kind.item_type)
        case inspect.TupleType():
            return any(map(_is_mutable, kind.item_types))
        case inspect.UnionType():
            return any(map(_is_mutable, kind.types))
        case inspect.StructType():
            return not kind.cls.__struct_config__.frozen or any(_is_mutable(field.type) for field in kind.fields)
    return not isinstance(kind, _IMMUTABLE)


def _is_declared(error: type[ApiError]) -> bool:
    if error.__module__ == errors.__name__:
        return True
    return (
        all(isinstance(text, str) for text in (*error.text, error.when, error.remedy))
        and re.fullmatch("[a-z][a-z0-9_]{0,63}", error.error) is not None
        and error.error not in OWN_ERRORS
        and error.code in range(400, 500)
    )


def _schema_names(extension: Extension) -> set[str]:
    """Return the names of its types, and of its request and response."""
    types = [extension.record, *(parameter.type for parameter in fields(extension.parameters))]
    names = set(msgspec.json.schema_components(types)[1])
    own = {body_name(extension), form_name(extension), response_name(extension)}
    if names & own:
        raise TypeError(f"a type named {min(names & own)}")
    return names | own


def plugin_handler(extension: Extension, seconds: float) -> Handler:
    """Return a handler whose failures of any kind are one request's error; it has so many seconds."""

    async def handle(ports: Ports, tenant: Tenant, parameters: Any) -> CacheableResult[Any]:
        await ensure_task()
        call = Call(ports, tenant, parameters)
        # In a task of its own, so that nothing else depends on how it ends.
        task = asyncio.create_task(_run(extension, call))
        try:
            async with asyncio.timeout(seconds):
                record = await task
        except TimeoutError:
            raise UpstreamTimeout from None
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            raise RuntimeError(f"{extension.name} cancelled itself") from None
        if not extension.is_cacheable:
            call.expire_at(_UNCACHED)
        return call.result(record)

    return Handler(extension, handle, _of_user)


async def _run(extension: Extension, call: Call[Any]) -> Any:
    try:
        return await extension.handle(call)
    except ApiError as error:
        if not isinstance(error, extension.errors) and type(error).__module__ != errors.__name__:
            raise RuntimeError(f"{extension.name} raised {error!r}, which it does not declare") from error
        # A text whose placeholders are not filled must fail here.
        error.message("en"), error.message("zh")
        raise
    except (PriceMissing, asyncio.CancelledError):
        raise
    except BaseException as problem:
        raise RuntimeError(f"{extension.name} raised {problem!r}") from problem


def _of_user(tenant: Tenant) -> str:
    return f"{tenant.id}\0{tenant.username}\0{of_cloud_user(tenant)}"
