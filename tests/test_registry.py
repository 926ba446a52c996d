"""Registries: names are looked up, suggested, taken once, and extended by plug-ins."""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace

import pytest

from perdure import registry as registries
from perdure.errors import MissingExtraError, PerdureError, UnknownNameError
from perdure.registry import Registry


def test_an_unknown_name_offers_the_nearest() -> None:
    registry: Registry[int] = Registry("reader", "perdure.none")
    registry.add("l2logger", 1)
    with pytest.raises(UnknownNameError, match="unknown reader 'l2loger'; did you mean 'l2logger'"):
        registry.get("l2loger")
    with pytest.raises(UnknownNameError, match="known: l2logger"):
        registry.get("zzz")
    assert registry.get("l2logger") == 1


def test_names_stay_in_the_order_of_their_registration() -> None:
    registry: Registry[object] = Registry("reader", "perdure.none")
    registry.add("first", 1)
    registry.add_later("second", "math:pi")
    registry.add_later("third", "math:e")
    registry.get("third")
    assert registry.names() == ("first", "second", "third")
    assert list(registry) == [1, math.pi, math.e]


def test_a_name_is_taken_once() -> None:
    registry: Registry[int] = Registry("reader", "perdure.none")
    registry.add("a", 1)
    with pytest.raises(PerdureError, match="registered twice"):
        registry.add("a", 2)


class _Point:
    def __init__(self, name: str, loaded: object) -> None:
        self.name, self.value, self._loaded = name, "somewhere:thing", loaded

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


class _Points(list[_Point]):
    def select(self, group: str) -> list[_Point]:
        return list(self) if group == "perdure.readers" else []


def test_a_lazy_entry_is_imported_on_first_use() -> None:
    registry: Registry[object] = Registry("reader", "perdure.none")
    registry.add("first", 1)
    registry.add_later("table", "perdure.log.formats.table:TABLE")
    assert registry.names() == ("first", "table")
    assert [getattr(item, "name", item) for item in registry] == [1, "table"]
    assert registry.get("table") is list(registry)[1]


def test_a_thread_gets_an_entry_that_another_thread_is_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signals = SimpleNamespace(begun=Event(), asked=Event())
    monkeypatch.setitem(sys.modules, "signals_of_slow", signals)
    monkeypatch.delitem(sys.modules, "slow", raising=False)
    (tmp_path / "slow.py").write_text(
        "import signals_of_slow as s\ns.begun.set()\nassert s.asked.wait(60)\nTHING = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[int] = Registry("reader", "perdure.none")
    registry.add_later("slow", "slow:THING")
    with ThreadPoolExecutor(1) as others:
        other = others.submit(registry.get, "slow")
        assert signals.begun.wait(60)
        Timer(0.1, signals.asked.set).start()
        assert registry.get("slow") == 7
        assert other.result() == 7


def test_a_failed_import_reports_its_reason_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lame.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[int] = Registry("reader", "perdure.none")
    registry.add_later("lame", "lame:THING")
    for _ in range(2):
        with pytest.raises(ImportError, match="no_such_package"):
            registry.get("lame")


def test_plugins_are_read_on_the_first_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.registry._installed", lambda: _Points([_Point("new", 7)]))
    registry: Registry[int] = Registry("reader", "perdure.readers")
    registry.add("old", 1)
    assert registry.get("new") == 7
    assert registry.names() == ("old", "new")


def test_a_plugin_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.registry._installed", lambda: _Points([_Point("broken", ImportError("no torch"))]))
    registry: Registry[int] = Registry("reader", "perdure.readers")
    with pytest.raises(PerdureError, match=r"somewhere:thing.*broken.*no torch"):
        registry.get("x")


@pytest.mark.parametrize(
    ("folder", "package", "metadata"),
    [
        ("own", "mine-1.dist-info", "METADATA"),
        ("own", "Mine-1.DIST-INFO", "METADATA"),
        ("own", "mine.egg-info", "PKG-INFO"),
        ("mine-1.egg", "EGG-INFO", "PKG-INFO"),
    ],
)
def test_a_plugin_is_found_in_any_metadata_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, package: str, metadata: str
) -> None:
    own = tmp_path / folder
    for name, points in (
        ("others-1.dist-info", "[console_scripts]\nothers = others:main\n"),
        ("bare-1.dist-info", None),
    ):
        (own / name).mkdir(parents=True)
        if points:
            (own / name / "entry_points.txt").write_text(points)
    monkeypatch.setattr(sys, "path", [str(own), str(tmp_path / "nowhere")])
    assert not registries._installed.__wrapped__().select(group="perdure.readers")
    mine = own / package
    mine.mkdir()
    (mine / metadata).write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (mine / "entry_points.txt").write_text("[perdure.readers]\nnew = mine:READER\n")
    (entry_point,) = registries._installed.__wrapped__().select(group="perdure.readers")
    assert (entry_point.name, entry_point.value) == ("new", "mine:READER")


def test_a_missing_extra_gives_the_command_that_installs_it() -> None:
    assert "pip install 'ray[client]>=" in str(MissingExtraError("ray", "ray", "running on a cluster"))


def test_an_alias_finds_an_entry_that_is_listed_once() -> None:
    kinds: Registry[str] = Registry("kind", "perdure.none")
    kinds.add("new", "thing")
    kinds.alias("old", "new")
    assert kinds.get("old") == "thing"
    assert (kinds.canonical("old"), kinds.canonical("new")) == ("new", "new")
    assert list(kinds) == ["thing"]
    assert kinds.names() == ("new",)
    for taken, target in (("new", "other"), ("old", "other")):
        with pytest.raises(PerdureError, match="registered already"):
            kinds.alias(taken, target)
