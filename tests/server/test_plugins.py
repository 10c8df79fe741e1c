"""Extensions of packages: found, validated, called like any other, and contained when they fail."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from cloudconsole.core.ports import Tenant
from cloudconsole.server import extensions as table
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import SETTINGS, SettingError, Settings
from cloudconsole.server.doctor.context_and_findings import DoctorContext
from cloudconsole.server.doctor.extensions import check_extensions
from cloudconsole.server.extensions import load_plugins
from cloudconsole.server.plugins import plugin_handler
from cloudconsole.spec.errors import UpstreamTimeout
from tests.harness import ApiClient, FakeClock, InProcessTransport
from tests.stores import copy_store, settings_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "quota-alerts"

Install = Callable[..., None]

HEAD = """
from msgspec import Struct
from cloudconsole.extensions import ApiError, Call, Extension, NoParameters, Text

class Seen(Struct, frozen=True):
    text: str

TEXT = Text("Fine.", "好")

async def idle(call):
    return Seen("idle")

def extension(name, handle=idle, **more):
    return Extension(**{"name": name, "purpose": TEXT, "success": TEXT, "record": Seen, "handle": handle, **more})
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package as pip would, for this test only."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def make(package: str, code: str, *names: str) -> None:
        (folder / f"{package}.py").write_text(HEAD + dedent(code))
        info = folder / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        points = "".join(f"{name} = {package}:{name}\n" for name in names)
        (info / "entry_points.txt").write_text(f"[cloudconsole.extensions]\n{points}")
        table._load.cache_clear()

    yield make
    table._load.cache_clear()
    for name in [name for name, module in sys.modules.items() if str(folder) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


@pytest.fixture
def start(fast_hash_store: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., ApiClient]]:
    started: list[InProcessTransport] = []

    def start(*extensions: str) -> ApiClient:
        data = copy_store(fast_hash_store, tmp_path / f"data{len(started)}")
        started.append(InProcessTransport(Console(settings_for(data, extensions=extensions), clock)))
        client = ApiClient(started[-1])
        assert client.login("demo", "console-demo").status == 200
        return client

    yield start
    for console in started:
        console.close()


def outcome(client: ApiClient, action: str, **fields: Any) -> tuple[int, str | None]:
    reply = client.call(action, **fields)
    return reply.status, reply.envelope.get("error")


# The example package, installed by pip


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("example")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--no-index", "--target", target, EXAMPLE], check=True, timeout=300)
    return target


@pytest.fixture
def example_client(
    example: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[..., ApiClient]
) -> Iterator[ApiClient]:
    monkeypatch.syspath_prepend(example)
    table._load.cache_clear()
    yield start("built-in", "GetQuotaAlerts")
    table._load.cache_clear()


def test_the_example_is_called_like_any_action(example_client: ApiClient) -> None:
    assert example_client.open().data["extensions"][-1] == "GetQuotaAlerts"
    usage = example_client.call("GetUsageLimits").data
    instances = {"quota": "instances", "used": usage["totalInstancesUsed"], "limit": usage["maxTotalInstances"]}
    reply = example_client.call("GetQuotaAlerts", as_form=True, percent="1")
    assert (reply.envelope["message"], reply.data[0]) == ("Quota alerts.", instances)
    assert example_client.call("GetQuotaAlerts", percent=100).data == []
    assert outcome(example_client, "GetQuotaAlerts", percent=0) == (400, "invalid_field")


def test_the_example_is_documented(example_client: ApiClient) -> None:
    document = example_client.send("GET", "/openapi.json").envelope
    assert document["components"]["schemas"]["GetQuotaAlertsForm"]["properties"]["percent"]["maximum"] == 100
    assert "nothing_limited" in document["paths"]["/api/"]["post"]["responses"]["404"]["x-errors"]
    assert 'id="GetQuotaAlerts"' in example_client.send("GET", "/docs/").body.decode()


def test_version_and_doctor_show_the_example(example: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(example)}

    def command(*words: str) -> str:
        program = [sys.executable, "-m", "cloudconsole", *words]
        return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300, check=False).stdout

    assert command("--version").splitlines()[1:] == ["GetQuotaAlerts of cloudconsole-quota-alerts 1.0.0"]
    findings = json.loads(command("doctor", "--json", "--data", str(tmp_path), "--extensions", "GetQuotaAlerts"))
    texts = [each["text"] for each in findings["findings"] if each["check"] == "extensions"]
    assert "GetQuotaAlerts of cloudconsole-quota-alerts 1.0.0 is on" in texts


