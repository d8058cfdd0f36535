"""Numbers as people read them."""

import math

import pytest

from screens import text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 B"), (269_000, "269 KB"), (1_234_000, "1.23 MB"), (42_000_000, "42.0 MB"), (None, "–")],
)
def test_bytes_have_three_digits_and_a_unit(value: float | None, shown: str) -> None:
    assert text.bytes_(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(17_179_869_184, "16.0 GiB"), (32_768, "32.0 KiB"), (100, "100 B"), (math.nan, "–")]
)
def test_memory_is_in_binary_units(value: float, shown: str) -> None:
    assert text.memory(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.31, "0.3 s"), (41.2, "41 s"), (185, "3:05"), (7800, "2:10:00"), (4 * 86400 + 7200, "4 d 02 h"), (None, "–"), (-1, "–")],
)
def test_durations_grow_in_form(seconds: float | None, shown: str) -> None:
    assert text.duration(seconds) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.04123, "0.04123"), (3e-4, "3.00e-4"), (math.nan, "NaN"), (-math.inf, "-inf"), (None, "–"), (0.0, "0"), (2.5e7, "2.50e7")],
)
def test_numbers_keep_four_digits_and_name_what_is_no_number(value: float | None, shown: str) -> None:
    assert text.number(value) == shown


def test_short_counts_and_shares() -> None:
    assert text.short_count(56_100) == "56.1 K"
    assert text.short_count(999) == "999"
    assert text.percent(0.9812, 1) == "98.1 %"
    assert text.percent(None) == "–"
    assert text.count(12_400.4) == "12,400"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (True, "", "yes"),
        (34.2, "%", "34 %"),
        (2**34, "B", "16.0 GiB"),
        (16, "threads", "16 threads"),
        (["AVX2", "FMA"], "", "AVX2, FMA"),
        ({"name": "M4", "cores": 40, "memory_bytes": 2**30, "mig": None}, "", "M4 40 cores memory 1.00 GiB"),
        (None, "", "–"),
    ],
)
def test_quantities_of_any_kind(value: object, unit: str, shown: str) -> None:
    assert text.quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("locale", "ascii_"), [("C", True), ("de_DE.ISO-8859-1", True), ("en_GB.UTF-8", False), ("C.utf8", False)]
)
def test_ascii_is_for_locales_that_name_another_encoding(monkeypatch: pytest.MonkeyPatch, locale: str, ascii_: bool) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    assert text.ascii_only() is ascii_


def test_an_unset_locale_is_taken_for_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert not text.ascii_only()
