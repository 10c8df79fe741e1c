"""`cloudconsole admin` in Chinese: results, errors and questions; data is the same in both languages."""

import json
import os
from pathlib import Path

import pytest

from tests.server.commands.conftest import Run, admin_on_terminal

CLOUD_FILE = "version: 1\nnodes: [hk-1]\ntenants:\n  - {name: acme, speed: 1}\n  - {name: acme}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("node", "add", "new-1"), "节点 new-1：已添加"),
        (("node", "enable", "hk-1"), "节点 hk-1：没有更改"),
        (("account", "end-sessions", "demo"), "账户 demo：会话已结束"),
        (("account", "clear-throttle", "demo"), "账户 demo：已清除 0 次登录失败记录"),
        (("recount",), "没有更改"),
        (("prune",), "没有需要清除的内容"),
        (("node", "list"), "名称\t已停用"),
        (("node", "show", "hk-1"), "名称\thk-1"),
        (("audit",), "编号\t时间\t操作人\t操作\t对象\t详情"),
    ],
)
def test_results_are_in_chinese(admin: Run, arguments: tuple[str, ...], line: str) -> None:
    done = admin(*arguments, "--lang", "zh")
    assert (done.code, done.err) == (0, "")
    assert line in done.out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("node", "remove", "nowhere"), "节点 nowhere 不存在"),
        (("node", "add", "hk-1"), "NAME：节点 hk-1 已存在"),
        (
            ("price", "list", "--kind", "bus"),
            "--kind：未知的种类 bus：可选 云主机（instance）、镜像（image）、负载均衡（loadbalance）、云硬盘（volume）",
        ),
        (("audit", "--since", "soon"), "--since：必须是时间，例如 2026-01-31T08:00:00Z"),
        (("account", "password", "demo"), "没有可输入密码的终端：请用 --password-stdin 或 --password-file"),
        (
            ("account", "disable", "operator"),
            "账户 operator 是最后一个可以登录的管理员，请先创建另一个；如需强制执行，请用 --force",
        ),
        (("load", "missing.yaml"), "无法读取 missing.yaml：No such file or directory"),
    ],
)
def test_errors_are_in_chinese(admin: Run, arguments: tuple[str, ...], problem: str) -> None:
    done = admin(*arguments, "--lang", "zh")
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {problem}\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("node", "list", "--limit", "0"), "--limit：必须是正整数"),
        (("flavor", "change", "1", "--ram", "much"), "--ram：必须是整数"),
        (
            ("domain", "change", "1", "--cache-behaviors", "{"),
            "--cache-behaviors：必须是 JSON，或 @FILE（文件内容为 JSON）",
        ),
        (("flavor", "change", "1"), "至少指定以下之一：--name, --vcpus, --ram, --disk"),
        (("prune", "--audit", "1d"), "--audit：必须是 7d 至 9999d 的天数，例如 400d"),
        (("account", "clear-throttle", "demo", "--address", "x"), "--address：必须是 IP 地址，例如 192.0.2.1"),
        (("audit", "--after", "x"), "--after：必须是记录的编号"),
    ],
)
def test_usage_errors_are_in_chinese(
    admin: Run, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        admin(*arguments, "--lang", "zh")
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith(f"cloudconsole: {problem}；参见 ")


def test_problems_of_a_cloud_file_are_in_chinese(admin: Run, tmp_path: Path) -> None:
    file = tmp_path / "cloud.yaml"
    file.write_text(CLOUD_FILE)
    done = admin("load", file, "--lang", "zh")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        f"{file}:4: tenants[0].speed: 未知：请检查拼写或将其删除",
        f"{file}:5: tenants[1].name: 与第 4 行的 tenants[0].name 重复",
    ]


def test_json_is_the_same_in_both_languages(admin: Run) -> None:
    for arguments in (("node", "list"), ("node", "show", "hk-1"), ("load", "-", "--dry-run", "--force")):
        english, chinese = (
            admin(*arguments, "--json", "--lang", language, stdin=b"version: 1\n") for language in ("en", "zh")
        )
        assert english == chinese
        assert json.loads(english.out)


