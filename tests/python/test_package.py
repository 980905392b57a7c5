# SPDX-License-Identifier: MIT
"""What `import quern` offers: files, registration, options, sessions, and its words for errors."""
import doctest
import gc
import os
import re
import sys
import threading
import types

import numpy as np
import onnxruntime as ort
import pytest

from installed import NEW_ENOUGH, ROOT
from opencl import needs_gpu
from ort_models import conv_net, images, sqnr


def test_the_libraries_are_in_the_package(quern):
    assert quern.plugin().exists()
    for backend in ("cpu", "gpu", "htp", "system"):
        assert quern.library(backend).exists()


@pytest.mark.parametrize("name, words", [("npu", "no backend 'npu'; did you mean 'htp'?"),
                                         ("HPT", "no backend 'HPT'; did you mean 'htp'?"),
                                         ("what", "no backend 'what'; expected one of cpu, htp")])
def test_a_wrong_backend_is_told_with_the_nearest(quern, name, words):
    for call in (quern.library, quern.ep_options):
        with pytest.raises(ValueError, match=re.escape(words)):
            call(name)


def test_another_folder_of_libraries_may_be_named(quern, tmp_path, monkeypatch):
    monkeypatch.setenv("QUERN_LIB_DIR", str(tmp_path))
    assert quern.libs() == tmp_path.resolve()
    with pytest.raises(FileNotFoundError, match=r"libQnnHtp.so: this build of Quern has no "
                                                r"backend 'htp' \(QUERN_LIB_DIR names the folder"):
        quern.library("htp")
    with pytest.raises(FileNotFoundError, match="has no execution provider"):
        quern.plugin()


def test_examples_in_the_texts_hold(quern):
    assert doctest.testmod(quern, raise_on_error=True).attempted > 0


def test_modules_are_imported_on_first_use(python, quern):
    """docs/python.md writes quern.study.Study after `import quern` alone."""
    code = "import quern; print(quern.study.Study.__name__, quern.quantize.quantize.__name__)"
    assert python("-c", code).stdout.split() == ["Study", "quantize"]
    with pytest.raises(AttributeError, match="no attribute 'studi'"):
        quern.studi


def test_options_become_text(quern, tmp_path):
    assert quern.ep_options("cpu", threads=2, strict=False, vtcm_mb=None) == {
        "backend_type": "cpu", "threads": "2", "strict": "0"}
    assert quern.ep_options(tmp_path / "libX.so", 57, json_qnn_graph_dir=tmp_path) == {
        "backend_path": str(tmp_path / "libX.so"), "soc_model": "57",
        "json_qnn_graph_dir": str(tmp_path)}
    assert quern.ep_options(None) == {}


def test_every_name_has_a_text_and_types(quern):
    for name in quern.__all__:
        made = getattr(quern, name)
        if callable(made):
            assert made.__doc__, name
            assert isinstance(made, type) or "return" in made.__annotations__, name
    assert (quern.libs().parent / "py.typed").exists()


def test_the_version_is_that_of_the_build(quern):
    version = quern.__version__
    heads = re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text())
    newest = heads[heads[0] == "Unreleased"]
    assert newest.split()[0] == version


def test_a_missing_onnxruntime_is_told(quern, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match="needs ONNX Runtime.*pip install 'onnxruntime>=1.24'"):
        quern.register()


@pytest.mark.parametrize("version", ["1.23.2", "1.19.2", "0.5"])
def test_an_old_onnxruntime_is_told(quern, monkeypatch, version):
    old = types.ModuleType("onnxruntime")
    old.__version__ = version
    monkeypatch.setitem(sys.modules, "onnxruntime", old)
    fix = "pip install -U" if sys.version_info >= (3, 11) else "made for Python 3.11 and newer"
    with pytest.raises(ImportError, match=f"1.24 or newer and found {version}: .*{fix}"):
        quern.session(quern.sample() / "digits.onnx")


@pytest.mark.skipif(NEW_ENOUGH, reason="this onnxruntime is new enough")
def test_the_old_onnxruntime_that_is_here_is_told(quern):
    with pytest.raises(ImportError, match=f"1.24 or newer and found {ort.__version__}"):
        quern.register()


@pytest.mark.parametrize("version", ["1.23.2", None])
def test_what_the_quantizer_lacks_is_told(quern, monkeypatch, version):
    from quern.quantize import quantize
    old = None
    if version:
        old = types.ModuleType("onnxruntime")
        old.__version__ = version
    monkeypatch.setitem(sys.modules, "onnxruntime", old)
    with pytest.raises(ImportError, match="quern.quantize needs .*1.24"):
        quantize("a.onnx", "b.onnx", [], engine="onnxruntime")


def test_importing_needs_nothing(python):
    text = ("import sys; sys.modules.update(dict.fromkeys(['numpy', 'onnx', 'onnxruntime']));"
            "import quern, quern.quantize; print(quern.libs().name)")
    assert python("-c", text).stdout == "lib\n"


