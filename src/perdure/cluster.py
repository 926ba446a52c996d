"""A Ray cluster, joined or started here, for whatever is done on several machines."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perdure.errors import PerdureError, message_of
from perdure.lazy import of_extra
from perdure.stopping import Stopped, asked_to_stop

ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
"""One thread per process, or they would fight for the cores; torch goes by OMP_NUM_THREADS."""

_MOST_BYTES = 64 << 20
_ANSWER_S = 10.0


@contextmanager
def joined(address: str | None, purpose: str) -> Iterator[Any]:
    """Ray, with the cluster at `address`, or at RAY_ADDRESS, or one started here and ended with this.

    Where a script has joined one itself, that one is used, and left as it is.
    """
    ray = of_extra("ray", purpose)
    ours = not ray.is_initialized()
    if ours:
        _join(ray, address or os.environ.get("RAY_ADDRESS") or None)
    elif address is not None:
        raise PerdureError("this process has joined a Ray cluster already", f"leave --address {address} out")
    try:
        yield ray
    except (ray.exceptions.RayError, ConnectionError) as problem:
        said = (str(problem).strip().splitlines() or [""])[0]
        raise PerdureError(
            f"the Ray cluster is gone: {type(problem).__name__}: {said[:500]}",
            "run again: results that arrived are kept",
        ) from problem
    except SystemExit as problem:
        # Where a signal comes while Ray waits for its machines, Ray makes an exit with status 1 of what it raised.
        if (stopped := asked_to_stop()) is not None and not isinstance(problem, Stopped):
            raise stopped from None
        raise
    finally:
        if ours:
            ray.shutdown()


def _join(ray: Any, address: str | None) -> None:
    import logging

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster of ours reports to nobody
        options["include_dashboard"] = False
    else:
        _refuse_silent(address)
    here = threading.current_thread() is threading.main_thread()
    heard = signal.getsignal(signal.SIGTERM) if here else None
    try:
        ray.init(address or "local", **options)
    except Exception as problem:  # of many kinds
        failed = f"no Ray cluster could be joined at {address}" if address else "no Ray cluster could be started here"
        said = (str(problem).strip().splitlines() or [""])[0]
        raise PerdureError(
            f"{failed} ({type(problem).__name__}: {said})",
            f"check --address and RAY_ADDRESS, and that Ray {ray.__version__} and Python "
            f"{sys.version_info.major}.{sys.version_info.minor} run there",
        ) from problem
    finally:
        if here and heard is not None:
            signal.signal(signal.SIGTERM, heard)  # Ray takes it, and would end us in its own way


def _refuse_silent(address: str) -> None:
    """Say it at once where nobody listens at an address; Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # a name that Ray knows, as `auto`
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S).close()
    except (OSError, ValueError, OverflowError) as problem:
        raise PerdureError(
            f"no Ray cluster could be joined at {address} ({message_of(problem)})",
            "check --address and RAY_ADDRESS, and that this machine reaches it",
        ) from problem


def guests(ray: Any, **options: Any) -> Any:
    """The actor to send to machines of a cluster, with what is to be set aside for it; see `guest`."""
    from perdure import guest

    # By value: a machine need not have Perdure, and must not take another version of it.
    ray.cloudpickle.register_pickle_by_value(guest)
    return ray.remote(max_restarts=0, **options)(guest.Guest)


def code_for(paths: Sequence[Path]) -> dict[str, bytes]:
    """Perdure itself, and the modules that this process has imported from `paths`, by where they belong.

    A module comes with the other modules of its folder, a package whole. What is installed stays where it is.
    """
    import perdure

    found = dict(_package(Path(perdure.__file__).parent, Path(perdure.__file__).parents[1], everything=True))
    roots = [path.resolve() for path in paths]
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or not file or name in ("perdure", "__main__", "__mp_main__"):
            continue
        source = Path(file).resolve()
        if not any(source.is_relative_to(root) for root in roots) or is_installed(source):
            continue
        if source.name == "__init__.py":
            found |= _package(source.parent, source.parents[1])
        else:
            found |= {one.name: one.read_bytes() for one in source.parent.glob("*.py") if one.is_file()}
    size = sum(map(len, found.values()))
    if size > _MOST_BYTES:
        raise PerdureError(
            f"the modules beside the protocol are {size >> 20} MB, too much to send", "install them on every machine"
        )
    return found


def _package(folder: Path, root: Path, *, everything: bool = False) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        wanted = file.suffix == ".py" or (everything and file.suffix != ".pyc")
        if wanted and file.is_file():
            yield file.relative_to(root).as_posix(), file.read_bytes()


def is_installed(source: Path) -> bool:
    """Return whether a file belongs to an installed package or to Python itself."""
    return bool({"site-packages", "dist-packages"} & set(source.parts)) or any(
        source.is_relative_to(Path(sys.base_prefix, one)) for one in ("lib", "lib64")
    )