def test_summary_of_a_load_is_in_chinese(admin: Run, tmp_path: Path) -> None:
    file = tmp_path / "cloud.yaml"
    admin("dump", file)
    admin("node", "add", "new-1")
    assert admin("load", file, "--dry-run", "--lang", "zh").out == "节点：删除 1 项\n试运行：未做任何更改\n"
    assert admin("load", file).out == "nodes: 1 removed\n"
    assert admin("load", file, "--lang", "zh").out == "没有更改\n"


def test_import_reports_in_chinese(admin: Run) -> None:
    done = admin("import", "-", "--lang", "zh", stdin=b"{}\n")
    assert done.code == 1
    assert done.out == (
        "资源：已添加 0 项，原已存在 0 项\n停止于第 1 行：未添加任何资源；请修正该行，再次执行命令以继续\n"
    )
    assert done.err.startswith("standard input:1: id: 为必填项\n")


@pytest.mark.parametrize("before", [("--lang", "zh", "admin"), ("admin", "--lang", "zh"), ("admin", "--lang=zh")])
def test_flag_may_precede_the_subcommand(cloudconsole: Run, data: Path, before: tuple[str, ...]) -> None:
    assert (
        cloudconsole(*before, "node", "remove", "nowhere", "--data", data).err == "cloudconsole: 节点 nowhere 不存在\n"
    )


def test_locale_selects_the_language(admin: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert admin("node", "remove", "nowhere").err == "cloudconsole: 节点 nowhere 不存在\n"
    assert admin("node", "remove", "nowhere", "--lang", "en").err == "cloudconsole: there is no node nowhere\n"


def test_profile_selects_the_language(admin: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "cloudconsole"
    folder.mkdir()
    file = folder / "config.toml"
    file.write_text('[profiles.here]\nurl = "https://console.example.com"\nlanguage = "zh"\n')
    assert admin("node", "remove", "nowhere").err == "cloudconsole: there is no node nowhere\n"
    monkeypatch.setenv("CLOUDCONSOLE_PROFILE", "here")
    assert admin("node", "remove", "nowhere").err == "cloudconsole: 节点 nowhere 不存在\n"
    assert admin("node", "remove", "nowhere", "--lang", "en").err == "cloudconsole: there is no node nowhere\n"
    file.write_text("not TOML")
    assert admin("node", "remove", "nowhere").err == "cloudconsole: there is no node nowhere\n"


@pytest.mark.embedded_only
def test_errors_of_the_store_are_in_chinese(admin: Run, cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("nonsense")
    done = admin("restore", tmp_path / "b.tar", "--lang", "zh")
    assert done.err.startswith(f"cloudconsole: {tmp_path}/b.tar 不是")
    folder = tmp_path / "elsewhere"
    done = cloudconsole("admin", "node", "list", "--lang", "zh", "--data", folder)
    assert done.err == f"cloudconsole: {folder} 中没有数据存储：请用 --data 指定其目录\n"


@pytest.mark.embedded_only
def test_missing_token_keys_are_reported_in_chinese(admin: Run, data: Path) -> None:
    problem = admin("token-keys", "rotate", "--lang", "zh").err
    assert (
        problem == f"cloudconsole: {data}/token-keys 中没有令牌密钥：配置了 Keystone 认证地址的控制台会在启动时创建\n"
    )


@pytest.mark.embedded_only
def test_unsafe_data_directory_is_reported_in_chinese(admin: Run, data: Path) -> None:
    data.chmod(0o777)
    problem = f"所有用户都可写入数据目录 {data} 并替换其中的文件：chmod o-w {data}"
    assert admin("node", "list", "--lang", "zh").err == f"cloudconsole: {problem}\n"


@pytest.mark.embedded_only
def test_stores_are_named_in_chinese(admin: Run, data: Path) -> None:
    assert admin("migrate", "--lang", "zh").out.startswith(f"{data} 中的数据存储的数据表已是最新（版本 ")


@pytest.mark.embedded_only
def test_restore_asks_in_chinese(admin: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    assert "其中含有密码哈希和密钥：请像数据存储本身一样保护\n" in admin("backup", file, "--lang", "zh").out
    terminal = admin_on_terminal(data, "restore", str(file), "--lang", "zh")
    terminal.wait_for("输入 yes 继续：")
    terminal.type("no\n")
    assert terminal.end() == 1
    assert "未做任何更改" in terminal.shown
