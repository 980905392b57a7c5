# SPDX-License-Identifier: MIT
"""Every command of the programs on small files, run with a fault (fault_shim.c), and the judgement:
a sentence and a status other than 0, or all that a run without the fault leaves behind."""
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto as T, helper as h

TESTS = Path(__file__).resolve().parent.parent
for folder in ("cli", "executorch", "fuzz"):
    sys.path.insert(0, str(TESTS / folder))
from cli_compare import dump, tensor  # noqa: E402
from cli_pictures import JPEG  # noqa: E402
from cli_optrace import execution, schematic, trace  # noqa: E402
from cli_profile import call, event, execute, write  # noqa: E402
from cli_generate import tokenizer  # noqa: E402
from harness import model, png  # noqa: E402
from make_gguf_corpus import qwen  # noqa: E402
from pte_runner import doubler  # noqa: E402
import tiny_llama  # noqa: E402

SHIM = os.environ.get("FAULT_SHIM", "build/release/tests/libfault_shim.so")
FULL = os.environ.get("FAULT_FULL") == "1"
PROGRAMS = {"quern": os.environ.get("QUERN_BIN", "build/bin/quern")}
for name in ("qnn-profile-viewer", "qnn_executor_runner", "qnn-net-run", "qnn-architecture-checker",
             "qnn-accuracy-debugger", "qairt-accuracy-evaluator", "qnn-onnx-converter",
             "qairt-converter", "qairt-quantizer"):
    PROGRAMS[name] = str(Path(PROGRAMS["quern"]).parent / name)
LIMIT_S = 120  # for one run: longer is a hang


@dataclass(frozen=True)
class Command:
    """`words` as in a shell; OUT is the folder of outputs. `timed`: numbers of what is printed
    differ from run to run."""
    words: str
    timed: bool = False
    status: int = 0

    def __str__(self):
        return self.words.replace(" ", "_").replace("/", "-")


T_ = lambda words, status=0: Command(words, True, status)
C_ = lambda words, status=0: Command(words, False, status)
COMMANDS = [
    T_("quern run net.onnx --random"),
    T_("quern run net.onnx --random -o OUT -b htp --soc SM8650"),
    T_("quern run net.onnx x.npy --json --labels labels.txt"),
    T_("quern run net.onnx xs.npz --output-dir OUT"),
    T_("quern run net.onnx --input-list list.txt --output-dir OUT"),
    T_("quern run net.onnx --random --reference --per-layer -b htp --soc SM8650"),
    T_("quern run picture.onnx p.png -o OUT"),
    T_("quern run picture.onnx p.jpg -o OUT --fit stretch"),
    T_("quern run net.bin --random -b htp --json"),
    T_("quern run double.pte --random -o OUT"),
    T_("quern bench net.onnx --runs 3 --threads 1"),
    T_("quern bench net.onnx --runs 3 --threads 1 --nodes 99 --json"),
    C_("quern check net.onnx"),
    C_("quern check net.onnx -b htp --soc SM8650 --json"),
    C_("quern check odd.onnx", 3),
    C_("quern show net.onnx"),
    C_("quern show net.onnx --json"),
    C_("quern show net.onnx --dot"),
    C_("quern show net.bin"),
    C_("quern show net.bin --json"),
    T_("quern show net.bin --verify"),
    C_("quern show net.onnx --compiled --threads 1"),
    C_("quern show net.bin --compiled --json"),
    T_("quern compile net.onnx -o OUT/n.bin --soc SM8650 -b htp"),
    T_("quern compile net.onnx picture.onnx -o OUT/n.bin --soc SM8650 -b htp --json"),
    C_("quern compare a b"),
    C_("quern compare a b --json"),
    T_("quern info"),
    T_("quern info --json"),
    T_("quern doctor --json --python false"),
    C_("quern estimate net.onnx --steps"),
    C_("quern estimate net.onnx --json"),
    C_("quern estimate net.onnx --soc SM8650 -p fp16 --html OUT/e.html"),
    C_("quern estimate net.onnx --soc SM8650 -p fp16 --trace OUT/e.json"),
    C_("quern profile net.log"),
    C_("quern profile net.log --json"),
    C_("quern profile net.log --trace OUT/t.json"),
    C_("quern wrap net.bin -o OUT/w.onnx --embed"),
    T_("quern generate llm -p hi -n 3 --json --threads 1"),
    T_("quern generate llm/decode.onnx --raw -p hi -n 2 --events -b htp --soc SM8650"),
    C_("quern generate llm --estimate --soc SM8650"),
    C_("quern show tiny.gguf --json"),
    C_("quern import tiny.gguf -o OUT/m -w w4 -p 4 -c 8 --chunks --force"),
    C_("quern --man run"),
    C_("quern --completion bash"),
    C_("qnn-profile-viewer --input_log net.log --output OUT/v.csv"),
    C_("qnn-profile-viewer --input_log net.log --standardized_json_output --output OUT/v.json"),
    C_("qnn-profile-viewer --reader optrace --input_log op.log --schematic op.bin --config op.json "
       "--zoom_start conv --zoom_end last --output OUT/v.json"),
    T_("qnn-net-run --model libQnnModelDlc.so --dlc_path net.dlc --backend libQnnHtp.so "
       "--input_list raws.txt --debug --output_dir OUT"),
    C_("qnn-onnx-converter -i net.onnx -o OUT/c.cpp --custom_io io.yaml --float_bitwidth 16"),
    C_("qairt-converter -i net.onnx -o OUT/c.dlc --desired_input_layout x NHWC "
       "--float_bitwidth 16 --preserve_io_datatype --enable_framework_trace -q over.json"),
    C_("qairt-quantizer -i float.dlc -l raws.txt -o OUT/q.dlc --dump_encoding_json OUT/e.json"),
    C_("qnn-architecture-checker -i conv_net.json -o OUT/a.csv --modify"),
    T_("qnn-accuracy-debugger -m net.onnx -l raws.txt -r cpu -w OUT --output_dirname a"),
    T_("qairt-accuracy-evaluator -model net.onnx -preproc_file raws.txt -work_dir OUT"),
    T_("qnn_executor_runner --model_path double.pte --input_list_path rawlist.txt "
       "--output_folder_path OUT"),
]


