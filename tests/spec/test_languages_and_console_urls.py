"""Language negotiation of responses, and normalising of console base URLs."""

import pytest

from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.i18n import Text, choose_language

CHINESE = ["zh", "ZH", "zh-CN", "zh-Hant-TW", "zh-CN,zh;q=0.9,en;q=0.8", "en;q=0.8, zh;q=0.9", "fr, zh;q=0.001"]
CHINESE += ["en;q=0.1,fr,zh;q=0.2", "zh;q=1.000, en;q=0.999", "zh-TW;q=0.1, zh-CN;q=0.9, en;q=0.5"]
CHINESE += [" zh ; q=0.7 , en ; q=0.6 ", "zh;Q=0.7,en;Q=0.6", "en;q=0, zh;q=0.1", "en;q=0.2, *;q=0.5"]
ENGLISH = ["", "en", "en-GB,en;q=0.9,zh;q=0.8", "zh, en", "en, zh", "zh;q=0.5, en;q=0.5", "fr, de;q=0.9", "*"]
ENGLISH += ["zh;q=0", "zh;q=0, en;q=0", "zh;q=0.2, *;q=0.5", "zha", "zhx-CN", ",,;;,"]


@pytest.mark.parametrize("header", CHINESE)
def test_chinese_is_chosen_when_it_has_more_weight(header: str) -> None:
    assert choose_language(header) == "zh"


@pytest.mark.parametrize("header", ENGLISH)
def test_english_is_the_default(header: str) -> None:
    assert choose_language(header) == "en"


@pytest.mark.parametrize("weight", ["nan", "inf", "-1", "2", "1e9", "x", "", "0x1", "½"])
def test_invalid_weight_counts_as_zero(weight: str) -> None:
    assert choose_language(f"zh;q={weight}, en;q=0.001") == "en"


@pytest.mark.parametrize("header", ["zh," * 100_000, ";" * 100_000, "zh;q=" + "9" * 100_000, "\x00\xff"])
def test_huge_or_binary_header_is_accepted(header: str) -> None:
    assert choose_language(header) in ("en", "zh")


def test_text_is_formatted_in_each_language_and_a_value_is_no_format_string() -> None:
    text, value = Text("Hello {name}", "你好 {name}"), "{0} {x!r}"
    assert (text.format_in("en", name="A"), text.format_in("zh", name=value)) == ("Hello A", f"你好 {value}")


def test_entries_after_the_first_32_are_ignored() -> None:
    assert choose_language("fr," * 31 + "zh") == "zh"
    assert choose_language("fr," * 32 + "zh") == "en"


# Console URLs


@pytest.mark.parametrize(
    ("given", "normalised"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("HTTPS://Console.Example.COM/", "https://console.example.com"),
        ("https://console.example.com:443", "https://console.example.com"),
        ("http://console.example.com:443", "http://console.example.com:443"),
        ("http://host/Path/", "http://host/Path"),
        ("http://host/api/", "http://host"),
        ("http://host/path/api/", "http://host/path"),
        # A console mounted at /api.
        ("http://host/api", "http://host/api"),
        ("http://host/api/api/", "http://host/api"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://[0:0::1]", "http://[::1]"),
        ("http://bücher.example", "http://xn--bcher-kva.example"),
        # A Cyrillic letter that looks like a Latin one.
        ("http://аpple.example", "http://xn--pple-43d.example"),
    ],
)
def test_base_url_is_normalised(given: str, normalised: str) -> None:
    assert normalise_base_url(given) == normalised
    assert normalise_base_url(normalised) == normalised


INVALID_HOSTS = ["", ":80", "host:0", "host:99999", "host:x", "user@host", "user:password@host", "host/?a=1", "host/#a"]
INVALID_HOSTS += ["ho st", "host\n", "[::1", "[v1.x]", "a..b", "a" * 64, "\u202ehost", "\udcff"]


@pytest.mark.parametrize(
    "given", ["", "console.example.com", "ftp://host", *(f"http://{host}" for host in INVALID_HOSTS)]
)
def test_invalid_base_url_is_rejected(given: str) -> None:
    with pytest.raises(ValueError):
        normalise_base_url(given)