@pytest.mark.quantizer
def test_a_missing_onnx_is_told(quern, monkeypatch):
    from quern.quantize import quantize
    for name in [n for n in sys.modules if n.startswith("onnxruntime.quantization")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    for engine in (None, "onnxruntime"):
        with pytest.raises(ImportError, match="quern.quantize needs onnx.*pip install onnx"):
            quantize("a.onnx", "b.onnx", [], engine=engine)


@pytest.mark.provider
def test_a_session_in_one_line(quern):
    net, x = conv_net(seed=1), images(2, 1)[0]
    want = ort.InferenceSession(net, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    for backend, least in (("cpu", 100), ("htp", 40), (quern.library("cpu"), 100)):
        s = quern.session(net, backend=backend, soc="sm8650" if backend == "htp" else None,
                          fallback=False)
        assert s.get_providers()[0] == quern.EP_NAME
        assert sqnr(s.run(None, {"x": x})[0], want) > least


@pytest.mark.provider
@needs_gpu
def test_a_session_on_the_gpu(quern):
    images = np.load(quern.sample() / "images.npy")[:20].astype(np.float32)
    labels = np.load(quern.sample() / "labels.npy")[:20]
    session = quern.session(quern.sample() / "digits.onnx", backend="gpu", dims={"N": 1},
                            fallback=False, gpu_precision="hybrid")
    got = [session.run(None, {"image": x[None]})[0].argmax() for x in images]
    assert np.mean(got == labels) > 0.9


@pytest.mark.provider
@pytest.mark.parametrize("given, error, words", [
    ({"vtcm_bm": 8}, ValueError, "there is no option 'vtcm_bm'; did you mean 'vtcm_mb'?"),
    ({"soc": "SM8651"}, ValueError,
     "option soc_model: unknown SoC 'SM8651'; did you mean 'SM8650'?"),
    ({"model": "nothing.onnx"}, FileNotFoundError, "nothing.onnx: there is no such model"),
    ({"model": b"no model"}, RuntimeError, "protobuf parsing failed"),
    ({"backend": "/nowhere/libX.so"}, FileNotFoundError, "/nowhere/libX.so"),
    ({"fallback": False, "dims": None}, RuntimeError,
     "node 'normalize' (Mul) is rejected: the shape of input 'image' is not known"),
    ({"provider": "CPUExecutionProvider"}, ValueError,
     "the name 'CPUExecutionProvider' is taken by a provider of Microsoft"),
    ({"provider": ""}, ValueError, "a provider's name is a text and not ''")])
def test_what_cannot_be_done_is_told_in_a_sentence(quern, given, error, words):
    arguments = {"model": quern.sample() / "digits.onnx", "dims": {"N": 1}, **given}
    with pytest.raises(error, match=re.escape(words)) as caught:
        quern.session(**arguments)
    assert "/onnxruntime_src/" not in str(caught.value)


@pytest.mark.provider
@pytest.mark.parametrize("data, words", [
    (b"hello\n", "not an ONNX model but a text file"),
    (b"PK\3\4" + bytes(50), "not an ONNX model but a zip archive; export a PyTorch model")])
def test_a_file_of_another_format_is_named(quern, tmp_path, data, words):
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=words):
        quern.session(path, soc="SM8650")


def test_a_kind_of_device_that_is_not_there_is_told(quern):
    with pytest.raises(ValueError, match="no kind of device 'nup'; did you mean 'npu'"):
        quern.devices("nup")


@pytest.mark.provider
def test_devices_go_to_session_options(quern):
    assert {d.device.type.name for d in quern.devices()} >= {"CPU", "NPU"}
    so = ort.SessionOptions()
    so.add_provider_for_devices(quern.devices("npu"), quern.ep_options(soc="sm8650"))
    so.add_free_dimension_override_by_name("N", 1)
    s = ort.InferenceSession(quern.sample() / "digits.onnx", so, enable_fallback=0)
    image = np.load(quern.sample() / "images.npy")[:1].astype(np.float32)
    assert s.run(None, {"image": image})[0].argmax() == np.load(quern.sample() / "labels.npy")[0]


NAMES = """
import gc, numpy, onnxruntime, quern
image = numpy.load(quern.sample() / "images.npy")[:1].astype(numpy.float32)
made = [quern.session(quern.sample() / "digits.onnx", "cpu", provider=name, dims={"N": 1})
        for name in ("QNNExecutionProvider", "Another", "Another")]
print(*[s.get_providers()[0] for s in made], *[s.run(None, {"image": image})[0].argmax()
                                               for s in made])
try:
    quern.unregister("Another")
except RuntimeError as error:
    print(error)
s = made = None
gc.collect()
quern.unregister("Another")
quern.unregister("QNNExecutionProvider")
quern.register()
print(*{d.ep_name for d in onnxruntime.get_ep_devices()} - {"CPUExecutionProvider"})
for name in ("QuernExecutionProvidr", "Another"):
    try:
        quern.unregister(name)
    except ValueError as error:
        print(error)
"""


@pytest.mark.provider
def test_several_names_at_once_and_the_public_one(python):
    # In a process of its own: the public provider may have its name here.
    assert python("-c", NAMES).stdout.splitlines() == [
        "QNNExecutionProvider Another Another 2 2 2",
        "2 sessions of Another still there: delete them first",
        "QuernExecutionProvider",
        "no registered provider 'QuernExecutionProvidr'; did you mean 'QuernExecutionProvider'?",
        "no registered provider 'Another'; expected one of QuernExecutionProvider"]


@pytest.mark.provider
def test_registration_from_many_threads(quern):
    errors, names = [], [f"Thread{i % 3}" for i in range(12)]

    def work(name):
        try:
            quern.register(name)
            quern.session(conv_net(seed=1), backend="cpu", provider=name)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    gc.collect()
    for name in set(names):
        quern.unregister(name)


def two_sizes():
    """Two inputs with dynamic dimensions, one of them in two places; weights before them."""
    from onnx import helper, numpy_helper
    inputs = [helper.make_tensor_value_info("a", 1, ["batch", 4, None]),
              helper.make_tensor_value_info("b", 1, ["batch", "größe"])]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["a"], ["y"], "first"),
         helper.make_node("Det", ["b"], ["z"], "second"),
         helper.make_node("NonZero", ["a"], ["n"], "third")], "g", inputs,
        [helper.make_tensor_value_info(n, t, None) for n, t in (("y", 1), ("z", 1), ("n", 7))],
        [numpy_helper.from_array(np.ones(1 << 12, np.float32), "w")])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]
                             ).SerializeToString()


