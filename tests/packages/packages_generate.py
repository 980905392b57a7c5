# SPDX-License-Identifier: MIT
"""qnn-op-package-generator: packages are generated, built by their Makefile, filled in and run on
each backend; wrong definitions are rejected in one line that names file, line and what is allowed.

Needs QUERN_BIN_DIR, QUERN_LIB_DIR and QUERN_RUN_PACKAGE.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
GENERATOR = Path(os.environ["QUERN_BIN_DIR"]) / "qnn-op-package-generator"
RUN = os.environ["QUERN_RUN_PACKAGE"]
LIBS = Path(os.environ["QUERN_LIB_DIR"])
INCLUDE = HERE.parents[1] / "include" / "QNN"
XML = (HERE / "ops.xml").read_text()
X = np.arange(12, dtype=np.float32).reshape(2, 6) - 2.5

CPU_STUB = ("    // Write the op here; until then executions fail.\n"
            "    return QNN_OP_PACKAGE_ERROR_UNSUPPORTED_FEATURE;")
HTP_STUB = ("    // Write the op here; until then executions fail.\n"
            "    return GraphStatus::ErrorUnsupported;")
# What an author writes instead of what is generated, by backend and op.
BODIES = {
    ("CPU", "ScaleShift"): (CPU_STUB, """
    float a = float(node.scalar("scale", 0)), b = float(node.scalar("shift", 0.5));
    for (size_t i = 0; i < CpuNode::elements(node.node->inputs[0]); i++)
        node.output<float>(0)[i] = a * node.input<float>(0)[i] + b;
    return QNN_SUCCESS;"""),
    ("CPU", "Halves"): (CPU_STUB, """
    for (size_t i = 0; i < 12; i++)
        node.output<float>(i % 6 / 3)[i / 6 * 3 + i % 3] = node.input<float>(0)[i];
    return QNN_SUCCESS;"""),
    ("HTP", "ScaleShift"): (HTP_STUB, """
    float a = param0_scale(0, 0, 0, 0), b = param1_shift(0, 0, 0, 0);
    for (size_t i = 0; i < in0_x.dim(2); i++)
        for (size_t k = 0; k < in0_x.dim(3); k++)
            out0_y(0, 0, i, k) = a * in0_x(0, 0, i, k) + b;
    return GraphStatus::Success;"""),
    ("HTP", "Halves"): (HTP_STUB, """
    if (param0_mode(0, 0, 0, 0) != 1)
        return GraphStatus::ErrorBadInput;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            out0_out_0_(0, 0, i, k) = in0_in_0_(0, 0, i, k);
            out1_out_1_(0, 0, i, k) = in0_in_0_(0, 0, i, k + 3);
        }
    return GraphStatus::Success;"""),
    ("GPU", "ScaleShift"): ("        // Write element i of the outputs here.",
                            "        out0_y[i] = param0_scale * in0_x[i] + param1_shift;"),
}
WANT = {"ScaleShift": [3 * X + 0.5], "Halves": [X[:, :3], X[:, 3:]]}


def generate(folder, *args):
    return subprocess.run([GENERATOR, *args], cwd=folder, capture_output=True, text=True)


def make(package):
    p = subprocess.run(["make", "-s", f"QNN_INCLUDE={INCLUDE}", "OPTIMIZE=-O0",
                        f"CXX={os.environ.get('CXX', 'g++')} -Werror"], cwd=package,
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    library, = package.glob(f"build/*/libQnn{package.name}.so")
    assert (library.parent / f"lib{package.name}.so").resolve() == library.resolve()
    return library


def run(backend, library, name, op):
    p = subprocess.run([RUN, LIBS / f"libQnn{backend.capitalize()}.so", library,
                        f"{name}InterfaceProvider", name, op], capture_output=True, text=True,
                       env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
    return p.returncode, p.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    p = generate(folder, "--config_path", str(HERE / "ops.xml"), "--output_path", "out")
    assert p.returncode == 0, p.stderr
    made = sorted(f.name for f in (folder / "out").iterdir())
    assert made == ["SampleCPU", "SampleGPU", "SampleHTP"]
    return folder / "out"


@pytest.mark.parametrize("backend", ["CPU", "HTP", "GPU"])
def test_a_package_builds_and_runs_once_its_ops_are_written(packages, backend):
    package = packages / f"Sample{backend}"
    assert (package / "config" / "ops.xml").read_text() == XML
    ops = [op for (b, op) in BODIES if b == backend]
    assert sorted(f.stem for f in (package / "src" / "ops").iterdir()) == sorted(ops)
    for op in ops:
        path = package / "src" / "ops" / f"{op}.cpp"
        before, after = BODIES[backend, op]
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, after).replace("written = false", "written = true"))
    library = make(package)
    _, said = run(backend, library, package.name, ops[0])
    if backend == "GPU" and "contextCreate failed" in said:
        pytest.skip("no OpenCL device")
    for op in ops:
        code, out = run(backend, library, package.name, op)
        assert code == 0, out
        got = [np.array(line.split(), np.float32) for line in out.splitlines()]
        for g, want in zip(got, WANT[op], strict=True):
            np.testing.assert_array_equal(g, want.ravel())


def test_an_op_that_nobody_wrote_computes_nothing(tmp_path):
    assert generate(tmp_path, "-p", str(HERE / "ops.xml")).returncode == 0
    library = make(tmp_path / "SampleHTP")
    code, out = run("HTP", library, "SampleHTP", "ScaleShift")
    assert code == 1 and out.startswith("graphExecute failed"), out


def test_a_package_is_replaced_only_when_asked(tmp_path):
    (tmp_path / "a.xml").write_text(XML)
    assert generate(tmp_path, "-p", "a.xml").returncode == 0
    mark = tmp_path / "SampleCPU" / "mark"
    mark.write_text("")
    p = generate(tmp_path, "-p", "a.xml")
    assert p.returncode == 1 and "--force-generation" in p.stderr and mark.exists()
    assert generate(tmp_path, "-p", "a.xml", "-f").returncode == 0
    assert not mark.exists() and (tmp_path / "SampleCPU" / "Makefile").exists()
    (tmp_path / "SampleCPU" / "Makefile").write_text("all:\n")
    p = generate(tmp_path, "-p", "a.xml", "-f")
    assert p.returncode == 1 and "not replaced" in p.stderr
    assert not [f for f in tmp_path.iterdir() if "part" in f.name]


def test_one_backend_leaves_the_name_and_files_are_merged(tmp_path):
    only = re.sub(r"\s*<SupportedBackend>(GPU|HTP)</SupportedBackend>", "", XML)
    first, second = only, only.replace("Halves", "Thirds").replace("ScaleShift", "Other")
    (tmp_path / "a.xml").write_text(first)
    (tmp_path / "b.xml").write_text(second)
    p = generate(tmp_path, "-p", "a.xml", "-p", "b.xml", "--gen_cmakelists", "--debug")
    assert p.returncode == 0, p.stderr
    ops = sorted(f.stem for f in (tmp_path / "Sample" / "src" / "ops").iterdir())
    assert ops == ["Halves", "Other", "ScaleShift", "Thirds"]
    assert (tmp_path / "Sample" / "CMakeLists.txt").exists()
    assert sorted(f.name for f in (tmp_path / "Sample" / "config").iterdir()) == ["a.xml", "b.xml"]
    assert "Sample/src/ops/Thirds.cpp" in p.stderr


@pytest.mark.parametrize("before, after, words", [
    ('PackageName="Sample"', 'PackageName="no name"', "a.xml:3: PackageName 'no name'"),
    ("<Name>Halves</Name>", "<Name>2Halves</Name>", "expected a name of C++"),
    ("<Name>Halves</Name>", "<Name>scaleShift</Name>", "a second op 'ScaleShift'"),
    ("<Name>out[1]</Name>", "<Name>out[0]</Name>", "a second <Output> 'out[0]'"),
    ("<Name>in[0]</Name>", "<Name>a\"b</Name>", "without quotes"),
    ("QNN_DATATYPE_UINT_32", "QNN_DATATYPE_UINT_33", "a QNN_DATATYPE_ of the API"),
    ("<Rank>2D</Rank>", "<Rank>6D</Rank>", "SCALAR, 1D, 2D, 3D, 4D, 5D or ND"),
    ("<Layout>UNDEFINED</Layout>", "<Layout>NCHW</Layout>", "NHWC, NHCW, UNDEFINED"),
    ("<Mandatory>true</Mandatory>", "<Mandatory>yes</Mandatory>", "expected true or false"),
    ("<SupportedBackend>CPU</SupportedBackend>", "<SupportedBackend>DSP</SupportedBackend>",
     "backend 'DSP': packages are made for CPU, GPU, HTP"),
    ('Backend="GPU"', 'Backend="LPAI"', "backend 'LPAI'"),
    ("<Constraint", "<Limit", "allowed are Name, Description"),
    ("</OpDefCollection>", "", "does not end"),
    ("</OpDefCollection>", "</Other>", "</Other> ends <OpDefCollection> of line 3"),
    ("<!-- Two", "<!DOCTYPE a [<!ENTITY b 'c'>]><!-- Two", "document types are not supported"),
    ("&amp;", "&unknown;", "an unknown entity"),
    ("&amp;", "&#0;", "not a character"),
    ('encoding="UTF-8"', 'encoding="UTF-16"', "an encoding other than UTF-8"),
    ("<Mandatory>true</Mandatory>", "<Repeated>true</Repeated>", "the HTP do not support"),
    ("<OpDefList>", "<OpDefList>" + "<a>" * 40, "32 deep"),
    ("<Rank>2D</Rank>", "<Rank>SCALAR</Rank>", "at least one dimension"),
])
def test_wrong_definitions_are_rejected_in_words(tmp_path, before, after, words):
    assert before in XML
    text = XML.replace("</Constraint>", "</Limit>") if before == "<Constraint" else XML
    (tmp_path / "a.xml").write_text(text.replace(before, after, 1))
    p = generate(tmp_path, "-p", "a.xml")
    assert p.returncode == 4 and words in p.stderr and len(p.stderr.splitlines()) == 1, p.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["a.xml"]


@pytest.mark.parametrize("args, words", [
    ([], "--config_path is needed"),
    (["-cop", "-p", "a.xml"], "--converter_op_package is not supported"),
    (["-p", "a.xml", "--gen_cmakelists"], "only packages for the CPU"),
    (["-p", "a.xml", "--unknown"], "unknown flag"),
])
def test_wrong_flags(tmp_path, args, words):
    (tmp_path / "a.xml").write_text(XML)
    p = generate(tmp_path, *args)
    assert p.returncode == 2 and words in p.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["a.xml"]


def test_files_that_are_not_there(tmp_path):
    p = generate(tmp_path, "-p", "no.xml")
    assert p.returncode == 4 and "no.xml" in p.stderr


def test_python_clients_find_packages_by_the_same_names():
    """The module that ExecuTorch's custom ops import."""
    script = ("from qti.aisw.op_package_generator.generator import QnnOpPackageGenerator as G\n"
              "import sys\ng = G()\ng.parse_config([sys.argv[1]])\n"
              "print(*[f'{p.name}:{o.type_name}' for p in g.package_infos for o in p.operators])")
    p = subprocess.run([sys.executable, "-B", "-c", script, HERE / "ops.xml"], text=True,
                       check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "python")})
    assert p.stdout.split() == ["SampleCPU:ScaleShift", "SampleCPU:Halves", "SampleGPU:ScaleShift",
                                "SampleHTP:ScaleShift", "SampleHTP:Halves"]
