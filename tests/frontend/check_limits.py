# SPDX-License-Identifier: MIT
"""Small models that would become large (bombs.py), through `quern check` and `quern run`.

    check_limits.py PROGRAM [--measure]

Each has to be stopped by the limit that is meant for it, in less than 2 s of CPU time and 500 MB
(with --measure: not in builds with sanitizers), and the limit has to be movable.
"""
import argparse
import os
import sys
import tempfile

import onnx

SECONDS, MEGABYTES = 2, 500


def execute(command, environment, log):
    """Exit status, CPU seconds, megabytes and what was said."""
    pid = os.fork()
    if pid == 0:
        to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(to, 1)
        os.dup2(to, 2)
        os.execve(command[0], command, {**os.environ, **environment})
    _, status, used = os.wait4(pid, 0)
    with open(log, encoding="utf-8", errors="replace") as f:
        return (os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime,
                used.ru_maxrss / 1024, f.read())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--measure", action="store_true")
    args = parser.parse_args()
    program = [word for word in args.program.split(";") if word]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import bombs
    failed = 0

    def judge(name, command, environment, status, word, folder):
        nonlocal failed
        got, seconds, megabytes, said = execute([*program, *command], environment,
                                                os.path.join(folder, "log"))
        costly = args.measure and (seconds >= SECONDS or megabytes >= MEGABYTES)
        if costly or got not in status or (got and word not in said) or "Sanitizer" in said:
            failed += 1
            print(f"{name}: status {got} (expected {status}), {seconds:.2f} s, "
                  f"{megabytes:.0f} MB, expected '{word}': {said.strip()[-300:]}")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        for name, model, word in bombs.bombs():
            onnx.save(model, path)
            for backend in ("cpu", "htp"):
                judge(f"{name} on {backend}", ["run", path, "--random", "-b", backend], {}, [3],
                      f"QUERN_LIMITS={word}=N", folder)
        for name, model in bombs.heavy():
            onnx.save(model, path)
            judge(name, ["check", path], {}, [0, 3], "", folder)
        onnx.save(bombs.nested_loops(2, 30, lambda a, b: bombs.node("Neg", a, b)), path)
        run = ["run", path, "--random"]
        judge("few rounds", run, {}, [0], "", folder)
        judge("few nodes", run, {"QUERN_LIMITS": "nodes=100"}, [3], "QUERN_LIMITS=nodes=N", folder)
        judge("little memory", run, {"QUERN_LIMITS": "memory=10K"}, [3], "QUERN_LIMITS=memory=N",
              folder)
        judge("more of all", run, {"QUERN_LIMITS": "nodes=1M,memory=0,work=0,run=0,time=0"}, [0],
              "", folder)
        for backend in ("cpu", "htp"):
            judge(f"an execution without memory on {backend}", [*run, "-b", backend],
                  {"QUERN_LIMITS": "run=1"}, [1], "QUERN_LIMITS=run=N", folder)
        judge("not a limit", run, {"QUERN_LIMITS": "nodes=lots"}, [3, 1, 2],
              "QUERN_LIMITS is 'nodes=lots'", folder)
    print(f"limits: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