# The interface for authors


def test_a_call_reads_as_the_tenant(install: Install, start: Callable[..., ApiClient]) -> None:
    code = """
    async def handle(call: Call[NoParameters]) -> Seen:
        reads = [
            await call.usage_limits(), await call.flavors(), await call.consumption(), await call.urls(),
            await call.domain("206813"), await call.domains(1), await call.news(), await call.prices(),
            await call.announcements(),
        ]
        assert all(reads)
        return Seen(f"{call.username} {call.tenant_id > 0} {call.now}")

    GetSeen = extension("GetSeen", handle)
    """
    install("seen", code, "GetSeen")
    client = start("GetSeen")
    assert client.call("GetSeen").data["text"].startswith("demo True 1")


def test_a_response_is_cached_only_if_declared_and_until_it_expires(
    install: Install, start: Callable[..., ApiClient], clock: FakeClock
) -> None:
    code = """
    calls = []

    async def handle(call):
        calls.append(call)
        if getattr(call.parameters, "bounded", False):
            call.expire_at(call.now + 60)
        return Seen(str(len(calls)))

    class Parameters(Struct, frozen=True):
        bounded: bool = False

    GetFresh = extension("GetFresh", handle)
    GetKept = extension("GetKept", handle, parameters=Parameters, is_cacheable=True)
    """
    install(
        "counting",
        code.replace("call.parameters.bounded", "getattr(call.parameters, 'bounded', False)"),
        "GetFresh",
        "GetKept",
    )
    client = start("GetFresh", "GetKept")
    assert [client.call("GetFresh").data["text"] for _ in range(3)] == ["1", "2", "3"]
    assert [client.call("GetKept").data["text"] for _ in range(3)] == ["4", "4", "4"]
    assert [client.call("GetKept", bounded=True).data["text"] for _ in range(2)] == ["5", "5"]
    clock.moment += 60
    assert client.call("GetKept", bounded=True).data["text"] == "6"
    assert client.call("GetKept").data["text"] == "4"


# Failures are contained


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError('inside')",
        "raise SystemExit(3)",
        "raise KeyboardInterrupt",
        "import asyncio; raise asyncio.CancelledError",
        "return object()",
        "raise Undeclared",
        "import asyncio; await asyncio.sleep(0); raise SystemExit",
        "raise type('Odd', (BaseException,), {})",
        "raise GeneratorExit",
        "import asyncio; asyncio.current_task().cancel(); await asyncio.sleep(600)",
        "raise TimeoutError",
        "raise Unfilled(other=1)",
    ],
)
def test_a_failure_is_one_internal_error(
    install: Install, start: Callable[..., ApiClient], caplog: pytest.LogCaptureFixture, body: str
) -> None:
    code = f"""
    class Undeclared(ApiError):
        error, code, text, when, remedy = "undeclared", 400, TEXT, "x", "x"

    class Unfilled(ApiError):
        error, code, text, when, remedy = "unfilled", 400, Text("{{who}}", "{{who}}"), "x", "x"

    async def handle(call):
        {body}

    GetBroken = extension("GetBroken", handle, errors=(Unfilled,))
    """
    install("broken", code, "GetBroken")
    client = start("built-in", "GetBroken")
    assert outcome(client, "GetBroken") == (500, "internal_error")
    assert "POST /api/ failed" in caplog.text
    assert outcome(client, "GetDomains") == (200, None)


SLOW = """
import asyncio

async def handle(call):
    await asyncio.sleep(600)

GetSlow = extension("GetSlow", handle)
"""


def test_a_client_that_disconnects_still_cancels(install: Install) -> None:
    install("slow", SLOW, "GetSlow")
    handler = table.enabled_handlers(Settings(extensions=("GetSlow",)))["GetSlow"]

    async def cancel() -> None:
        unused: Any = None
        task = asyncio.ensure_future(handler.handle(unused, unused, unused))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def test_a_handler_that_takes_too_long_is_stopped(install: Install) -> None:
    install("slow", SLOW, "GetSlow")
    handler = plugin_handler(load_plugins(Settings(extensions=("GetSlow",)))[0], seconds=0.01)

    async def call() -> None:
        unused: Any = None
        await handler.handle(unused, unused, unused)

    with pytest.raises(UpstreamTimeout):
        asyncio.run(call())


