# SPDX-License-Identifier: MIT
"""Time to the first answer: from the file of a model to the outputs of one run.

Each measurement is a process of its own, so that nothing is warm but the file; a side counts from
the call that gets the file's name to the end of the first run, without the start of the process.
"""
import json
import os
import re
import subprocess
import sys

from sides import LoggedProvider, OnnxRuntime, Ours, OwnProvider, Provider, Refused

N_TIMES = 3


def of_ours(quern, model, backend, soc, threads):
    """{"import", "finalize", "run"} in milliseconds; import holds opening the library too."""
    ours = Ours(quern, model, backend, soc, threads, warmup=0)
    try:
        ready, run = ours.ready, ours(1)["min_ms"]
    finally:
        ours.close()
    return {"import": ready["load_ms"] + ready["open_ms"] + ready["import_ms"],
            "finalize": ready["finalize_ms"], "run": run}


def start(kind, model, threads, library="", soc=""):
    done = subprocess.run([sys.executable, __file__, kind, str(model), str(threads), str(library),
                           str(soc)], capture_output=True, text=True,
                          env={**os.environ, "QUERN_THREADS": str(threads)})
    if done.returncode:
        raise Refused((done.stderr.strip().splitlines() or ["the process died"])[-1])
    return done


def of_session(*side):
    """{"session", "run"} of onnxruntime ("cpu"), or with a library of ours below our provider
    ("quern") or the one of the onnxruntime-qnn package ("qnn")."""
    return json.loads(start(*side).stdout)


def of_plugin(*side):
    """What of a session with our provider the provider itself takes. The rest is onnxruntime's."""
    words = start("logged", *side).stderr
    took = re.search(r"nodes chosen in ([0-9.]+) ms, compiled in ([0-9.]+) ms", words)
    return {"choose": float(took[1]), "compile": float(took[2])}


def total(parts):
    return sum(parts.values())


def best(sides, turns=N_TIMES):
    """{name: the parts of the fastest of all turns} of sides that take turns."""
    seen = {name: [] for name in sides}
    for _ in range(turns):
        for name, side in sides.items():
            seen[name].append(side())
    return {name: min(list_, key=total) for name, list_ in seen.items()}


def measure(quern, lib, model, backend, soc, threads):
    """{"ours", "peer", and of the providers that take the model "provider" and "public": parts;
    with ours, "plugin"}"""
    sides = {"ours": lambda: of_ours(quern, model, backend, soc, threads),
             "peer": lambda: of_session("cpu", model, threads)}
    library = lib / f"libQnn{backend.capitalize()}.so"
    for name, kind in (("provider", "quern"), ("public", "qnn")):
        def side(kind=kind):
            return of_session(kind, model, threads, library, soc or "")
        try:
            side()
            sides[name] = side
        except Refused:
            continue  # a column that stays empty
        if kind == "quern":
            sides["plugin"] = lambda: of_plugin(model, threads, library, soc or "")
    return best(sides)


def child(kind, model, threads, library, soc):
    options = {"soc_model": soc} if soc else {}
    providers = {"qnn": Provider, "quern": OwnProvider, "logged": LoggedProvider}
    side = (OnnxRuntime(model, int(threads)) if kind == "cpu" else
            providers[kind](model, library, **options))
    print(json.dumps({"session": side.load_ms, "run": side(1)["min_ms"]}))


if __name__ == "__main__":
    child(*sys.argv[1:])