def make_scene(at):
    """The files that COMMANDS name, in the folder."""
    rng = np.random.default_rng(1)
    constants = {"w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32),
                 "b": rng.standard_normal(4).astype(np.float32)}
    model(at / "net.onnx", [h.make_node("Conv", ["x", "w", "b"], ["c"], name="conv"),
                            h.make_node("Relu", ["c"], ["r"], name="relu"),
                            h.make_node("GlobalAveragePool", ["r"], ["g"], name="mean"),
                            h.make_node("Flatten", ["g"], ["y"], name="flat")],
          {"x": (T.FLOAT, [1, 3, 8, 8])}, {"y": (T.FLOAT, [1, 4])}, constants)
    model(at / "odd.onnx", [h.make_node("Relu", ["x"], ["r"], name="relu"),
                            h.make_node("Strange", ["r"], ["y"], name="odd", domain="elsewhere")],
          {"x": (T.FLOAT, [1, 3])}, {"y": (T.FLOAT, [1, 3])})
    model(at / "picture.onnx", [h.make_node("Relu", ["x"], ["y"], name="relu")],
          {"x": (T.FLOAT, [1, 3, 12, 16])}, {"y": (T.FLOAT, [1, 3, 12, 16])})
    x = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    (at / "llm").mkdir()
    tiny_llama.save(at / "llm" / "decode.onnx", 1, 15, layers=1)
    (at / "llm" / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (at / "llm" / "config.json").write_text('{"rope_theta": 10000, "eos_token_id": 1}')
    (at / "llm" / "chat_template.jinja").write_text("{{ messages[0].content|trim }}.")
    np.save(at / "x.npy", x)
    np.savez_compressed(at / "xs.npz", x=x)
    (at / "labels.txt").write_text("one\ntwo\nthree\nfour\n")
    (at / "list.txt").write_text("x:=x.npy\nx:=x.npy\n")
    (at / "p.png").write_bytes(png(rng.integers(0, 256, (12, 16, 3))))
    (at / "p.jpg").write_bytes(JPEG)
    (at / "tiny.gguf").write_bytes(qwen().bytes())
    (at / "double.pte").write_bytes(doubler().bytes())
    (at / "v.raw").write_bytes(np.ones(3, np.float32).tobytes())
    (at / "rawlist.txt").write_text("v.raw\n")
    for name, part in (("a", 0), ("b", 1e-3)):
        dump(at / name, [tensor("t", x + part), tensor("u", x[0] - part)])
    write(at / "net.log", call("BACKEND_FINALIZE", "net", 1, 8,
                               event(300, "microseconds", "QNN (finalize) time", 7)),
          execute(10, 50, 1), execute(100, 95, 2))
    write(at / "op.log", execution(trace()))
    (at / "op.bin").write_bytes(schematic())
    (at / "op.json").write_text('{"features": {"qhas_json": true, "qhas_schema": true}}')
    (at / "x.raw").write_bytes(x.tobytes())
    (at / "raws.txt").write_text("x.raw\n")
    (at / "io.yaml").write_text("- IOName: x\n  Layout:\n    Model: NCHW\n    Custom: NHWC\n"
                                "  Datatype: uint8\n  QuantParam:\n    Scale: 0.1\n    Offset: 0\n")
    (at / "over.json").write_text(json.dumps({"version": "2.0.0", "encodings": [
        {"name": "x", "output_dtype": "uint8", "y_scale": 0.04, "y_zero_point": 128}]}))
    for words in ("quern compile net.onnx -o net.bin --soc SM8650 -b htp",
                  "quern compile net.onnx -o net.dlc",
                  "qnn-onnx-converter -i net.onnx -o conv.cpp",
                  "qairt-converter -i net.onnx -o float.dlc -q over.json"):
        p = start(Command(words), at)
        assert p.returncode == 0, p.stderr


def start(command, at, env=None, **more):
    """Runs a command in the folder with an empty folder OUT."""
    out = at / "OUT"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    words = command.words.split()
    variables = {k: v for k, v in os.environ.items() if not k.startswith("FAULT_")}
    # Faults are ours to survive: OpenCL drivers (PoCL holds a C++ compiler) end the process.
    # `quern doctor` looks for them itself, and finds an empty list.
    if "doctor" in command.words:
        variables["OCL_ICD_VENDORS"] = os.path.abspath(os.path.dirname(__file__))
    else:
        variables["QUERN_GPU_DEVICE"] = "none"
    return subprocess.run([os.path.abspath(PROGRAMS[words[0]]), *words[1:]], cwd=at,
                          capture_output=True, timeout=LIMIT_S, env={**variables, **(env or {})},
                          **more)


def faulty(command, at, **faults):
    env = {"FAULT_" + k.upper(): str(v) for k, v in faults.items()}
    return start(command, at, {**env, "LD_PRELOAD": os.path.abspath(SHIM)})


def blur(text):
    """Without the numbers that every run measures anew, and the order that follows from them. The
    loader shortens its own words when it has no memory for them."""
    text = re.sub(rb"libQnn\w+\.so: (?=cannot open)|: No such file or directory", b"", text)
    return sorted(re.sub(rb"-?\d+(\.\d+)?(e[-+]\d+)?|,$| +", b"", line)
                  for line in text.splitlines())


def left_behind(at):
    """Names and contents of OUT."""
    return {str(f.relative_to(at)): f.read_bytes() for f in sorted((at / "OUT").rglob("*"))
            if f.is_file()}


@dataclass
class Whole:
    """What a run without faults prints and writes."""
    out: bytes
    files: dict
    allocations: int


def without_faults(command, at):
    p = faulty(command, at, count=at / "count")
    assert p.returncode == command.status, p.stderr
    return Whole(p.stdout, left_behind(at), int((at / "count").read_text()))


def clean(command, name, data):
    """A file's contents to compare; timelines of measured times are compared by their shape."""
    return blur(data) if command.timed and name.endswith(".json") else data


def complaint(command, whole, p, at):
    """What is wrong with the end of a faulty run; None when all is well."""
    files, errors = left_behind(at), p.stderr.decode(errors="replace")
    odd = [n for n in files if n not in whole.files]
    cut = [n for n in files if n in whole.files
           and clean(command, n, files[n]) != clean(command, n, whole.files[n])]
    if p.returncode < 0 or p.returncode > 128:
        return f"died of {p.returncode}"
    if odd or cut:
        return f"status {p.returncode}, left over {odd}, not whole {cut}"
    if p.returncode == command.status:
        if len(files) != len(whole.files):
            return f"said all is well without {set(whole.files) - set(files)}"
        same = (blur(p.stdout) == blur(whole.out)) if command.timed else p.stdout == whole.out
        return None if same else "said all is well and printed something else"
    if p.returncode == 0:
        return "said all is well"
    return None if errors.strip() else f"status {p.returncode} without a word"
