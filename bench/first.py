# SPDX-License-Identifier: MIT
"""Time to the first answer: from the file of a model to the outputs of one run.

Each measurement is a process of its own, so that nothing is warm but the file; a side counts from
the call that gets the file's name to the end of the first run, without the start of the process.
"""
import json
import os
import subprocess
import sys

from sides import OnnxRuntime, Ours, OwnProvider, Provider, Refused

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


def of_session(kind, model, threads, library="", soc=""):
    """{"session", "run"} of onnxruntime ("cpu"), or with a library of ours below our provider
    ("quern") or the one of the onnxruntime-qnn package ("qnn")."""
    done = subprocess.run([sys.executable, __file__, kind, str(model), str(threads), str(library),
                           str(soc)], capture_output=True, text=True,
                          env={**os.environ, "QUERN_THREADS": str(threads)})
    if done.returncode:
        raise Refused((done.stderr.strip().splitlines() or ["the process died"])[-1])
    return json.loads(done.stdout)


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
    """{"ours", "peer", and of the providers that take the model "provider" and "public": parts}"""
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
            pass  # a column that stays empty
    return best(sides)


def child(kind, model, threads, library, soc):
    options = {"soc_model": soc} if soc else {}
    side = (OnnxRuntime(model, int(threads)) if kind == "cpu" else
            {"qnn": Provider, "quern": OwnProvider}[kind](model, library, **options))
    print(json.dumps({"session": side.load_ms, "run": side(1)["min_ms"]}))


if __name__ == "__main__":
    child(*sys.argv[1:])