@pytest.mark.provider
@pytest.mark.parametrize("dims, words", [
    ({"M": 2}, "no dimension 'M'; expected one of batch, größe"),
    ({"batch": 2, "Größen": 2}, "no dimension 'Größen'; did you mean 'größe'?"),
    ({"batch": 0}, "the size of 'batch' is 0"), ({"batch": "2"}, "the size of 'batch' is '2'"),
    ({"batch": True}, "the size of 'batch' is True"), ({"batch": -1}, "the size of 'batch' is -1")])
@pytest.mark.parametrize("from_file", [True, False])
def test_a_dimension_that_no_input_has_is_told(quern, tmp_path, dims, words, from_file):
    path = tmp_path / "m.onnx"
    path.write_bytes(two_sizes())
    with pytest.raises(ValueError, match=re.escape(words)):
        quern.session(path if from_file else two_sizes(), "cpu", dims=dims)
    made = quern.session(path if from_file else two_sizes(), "cpu", dims={"batch": 2, "größe": 2})
    assert [i.shape[0] for i in made.get_inputs()] == [2, 2]


@pytest.mark.provider
def test_a_dimension_of_a_model_without_any_is_told(quern):
    with pytest.raises(ValueError, match="no dimension 'N'; no input has a dynamic one"):
        quern.session(conv_net(seed=1), dims={"N": 1})


@pytest.mark.provider
@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"\x3a" + b"\x80" * 11, b"\x3a\x7f", b"\x3b"])
def test_dimensions_of_what_is_no_model_leave_the_words_to_onnxruntime(quern, tmp_path, data):
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises((RuntimeError, ValueError)) as raised:
        quern.session(path, dims={"N": 1})
    assert "no dimension" not in str(raised.value)


@pytest.mark.provider
def test_without_fallback_the_failure_names_the_nodes_and_why(quern):
    with pytest.raises(RuntimeError) as raised:
        quern.session(two_sizes(), soc="SM8650", fallback=False, dims={"batch": 2, "größe": 2})
    # The third dimension of their input has no name.
    for node in ("'first' (Relu)", "'third' (NonZero)"):
        assert re.search(re.escape(node) + "[^;]*: the shape of input 'a'", str(raised.value))


@pytest.mark.provider
@pytest.mark.parametrize("embed", [True, False])
def test_a_model_is_compiled_once_and_loaded(quern, tmp_path, embed):
    net, x = conv_net(seed=1), images(2, 1)[0]
    path = tmp_path / "net_ctx.onnx"
    for _ in range(2):  # an older file is in nobody's way
        assert quern.compile_model(net, path, soc="SM8650", embed=embed, fallback=False) == path
    assert len(list(tmp_path.iterdir())) == (1 if embed else 2)
    want = quern.session(net, soc="SM8650").run(None, {"x": x})[0]
    assert np.array_equal(quern.session(path, soc="SM8650").run(None, {"x": x})[0], want)


