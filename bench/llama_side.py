# SPDX-License-Identifier: MIT
"""llama.cpp as a program that is measured, through the package llama-cpp-python.

  llama_side.py make FILE.gguf TYPE OUT.gguf    the same model with weights of another type
  llama_side.py serve FILE.gguf THREADS         answers each line 'TOKENS PAST RUNS' with times

A run computes TOKENS after PAST positions, and the logits of the last one.
"""
import ctypes
import json
import statistics
import sys
import time

import llama_cpp as ll

TYPES = {"F16": 1, "Q4_0": 2, "Q8_0": 7}  # llama.cpp's numbers
BATCH = 512


def make(source, kind, target):
    p = ll.llama_model_quantize_default_params()
    p.ftype, p.allow_requantize, p.nthread = TYPES[kind], True, 1
    sys.exit(ll.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(p)))


def open_context(path, threads):
    model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
    p = ll.llama_context_default_params()
    p.n_ctx, p.n_batch, p.n_ubatch = 1536, BATCH, BATCH
    p.n_threads = p.n_threads_batch = threads
    return ll.llama_init_from_model(model, p)


def compute(context, batch, n, at, logits):
    batch.n_tokens = n
    for i in range(n):
        batch.token[i], batch.pos[i] = 1000 + 37 * i, at + i
        batch.logits[i] = logits and i == n - 1
        batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
    ll.llama_memory_seq_rm(ll.llama_get_memory(context), 0, at, -1)
    start = time.perf_counter()
    if ll.llama_decode(context, batch) != 0:
        raise SystemExit("llama_decode failed")
    return 1e3 * (time.perf_counter() - start)


def serve(path, threads):
    context, batch = open_context(path, int(threads)), ll.llama_batch_init(BATCH, 0, 1)
    filled = 0
    for line in sys.stdin:
        tokens, past, runs = map(int, line.split())
        while filled < past:
            n = min(BATCH, past - filled)
            compute(context, batch, n, filled, False)
            filled += n
        times = [compute(context, batch, tokens, past, True) for _ in range(runs)]
        print(json.dumps({"min_ms": min(times), "median_ms": statistics.median(times)}), flush=True)


if __name__ == "__main__":
    silent = ll.llama_log_callback(lambda *_: None)  # has to live as long as the library
    ll.llama_log_set(silent, None)
    {"make": make, "serve": serve}[sys.argv[1]](*sys.argv[2:])
