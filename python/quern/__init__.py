# SPDX-License-Identifier: MIT
"""Quern: QNN models on any Linux machine.

    import quern

    quern.check("model.onnx", soc="SM8650")  # what the NPU supports
    quern.estimate("model.onnx", soc="all")  # how long it would take
    session = quern.session("model.onnx", backend="htp", soc="SM8650")
    session.run(None, {"x": x})

After `import quern`, an `onnxruntime.InferenceSession` with `providers=["QNNExecutionProvider"]`
also runs on Quern.

The package contains Quern's QNN libraries (`quern.libs()`), an ONNX Runtime execution provider
(`quern.plugin()`), the program `quern` (`quern.program()`) and a small sample network
(`quern.sample()`). The functions are a thin layer: they pass options to the provider unchanged, and
the provider reports what is wrong with them.
"""
from __future__ import annotations

import contextlib
import importlib
import os
import re
import stat
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping

from quern import _cli, _generate, _ort, _reports
from quern._dims import check_dims
from quern._generate import Generated
from quern._progress import Elapsed
from quern._report import Bench, Check, Comparison, Estimate, Info, Row, Socs
from quern._reports import bench, check, compare, estimate, info, socs
from quern._target import DEFAULT_SOC, target_of
from quern._version import __version__ as __version__
from quern._words import unknown

__all__ = ["DEFAULT_SOC", "EP_NAME", "Bench", "Check", "Comparison", "Estimate", "Generated",
           "InferenceSession", "Info", "Row", "Socs", "bench", "check", "compare", "compile_model",
           "devices", "ep_options", "estimate", "generate", "info", "libs", "library",
           "patch_onnxruntime", "plugin", "program", "register", "sample", "session", "socs",
           "unregister"]

EP_NAME = "QuernExecutionProvider"

_VENDOR = "Quern"
_LIBRARIES = {"cpu": "libQnnCpu.so", "htp": "libQnnHtp.so", "gpu": "libQnnGpu.so",
              "saver": "libQnnSaver.so", "system": "libQnnSystem.so"}
_SAME_AS = {"npu": "htp", "dsp": "htp", "hexagon": "htp"}
_KINDS = ("cpu", "gpu", "npu")
_STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : (\w+) : ")
_lock = threading.RLock()
# Sessions by the provider's name. They hold code of the provider, so it must outlive them.
_sessions: dict[str, weakref.WeakSet[Any]] = {}


def libs() -> Path:
    """Folder of the QNN libraries, for `LD_LIBRARY_PATH` or `backend_path` of other clients.

    `QUERN_LIB_DIR` names another folder, such as `build/lib` of a source tree.
    """
    given = os.environ.get("QUERN_LIB_DIR")
    return Path(given).resolve() if given else _beside("lib")


def library(backend: str) -> Path:
    """Path of the QNN library of a backend: cpu, htp, gpu, saver or system."""
    if backend not in _LIBRARIES:
        raise unknown("backend", backend, _LIBRARIES, meant=_SAME_AS)
    return _existing(libs() / _LIBRARIES[backend], f"backend {backend!r}")


def plugin() -> Path:
    """Path of the execution provider plugin for ONNX Runtime."""
    return _existing(libs() / "libonnxruntime_providers_quern.so", "execution provider")


def program() -> Path:
    """Path of the program `quern`; `python -m quern` and the command `quern` run it."""
    return _existing(libs().parent / "bin" / "quern", "program 'quern'")


def sample() -> Path:
    """Folder with a small network that recognizes handwritten digits.

    The input of digits.onnx is `image` [N, 1, 8, 8] in float; digits_a8w8.onnx is the same network
    in 8 bits. images.npy contains 200 digits, labels.npy their labels.
    """
    installed = _beside("digits")
    if installed.is_dir():
        return installed
    source = Path(__file__).resolve().parents[2]
    return _existing(source / "examples" / "digits", "sample")


def _beside(name: str) -> Path:
    """A folder of the package, which has two places when it is installed to be edited."""
    places = [Path(place).resolve() / name for place in __path__]
    return next((place for place in places if place.is_dir()), places[0])


