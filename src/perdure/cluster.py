"""Processors, and the connection to a Ray cluster: joined or started here, with actors that work on its machines."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perdure.errors import PerdureError, message_of
from perdure.lazy import import_extra
from perdure.stopping import Stopped, pending_stop

ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
"""One thread per process, since processes with more would compete for the cores; torch reads OMP_NUM_THREADS."""

_MAX_BYTES = 64 << 20
_CONNECT_TIMEOUT_S = 10.0


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def joined(address: str | None, purpose: str) -> Iterator[Any]:
    """Yield Ray, with the cluster at `address`, or at RAY_ADDRESS, or one that is started here and ended afterwards.

    If a script has joined a cluster itself, that one is used, and left as it is.
    """
    ray = import_extra("ray", purpose)
    started = not ray.is_initialized()
    if started:
        _join(ray, address or os.environ.get("RAY_ADDRESS") or None)
    elif address is not None:
        raise PerdureError("this process has joined a Ray cluster already", f"leave --address {address} out")
    try:
        yield ray
    except (ray.exceptions.RayError, ConnectionError) as problem:
        raise PerdureError(
            f"the Ray cluster is gone: {type(problem).__name__}: {line_of(problem, 0)}",
            "run again: results that arrived are kept",
        ) from problem
    except SystemExit as problem:
        # If a signal arrives while Ray waits for its machines, Ray raises an exit with status 1 instead.
        if (stopped := pending_stop()) is not None and not isinstance(problem, Stopped):
            raise stopped from None
        raise
    finally:
        if started:
            ray.shutdown()


def _join(ray: Any, address: str | None) -> None:
    import logging

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that Perdure starts sends no statistics
        options["include_dashboard"] = False
    else:
        _check_listening(address)
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if in_main_thread else None
    try:
        ray.init(address or "local", **options)
    except Exception as problem:  # of many kinds
        failed = f"no Ray cluster could be joined at {address}" if address else "no Ray cluster could be started here"
        raise PerdureError(
            f"{failed} ({type(problem).__name__}: {line_of(problem, 0)})",
            f"check --address and RAY_ADDRESS, and that Ray {ray.__version__} and Python "
            f"{sys.version_info.major}.{sys.version_info.minor} run there",
        ) from problem
    finally:
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)  # Ray replaces it, and would end this process in its own way


def _check_listening(address: str) -> None:
    """Raise at once if nothing listens at an address; Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # a name that Ray knows, as `auto`
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError, OverflowError) as problem:
        raise PerdureError(
            f"no Ray cluster could be joined at {address} ({message_of(problem)})",
            "check --address and RAY_ADDRESS, and that this machine reaches it",
        ) from problem


def actor_starter(ray: Any, maker: str, paths: Sequence[Path] = (), **options: Any) -> Callable[..., Any]:
    """Return a function that starts an actor around `maker(root, *arguments)`, given the pickled arguments.

    `options` are Ray's, such as what to set aside for each actor. `paths` are folders of the user's modules.
    """
    from perdure import actor

    # By value: a machine need not have Perdure, and must not take another version of it.
    ray.cloudpickle.register_pickle_by_value(actor)
    remote = ray.remote(**options)(actor.Actor)
    code = ray.put(code_for(paths))

    def start(arguments: Any) -> Any:
        return remote.remote(code, maker, arguments, os.getcwd(), ONE_THREAD)

    return start


def line_of(problem: BaseException, number: int) -> str:
    """Return a line of the message of an error of Ray, cut: 0 is the first, -1 the last."""
    return (str(problem).strip().splitlines() or [""])[number][:500]


def code_for(paths: Sequence[Path]) -> dict[str, bytes]:
    """Return the files of Perdure and of the modules imported from `paths`, by their paths on `sys.path`.

    A module comes with the other modules of its folder, a package with all of its modules. Installed ones are left out.
    """
    import perdure

    contents = dict(_package_files(Path(perdure.__file__).parent, everything=True))
    roots = [path.resolve() for path in paths]
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or not file or name in ("perdure", "__main__", "__mp_main__"):
            continue
        source = Path(file).resolve()
        if not any(source.is_relative_to(root) for root in roots) or is_installed(source):
            continue
        if source.name == "__init__.py":
            contents |= _package_files(source.parent)
        else:
            contents |= {module.name: module.read_bytes() for module in source.parent.glob("*.py") if module.is_file()}
    size = sum(map(len, contents.values()))
    if size > _MAX_BYTES:
        raise PerdureError(
            f"the modules beside the protocol are {size >> 20} MB, too much to send", "install them on every machine"
        )
    return contents


def _package_files(folder: Path, *, everything: bool = False) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        wanted = file.suffix == ".py" or (everything and file.suffix != ".pyc")
        if wanted and file.is_file():
            yield file.relative_to(folder.parent).as_posix(), file.read_bytes()


def is_installed(source: Path) -> bool:
    """Return whether a file belongs to an installed package or to Python itself."""
    return bool({"site-packages", "dist-packages"} & set(source.parts)) or any(
        source.is_relative_to(Path(sys.base_prefix, library)) for library in ("lib", "lib64")
    )
