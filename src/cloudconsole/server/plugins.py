"""Extensions of installed packages: loading, validation, and handlers that contain their failures."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import fields

from cloudconsole.core.coroutines import ensure_task
from cloudconsole.core.ports import CacheableResult, Ports, Tenant
from cloudconsole.extensions import Call, Extension
from cloudconsole.server.actions import Handler, of_cloud_user
from cloudconsole.server.openapi.document import all_schemas
from cloudconsole.spec import errors
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.installed_extensions import InstalledExtension

OWN_ERRORS: Final = frozenset(kind.error for kind in errors.ERRORS)
_UNCACHED: Final = float("-inf")


class PluginError(Exception):
    """An installed extension cannot be used; the text says why, and names its package."""


def load_extension(installed: InstalledExtension) -> Extension:
    """Import an extension and check its declaration."""
    try:
        extension = installed.entry_point.load()
    except Exception as problem:
        raise PluginError(f"{installed} cannot be imported: {type(problem).__name__}: {problem}") from problem
    if not isinstance(extension, Extension):
        raise PluginError(f"{installed} is not a cloudconsole.extensions.Extension")
    first = next(_problems(extension, installed.name), None)
    if first is not None:
        raise PluginError(f"{installed} {first}")
    return extension


def _problems(extension: Extension, name: str) -> Iterator[str]:
    if extension.name != name:
        yield f"is registered under another name than its own, {extension.name}"
    if not extension.parameters.__struct_config__.frozen:
        yield "has parameters that are not a frozen Struct"
    if "action" in (parameter.encode_name for parameter in fields(extension.parameters)):
        yield "has a parameter named action"
    for error in extension.errors:
        if not _is_declared(error):
            yield f"has an invalid error, {error.__name__}: see cloudconsole.extensions"
    yield from _schema_problems(extension)


def _is_declared(error: type[ApiError]) -> bool:
    names = ("error", "code", "text", "when", "remedy")
    if error.__module__ == errors.__name__:
        return True
    return (
        all(hasattr(error, name) for name in names)
        and re.fullmatch("[a-z][a-z0-9_]{0,63}", error.error) is not None
        and error.error not in OWN_ERRORS
        and error.code in range(400, 500)
    )


def _schema_problems(extension: Extension) -> Iterator[str]:
    try:
        components = _types_of(extension)
    except (TypeError, NotImplementedError) as problem:
        yield f"has a record or parameters without a JSON schema: {problem}"
        return
    for taken in sorted(components & set(all_schemas((*ACTIONS, *EXTENSIONS)))):
        yield f"has a type named {taken}, like the console itself"


def _types_of(extension: Extension) -> set[str]:
    parameters = [each.type for each in fields(extension.parameters)]
    return set(msgspec.json.schema_components([extension.record, *parameters])[1])


def plugin_handler(extension: Extension) -> Handler:
    """Return a handler whose failures of any kind are one request's internal error."""

    async def handle(ports: Ports, tenant: Tenant, parameters: Any) -> CacheableResult[Any]:
        # In a task of its own, so that nothing else depends on how it ends.
        await ensure_task()
        call = Call(ports, tenant, parameters)
        try:
            record = await extension.handle(call)
        except ApiError as error:
            if isinstance(error, extension.errors) or type(error).__module__ == errors.__name__:
                raise
            raise RuntimeError(f"{extension.name} raised {error!r}, which it does not declare") from error
        except (SystemExit, KeyboardInterrupt) as problem:
            raise RuntimeError(f"{extension.name} raised {problem!r}") from problem
        except asyncio.CancelledError as problem:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RuntimeError(f"{extension.name} raised {problem!r}") from problem
        if not extension.is_cacheable:
            call.expire_at(_UNCACHED)
        return call.result(record)

    return Handler(extension, handle, of_cloud_user)