def test_what_a_handler_changes_stays_its_own(install: Install, start: Callable[..., ApiClient]) -> None:
    code = """
    async def handle(call):
        flavors = await call.flavors()
        flavors.flavors.clear()
        flavors.limits.clear()
        return Seen(str((await call.domain("206813")).cache_behaviors))

    GetChange = extension("GetChange", handle)
    """
    install("changing", code, "GetChange")
    client = start("GetChange")
    before = client.call("GetFlavors").data
    assert client.call("GetChange").status == 200
    assert client.call("GetFlavors").data == before


def test_a_cached_response_is_for_one_user(install: Install) -> None:
    install("mine", "GetMine = extension('GetMine', is_cacheable=True)", "GetMine")
    handler = table.enabled_handlers(Settings(extensions=("GetMine",)))["GetMine"]
    scopes = {handler.cache_scope(Tenant(tenant, user)) for tenant, user in ((1, "a"), (1, "b"), (2, "a"))}
    assert len(scopes) == 3


def test_its_own_error_is_returned_and_counted(install: Install, start: Callable[..., ApiClient]) -> None:
    code = """
    class Closed(ApiError):
        error, code, text, when, remedy = "shop_closed", 409, Text("Closed.", "已关闭"), "it is late", "Wait."

    async def handle(call):
        raise Closed

    GetShop = extension("GetShop", handle, errors=(Closed,))
    """
    install("shop", code, "GetShop")
    client = start("GetShop")
    reply = client.call("GetShop")
    assert (reply.status, reply.envelope["error"], reply.envelope["message"]) == (409, "shop_closed", "Closed.")


def test_doctor_tells_what_is_on_and_what_cannot_be(install: Install) -> None:
    install("good", "GetGood = extension('GetGood')\nGetNews = GetGood", "GetGood", "GetNews")
    install("bad", "GetBad = 5", "GetBad")

    def findings(*extensions: str) -> list[tuple[str, str]]:
        case = DoctorContext(Settings(extensions=extensions), [], now=0)
        return [(finding.level, finding.text) for finding in check_extensions(case)]

    assert findings("GetGood", "GetPrices") == [
        ("ok", "1 of 9 built-in extensions are on"),
        ("ok", "GetBad of bad 1.2 is installed, but not on"),
        ("ok", "GetGood of good 1.2 is on"),
        ("warning", "GetNews of good 1.2 is never used: the console has an action of this name itself"),
    ]
    ((level, text),) = findings("GetBad")
    assert (level, "GetBad of bad 1.2 is not a" in text) == ("problem", True)


