# SPDX-License-Identifier: MIT
"""`providers=["QNNExecutionProvider"]` in onnxruntime.InferenceSession means Quern.

Published snippets name the provider and the library of a backend; without that provider, ONNX
Runtime creates a session on its CPU provider. After `import quern` such a session uses Quern's
provider; other sessions are not affected, nor is an ONNX Runtime that was built with its own QNN
provider or has another provider registered under that name.
"""
from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import os
import sys
import warnings
from typing import Any, Callable, Iterator, Mapping, Sequence

QNN = "QNNExecutionProvider"
_HERE = "_quern_original"  # marks our __init__ and keeps the one before
_VENDOR = "Quern"


def _split(providers: Sequence[Any] | None, options: Sequence[Mapping[str, object]] | None
           ) -> tuple[int, Mapping[str, object]] | None:
    """(position of the QNN provider, its options); None where the list does not name it."""
    for at, item in enumerate(providers or ()):
        name = item[0] if isinstance(item, (tuple, list)) and len(item) == 2 else item
        if name == QNN:
            given = item[1] if name is not item else options[at] if options and \
                at < len(options) else {}
            return at, given or {}
    return None


def is_ours(ort: Any) -> bool:
    """Is the name free, or Quern's already? ONNX Runtime may have its own provider."""
    devices = [d for d in ort.get_ep_devices() if d.ep_name == QNN]
    if devices:
        return {d.ep_vendor for d in devices} == {_VENDOR}
    return QNN not in ort.get_available_providers()


def _refill(ort: Any, so: Any, options: Mapping[str, object], provider: str,
            devices: Callable[..., list[Any]]) -> Any:
    """Session options with Quern's provider, which is added once to options that are reused."""
    so = ort.SessionOptions() if so is None else so
    text = {str(key): str(int(value)) if isinstance(value, bool) else
            os.fspath(value) if isinstance(value, os.PathLike) else str(value)
            for key, value in options.items()}
    if not text.keys() & {"backend_path", "backend_type"}:
        text["backend_type"] = "htp"
    if hasattr(so, "has_providers") and so.has_providers():
        for key, value in text.items():  # what a provider option becomes
            so.add_session_config_entry(f"ep.{provider.lower()}.{key}", value)
    else:
        so.add_provider_for_devices(devices("cpu", provider)[:1], text)
    return so


def start(self: Any, ort: Any, before: Callable[..., None], provider: str, arguments: Sequence[Any],
          found: tuple[int, Mapping[str, object]], more: Mapping[str, Any],
          devices: Callable[..., list[Any]]) -> None:
    """The `__init__` of a session on Quern's provider, registered under the name `provider`."""
    model, so, providers = arguments
    others = [p if isinstance(p, str) else p[0] for i, p in enumerate(providers) if i != found[0]]
    unused = [name for name in others if name != "CPUExecutionProvider"]
    if unused:
        warnings.warn(f"beside {QNN} only CPUExecutionProvider is used: {', '.join(unused)} is "
                      "left out", stacklevel=3)
    so = _refill(ort, so, found[1], provider, devices)
    # ONNX Runtime's own fall-back would hide why a session cannot be made.
    before(self, model, so, None, None, **{"enable_fallback": 0, **more})


def wrap(session: type, devices: Callable[..., list[Any]]) -> None:
    """Puts our `__init__` in front of that of onnxruntime.InferenceSession, once."""
    before = session.__init__  # type: ignore[misc]
    if hasattr(before, _HERE):
        return

    @functools.wraps(before)
    def init(self: Any, path_or_bytes: Any, sess_options: Any = None, providers: Any = None,
             provider_options: Any = None, **more: Any) -> None:
        found = _split(providers, provider_options)
        import onnxruntime as ort
        if found is None or not hasattr(ort, "get_ep_devices") or not is_ours(ort):
            before(self, path_or_bytes, sess_options, providers, provider_options, **more)
        else:
            start(self, ort, before, QNN, (path_or_bytes, sess_options, providers), found, more,
                  devices)

    setattr(init, _HERE, before)
    session.__init__ = init  # type: ignore[misc]


def session_class(ort: Any, devices: Callable[..., list[Any]], own_name: str) -> type:
    """onnxruntime.InferenceSession whose provider is Quern's, whatever else is installed."""

    class InferenceSession(ort.InferenceSession):  # type: ignore[misc]
        """`onnxruntime.InferenceSession` on Quern: providers default to QNNExecutionProvider, and
        its options to the HTP. `backend_path` may be QnnHtp.dll, libQnnHtp.so or a path."""

        def __init__(self, path_or_bytes: Any, sess_options: Any = None, providers: Any = None,
                     provider_options: Any = None, **more: Any) -> None:
            providers = [QNN] if providers is None else providers
            before = getattr(ort.InferenceSession.__init__, _HERE, ort.InferenceSession.__init__)
            found = _split(providers, provider_options)
            if found is None:
                before(self, path_or_bytes, sess_options, providers, provider_options, **more)
            else:
                start(self, ort, before, QNN if is_ours(ort) else own_name,
                      (path_or_bytes, sess_options, providers), found, more, devices)

    return InferenceSession


def unwrap(session: type) -> None:
    session.__init__ = getattr(session.__init__, _HERE, session.__init__)  # type: ignore[misc]


class _Hook(importlib.abc.MetaPathFinder):
    """Calls back when onnxruntime has been imported: importing quern must not load it."""

    def __init__(self, then: Callable[[Any], None]):
        self._then, self._busy = then, False

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "onnxruntime" or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        run, then = spec.loader.exec_module, self._then

        def exec_module(module: Any) -> None:
            run(module)
            then(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _hooks() -> Iterator[_Hook]:
    return (hook for hook in list(sys.meta_path) if isinstance(hook, _Hook))


def adopt(devices: Callable[..., list[Any]], enable: bool) -> None:
    """Wraps onnxruntime.InferenceSession, now or when it is imported; or undoes it."""
    def change(module: Any) -> None:
        session = getattr(module, "InferenceSession", None)
        if isinstance(session, type):
            wrap(session, devices) if enable else unwrap(session)

    for hook in _hooks():
        sys.meta_path.remove(hook)
    if "onnxruntime" in sys.modules:
        change(sys.modules["onnxruntime"])
    elif enable:
        sys.meta_path.insert(0, _Hook(change))