@pytest.mark.provider
def test_a_model_of_which_nothing_is_compiled_is_told(quern, tmp_path):
    with pytest.raises(RuntimeError, match="was not written: the backend runs no node"):
        quern.compile_model(quern.sample() / "digits.onnx", tmp_path / "x.onnx", soc="SM8650")
    with pytest.raises(FileNotFoundError, match="nowhere: there is no such folder"):
        quern.compile_model(quern.sample() / "digits.onnx", tmp_path / "nowhere" / "x.onnx")


@pytest.mark.provider
def test_compiling_takes_no_file_away_before_it_has_a_better_one(quern, tmp_path):
    net = tmp_path / "net.onnx"
    net.write_bytes(conv_net(seed=1))
    with pytest.raises(ValueError, match="would take the place of the model it is made of"):
        quern.compile_model(net, net, soc="SM8650")
    assert net.read_bytes() == conv_net(seed=1)
    path = tmp_path / "net_ctx.onnx"
    path.write_text("of yesterday")
    with pytest.raises(ValueError, match="unknown SoC 'SM8651'"):
        quern.compile_model(net, path, soc="SM8651")
    assert path.read_text() == "of yesterday"
    assert {p.name for p in tmp_path.iterdir()} == {"net.onnx", "net_ctx.onnx"}


@pytest.mark.provider
def test_the_readme_runs_in_an_empty_folder(python):
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    (python.folder / "first.py").write_text(block)
    ran = python("first.py")
    wanted = re.search(r"# prints (.*)", block).group(1)
    assert (ran.stdout.strip(), ran.stderr) == (wanted, "")
    assert [p.name for p in python.folder.iterdir()] == ["first.py"]


def third():
    """x / 3: 1/3 is another number in float16 than in float32."""
    from onnx import TensorProto, helper, numpy_helper
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Div", ["x", "three"], ["y"])], "g", [value("x")],
                              [value("y")], [numpy_helper.from_array(np.float32([3]), "three")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=8).SerializeToString()


@pytest.mark.provider
@pytest.mark.parametrize("given, kind, warned", [
    ({}, np.float16, True), ({"backend": "htp"}, np.float16, True),
    ({"soc": "SM8750"}, np.float16, False), ({"soc": 57}, np.float16, False),
    ({"htp_arch": 75}, np.float16, False), ({"soc": "none"}, np.float32, False),
    ({"backend": "cpu"}, np.float32, False)])
def test_floats_are_those_of_the_target_and_a_default_is_said(quern, recwarn, given, kind, warned):
    got = quern.session(third(), **given).run(None, {"x": np.ones(2, np.float32)})[0]
    assert (got == np.float32(kind(1) / kind(3))).all()
    said = [str(w.message) for w in recwarn if w.filename == __file__]
    assert len(said) == warned and all(w.startswith("target SoC: SM8650 (default;") for w in said)


@pytest.mark.provider
@pytest.mark.parametrize("soc", ["SM8750", "none"])
def test_a_context_model_knows_its_own_target(quern, recwarn, tmp_path, soc):
    path = quern.compile_model(third(), tmp_path / "c.onnx", soc=soc)
    kind = np.float32 if soc == "none" else np.float16
    for model in path, path.read_bytes():
        got = quern.session(model).run(None, {"x": np.ones(2, np.float32)})[0]
        assert (got == np.float32(kind(1) / kind(3))).all()
    assert not [w for w in recwarn if "target SoC" in str(w.message)]


@pytest.mark.provider
def test_a_process_may_end_with_everything_open(python):
    ran = python("-c", "import quern; quern.register('Second');"
                       "s = quern.session(quern.sample() / 'digits.onnx', soc='SM8650', "
                       "dims={'N': 1})")
    assert (ran.stdout, ran.stderr) == ("", "")


def test_the_module_says_what_is_installed(python, quern):
    lines = dict(re.findall(r"(?m)^(\w+) +(.*)", python("-m", "quern").stdout))
    assert lines["quern"] == f"{quern.__version__} ({quern.libs().parent})"
    assert lines["libraries"] == str(quern.libs())
    assert ort.__version__ in lines["onnxruntime"]
    assert lines["program"] == str(quern.program())


def test_the_program_is_in_the_package_and_finds_its_libraries(python, quern):
    assert python("-m", "quern", "--version").stdout.startswith(f"quern {quern.__version__} ")
    ran = python("-m", "quern", "info")
    assert str(quern.libs()) in ran.stdout
    assert python("-m", "quern", "nonsense", check=False).returncode == 2
    command = os.path.join(os.path.dirname(sys.executable), "quern")
    if os.environ.get("QUERN_INSTALLED") == "1":
        assert python("-c", f"import os; os.execv({command!r}, ['quern', '--version'])"
                      ).stdout.startswith(f"quern {quern.__version__} ")
