"""Language negotiation of responses."""

import pytest

from cloudconsole.spec.i18n import Text, choose_language


@pytest.mark.parametrize(
    "header",
    [
        "zh",
        "ZH",
        "zh-CN",
        "zh-Hant-TW",
        "zh-CN,zh;q=0.9,en;q=0.8",
        "en;q=0.8, zh;q=0.9",
        "en;q=0.1,fr,zh;q=0.2",
        "fr, zh;q=0.001",
        "zh;q=1.000, en;q=0.999",
        "zh-TW;q=0.1, zh-CN;q=0.9, en;q=0.5",
        " zh ; q=0.7 , en ; q=0.6 ",
        "zh;Q=0.7,en;Q=0.6",
        "en;q=0, zh;q=0.1",
        "en;q=0.2, *;q=0.5",
    ],
)
def test_chinese_is_chosen_when_it_has_more_weight(header: str) -> None:
    assert choose_language(header) == "zh"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "en",
        "en-GB,en;q=0.9,zh;q=0.8",
        "zh, en",
        "en, zh",
        "zh;q=0.5, en;q=0.5",
        "fr, de;q=0.9",
        "*",
        "zh;q=0",
        "zh;q=0, en;q=0",
        "zh;q=0.2, *;q=0.5",
        "zha",
        "zhx-CN",
        ",,;;,",
    ],
)
def test_english_is_the_default(header: str) -> None:
    assert choose_language(header) == "en"


@pytest.mark.parametrize("weight", ["nan", "inf", "-1", "2", "1e9", "x", "", "0x1", "½"])
def test_invalid_weight_counts_as_zero(weight: str) -> None:
    assert choose_language(f"zh;q={weight}, en;q=0.001") == "en"


@pytest.mark.parametrize("header", ["zh," * 100_000, ";" * 100_000, "zh;q=" + "9" * 100_000, "\x00\xff"])
def test_huge_or_binary_header_is_accepted(header: str) -> None:
    assert choose_language(header) in ("en", "zh")


def test_text_is_formatted_in_each_language() -> None:
    text = Text("Hello {name}", "你好 {name}")
    assert (text.format_in("en", name="A"), text.format_in("zh", name="A")) == ("Hello A", "你好 A")


def test_value_is_never_used_as_a_format_string() -> None:
    assert Text("Got {value}", "得到 {value}").format_in("en", value="{0} {x!r}") == "Got {0} {x!r}"


def test_entries_after_the_first_32_are_ignored() -> None:
    assert choose_language("fr," * 31 + "zh") == "zh"
    assert choose_language("fr," * 32 + "zh") == "en"