# What a console does not start with


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("GetBad = 5", "is not a cloudconsole.extensions.Extension"),
        ("GetBad = extension('GetOther')", "is registered under another name than its own, GetOther"),
        ("raise ImportError('no numpy')", "cannot be imported: ImportError: no numpy"),
        ("GetOther = 1", "cannot be imported: AttributeError"),
        ("class P(Struct):\n    a: int = 1\nGetBad = extension('GetBad', parameters=P)", "not a frozen Struct"),
        (
            "class P(Struct, frozen=True):\n    action: int = 1\nGetBad = extension('GetBad', parameters=P)",
            "has a parameter named action",
        ),
        ("raise SystemExit(2)", "cannot be imported: SystemExit: 2"),
        ("GetBad = extension('GetBad', record=object)", "invalid declaration: TypeError"),
        ("GetBad = extension('GetBad', lambda call: None)", "a handle that is not a coroutine function"),
        ("GetBad = extension('GetBad', purpose='x')", "that is not a Text"),
        ("GetBad = extension('GetBad', success='x')", "that is not a Text"),
        ("GetBad = extension('GetBad', notes=['x'])", "invalid declaration"),
        ("GetBad = extension('GetBad', parameters=dict)", "not a frozen Struct"),
        ("class Tree(Struct):\n    down: 'list[Tree]'\nGetBad = extension('GetBad', record=Tree)", "RecursionError"),
        ("class GetBadAnswer(Struct):\n    a: int\nGetBad = extension('GetBad', record=GetBadAnswer)", "GetBadAnswer"),
        (
            "class P(Struct, frozen=True):\n    a: list[int] = []\nGetBad = extension('GetBad', parameters=P)",
            "a mutable parameter, a",
        ),
        (
            "class Q(Struct):\n    a: int\nclass P(Struct, frozen=True):\n    q: tuple[Q, ...] = ()\n"
            "GetBad = extension('GetBad', parameters=P)",
            "a mutable parameter, q",
        ),
        (
            "class P(Struct, frozen=True, rename='kebab'):\n    a_b: int = 1\n"
            "GetBad = extension('GetBad', parameters=P)",
            "a parameter named a-b",
        ),
        (
            "class Own(ApiError):\n    error, code, text, when, remedy = 'own', 400, 'x', 'x', 'x'\n"
            "GetBad = extension('GetBad', errors=(Own,))",
            "that is not a Text",
        ),
        ("class Flavor(Struct):\n    a: int\nGetBad = extension('GetBad', record=Flavor)", "a type named Flavor"),
        (
            "class Own(ApiError):\n    error, code, text, when, remedy = 'not_found', 404, TEXT, 'x', 'x'\n"
            "GetBad = extension('GetBad', errors=(Own,))",
            "has an invalid error, Own",
        ),
        (
            "class Own(ApiError):\n    error, code, text, when, remedy = 'own', 200, TEXT, 'x', 'x'\n"
            "GetBad = extension('GetBad', errors=(Own,))",
            "has an invalid error, Own",
        ),
        (
            "class Own(ApiError):\n    error, code = 'own', 400\nGetBad = extension('GetBad', errors=(Own,))",
            "invalid declaration: AttributeError",
        ),
    ],
)
def test_an_invalid_extension_is_rejected_with_its_package(install: Install, declaration: str, problem: str) -> None:
    install("bad", declaration, "GetBad")
    with pytest.raises(SettingError) as error:
        load_plugins(Settings(extensions=("GetBad",)))
    assert str(error.value).startswith("extensions: GetBad of bad 1.2 ")
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("GetNowhere",), "GetNowhere is neither built in nor in an installed package"),
        (("GetNews",), "GetNews is one of the six actions"),
        (("GetTwice",), "GetTwice is in several packages, first and second"),
    ],
)
def test_names_that_mean_no_single_extension_are_rejected(
    install: Install, names: tuple[str, ...], problem: str
) -> None:
    for package in ("first", "second"):
        install(
            package,
            "GetTwice = extension('GetTwice')\nGetNews = extension('GetNews')",
            "GetTwice",
            "GetNews",
        )
    with pytest.raises(SettingError, match=problem):
        Settings(extensions=names)


def test_packages_may_have_types_of_the_same_name(install: Install, start: Callable[..., ApiClient]) -> None:
    for package, name in (("one", "GetOne"), ("two", "GetTwo")):
        install(package, f"{name} = extension('{name}')", name)
    schemas = start("GetOne", "GetTwo").send("GET", "/openapi.json").envelope["components"]["schemas"]
    assert {"one.Seen", "two.Seen", "Flavor"} <= set(schemas)


@pytest.mark.parametrize("name", ["login", "getX", "Get-X", "Get X", "", "X" * 65])
def test_names_of_other_operations_cannot_be_extensions(name: str) -> None:
    with pytest.raises(ValueError, match="is not built-in or the name of an action"):
        SETTINGS["extensions"].kind.from_file([name])


def test_welcome_is_taken(install: Install) -> None:
    install("welcoming", "Welcome = extension('Welcome')", "Welcome")
    with pytest.raises(SettingError, match="a type named WelcomeAnswer"):
        load_plugins(Settings(extensions=("Welcome",)))


def test_a_package_never_replaces_a_built_in_extension(install: Install, start: Callable[..., ApiClient]) -> None:
    code = """
    async def handle(call):
        return Seen("shadow")

    GetPrices = extension("GetPrices", handle)
    """
    install("shadow", code, "GetPrices")
    assert isinstance(start("GetPrices").call("GetPrices").data, list)