def _existing(path: Path, what: str) -> Path:
    if path.exists():
        return path
    where = " (QUERN_LIB_DIR names the folder)" if os.environ.get("QUERN_LIB_DIR") else ""
    raise FileNotFoundError(f"{path}: this build of Quern has no {what}{where}")


def _onnxruntime(what: str = "Quern's execution provider") -> Any:
    """ONNX Runtime, new enough, or an ImportError that says what to install."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(f"{what} needs ONNX Runtime, which cannot be imported ({error}): "
                          "pip install 'onnxruntime>=1.24'") from error
    numbers = re.match(r"(\d+)\.(\d+)", onnxruntime.__version__)
    if numbers and tuple(map(int, numbers.groups())) < (1, 24):
        fix = "pip install -U 'onnxruntime>=1.24'"
        if sys.version_info < (3, 11):
            fix = (f"newer ones are made for Python 3.11 and newer, and this is Python "
                   f"{sys.version_info[0]}.{sys.version_info[1]}")
        raise ImportError(f"{what} needs onnxruntime 1.24 or newer and found "
                          f"{onnxruntime.__version__}: {fix}")
    return onnxruntime


def register(name: str = EP_NAME) -> str:
    """Registers the execution provider in ONNX Runtime; a second call has no effect.

    Under the name `QNNExecutionProvider` it replaces the public provider. It may have several names
    at once. No cleanup is needed before the process ends.
    """
    ort = _onnxruntime()
    if not isinstance(name, str) or not name:
        raise ValueError(f"a provider's name is a text and not {name!r}")
    with _lock:
        owners = {d.ep_vendor for d in ort.get_ep_devices() if d.ep_name == name}
        if not owners:
            ort.register_execution_provider_library(name, str(plugin()))
        elif owners != {_VENDOR}:
            raise ValueError(f"the name {name!r} is taken by a provider of {', '.join(owners)}: "
                             "choose another")
        _sessions.setdefault(name, weakref.WeakSet())
    return name


def unregister(name: str = EP_NAME) -> None:
    """Unregisters the provider from ONNX Runtime; its sessions must be closed."""
    ort = _onnxruntime()
    with _lock:
        if name not in _sessions:
            raise unknown("registered provider", name, _sessions) if _sessions else ValueError(
                f"no registered provider {name!r}: quern.register() was not called")
        alive = len(_sessions[name])
        if alive:
            raise RuntimeError(f"{alive} session{'s' * (alive > 1)} of {name} still there: "
                               "delete them first")
        ort.unregister_execution_provider_library(name)
        del _sessions[name]


def devices(kind: str | None = None, name: str = EP_NAME) -> list[Any]:
    """The provider's devices (`onnxruntime.OrtEpDevice`): all, or one kind (cpu, gpu, npu).

    For `SessionOptions.add_provider_for_devices(devices("npu"), ep_options(...))`. The provider is
    registered under `name` if necessary.
    """
    if kind is not None and kind not in _KINDS:
        raise unknown("kind of device", kind, _KINDS)
    ort = _onnxruntime()
    register(name)
    found = [d for d in ort.get_ep_devices() if d.ep_name == name]
    return [d for d in found if kind is None or d.device.type.name == kind.upper()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return os.fspath(value) if isinstance(value, (str, os.PathLike)) else str(value)


def ep_options(backend: str | os.PathLike[str] | None = "htp", soc: str | int | None = None,
               **options: object) -> dict[str, str]:
    """Provider options in ONNX Runtime's form: strings, with booleans as 0 and 1.

    backend: cpu, htp, gpu or saver; the path of any QNN library (QnnHtp.dll means libQnnHtp.so);
    None for the backend of the device.
    soc: target SoC of the HTP, by name or number; None or "none": floats stay float32.
    Options whose value is None are left out. docs/onnxruntime.md lists the options.

    >>> ep_options(backend="htp", soc="sm8650", enable_htp_fp16_precision=True)
    {'backend_type': 'htp', 'soc_model': 'SM8650', 'enable_htp_fp16_precision': '1'}
    """
    found = {}
    if backend is not None:
        given = os.fspath(backend)
        if "/" in given or given.lower().endswith((".so", ".dll")):
            found["backend_path"] = given
        elif given in _LIBRARIES and given != "system":
            found["backend_type"] = given
        else:
            raise unknown("backend", backend, [b for b in _LIBRARIES if b != "system"],
                          meant=_SAME_AS)
    if soc is not None and str(soc).lower() != "none":
        found["soc_model"] = str(soc).upper()
    found.update((key, _text(value)) for key, value in options.items() if value is not None)
    return found


def _in_words(error: Exception) -> Exception:
    """What ONNX Runtime raised, by the last sentence of it and without its own source lines."""
    text = str(error).strip()
    last = None
    for last in _STATUS.finditer(text):
        pass
    if last is None:
        return error
    kind = {"INVALID_ARGUMENT": ValueError, "NO_SUCHFILE": FileNotFoundError}.get(
        last.group(1), RuntimeError)
    return kind(text[last.end():])


def _unreadable(model: str | bytes, error: Exception) -> Exception | None:
    """What the program says of a file that ONNX Runtime cannot parse: it names other formats."""
    if isinstance(model, bytes) or "Protobuf parsing failed" not in str(error):
        return None
    try:
        _cli.call(program(), "show", [model], [])
    except (ValueError, RuntimeError) as found:
        return found
    except OSError:
        pass
    return None


def session(model: str | os.PathLike[str] | bytes,
            backend: str | os.PathLike[str] | None = "htp", soc: str | int | None = None, *,
            fallback: bool = True, dims: Mapping[str, int] | None = None,
            config: Mapping[str, str] | None = None, session_options: Any = None,
            provider: str = EP_NAME, **options: object) -> Any:
    """Creates an `onnxruntime.InferenceSession` on one of Quern's backends.

    soc: target SoC of the HTP, which decides how floats are computed. The default is SM8650, with a
    warning; "none" keeps floats in float32. A context model knows its own SoC.
    fallback=False: fail if a node is rejected, and report which node and why.
    dims: sizes of dynamic input dimensions, by name; without them, their nodes are left to ONNX
    Runtime.
    config: session keys such as `ep.context_enable`.
    session_options: options to extend.
    Other arguments are provider options. Errors are a ValueError (an option, a SoC), a
    FileNotFoundError or a RuntimeError, with the provider's message.
    """
    if not isinstance(model, bytes):
        model = os.fspath(model)
        if os.path.isdir(model):
            raise IsADirectoryError(f"{model}: a folder; name the model file in it")
        if not os.path.isfile(model):
            raise FileNotFoundError(f"{model}: there is no such model")
    if not fallback:
        options.setdefault("strict", True)  # the provider says which node and why
    given = ep_options(backend, target_of(model, backend, soc, options), **options)
    ort = _onnxruntime()
    so = ort.SessionOptions() if session_options is None else session_options
    if not fallback:
        so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    check_dims(model, dims or {})
    for name, size in (dims or {}).items():
        so.add_free_dimension_override_by_name(name, size)
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices(devices("cpu", provider)[:1], given)
    try:
        # ONNX Runtime's own fall-back would hide why a session cannot be made.
        made = ort.InferenceSession(model, so, enable_fallback=0)
    except Exception as error:  # its exceptions have no base of their own
        raise _unreadable(model, error) or _in_words(error) from error
    with _lock:
        _sessions.setdefault(provider, weakref.WeakSet()).add(made)
    return made


def compile_model(model: str | os.PathLike[str] | bytes, output: str | os.PathLike[str],
                  backend: str | os.PathLike[str] | None = "htp", soc: str | int | None = None, *,
                  embed: bool = True, **more: Any) -> Path:
    """Compiles a model and writes a context model, which `session` loads without compiling.

    embed=False puts the binary into a file beside `output`. Existing files are replaced atomically,
    and only on success: other processes see the old or the new file. Other arguments are those of
    `session`.
    """
    path = Path(output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder")
    if path.exists() and not isinstance(model, bytes) and os.path.exists(model) \
            and path.samefile(model):
        raise ValueError(f"{path}: the context model would take the place of the model it is made "
                         "of: choose another name")
    config = {**(more.pop("config", None) or {}), "ep.context_enable": "1",
              "ep.context_embed_mode": str(int(embed))}
    place = _moved_away if config.get("ep.share_ep_contexts") == "1" else _replaced_whole
    with place(path) as fresh, Elapsed(f"compile {path.name}"):
        try:
            session(model, backend, soc,
                    config={**config, "ep.context_file_path": os.fspath(fresh)}, **more)
        except RuntimeError as wrong:
            if "NULL EPContext node" not in str(wrong):
                raise
            raise ValueError("the model is a context model already; compile the model that it "
                             "was made from") from None
        if not fresh.exists():
            raise RuntimeError(f"{path} was not written: the backend runs no node of the model")
    return path


def patch_onnxruntime(enable: bool = True) -> None:
    """Makes onnxruntime.InferenceSession(providers=["QNNExecutionProvider"]) run on Quern.

    `import quern` does this; `patch_onnxruntime(False)` undoes it. Other sessions, and an ONNX
    Runtime that has its own or another registered QNN provider, are not affected.
    """
    _ort.adopt(devices, enable)


def __getattr__(name: str) -> Any:
    """`InferenceSession`, `quantize` and `study`, which need other packages, on first use."""
    if name in ("quantize", "study"):
        return importlib.import_module(f"quern.{name}")
    if name != "InferenceSession":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = _ort.session_class(_onnxruntime("quern.InferenceSession"), devices, EP_NAME)
    globals()[name] = made
    return made


_GENERATE = ("tokenizer", "config", "chat_template", "rope_theta", "system", "raw", "max_tokens",
             "temperature", "top_k", "top_p", "repeat_penalty", "seed", "precision", "threads",
             "allow_fp16")


def generate(models: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], prompt: str, *,
             backend: str | os.PathLike[str] | None = None, soc: str | int | None = None,
             stop: str | Iterable[str] = (), stream: Callable[[str], object] | None = None,
             **options: object) -> Generated:
    """Generates text with a language model; returns an object with text, tokens, end, statistics.

    models: a folder, or the graphs of a model (ONNX files, context binaries).
    stream: called with each piece of text; generation stops if it returns False.
    Other arguments are flags of `quern generate`: tokenizer, config, chat_template, rope_theta,
    system, raw, max_tokens, temperature, top_k, top_p, repeat_penalty, seed, precision, threads,
    allow_fp16. docs/llm.md describes the files that a model needs.
    """
    for name in options:
        if name not in _GENERATE:
            raise unknown("option", name, _GENERATE)
    if isinstance(models, (str, os.PathLike)):
        models = [models]
    return _generate.run(program(), models, prompt, stream,
                         [stop] if isinstance(stop, str) else stop,
                         {"backend": backend, "soc": soc, **options})


@contextlib.contextmanager
def _replaced_whole(path: Path) -> Iterator[Path]:
    """A temporary place for a file; on success, the new files replace those in `path`'s folder.

    Otherwise ONNX Runtime would write the model in place, while other processes may read it.
    """
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        fresh = Path(folder) / path.name
        yield fresh
        for made in sorted(fresh.parent.iterdir(), key=lambda file: file == fresh):  # it last
            _put(made, path.with_name(made.name))


def _put(made: Path, target: Path) -> None:
    if target.is_file():
        made.chmod(stat.S_IMODE(target.stat().st_mode))
    with made.open("rb") as file:
        os.fsync(file.fileno())
    made.replace(target)


@contextlib.contextmanager
def _moved_away(path: Path) -> Iterator[Path]:
    """Models that share one binary are written in place, as its name is the first one's.

    The old files are restored on failure.
    """
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    there = path.is_file()
    if there:
        path.replace(old)
    try:
        yield path
    except BaseException:
        if there:
            old.replace(path)
        raise
    old.unlink(missing_ok=True)


_reports._program = program
patch_onnxruntime()
