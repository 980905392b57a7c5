# SPDX-License-Identifier: MIT
"""The Python package as it is installed: by pip (`QUERN_INSTALLED=1`), or from the built tree into
a folder of its own."""
import os
import subprocess
import sys
from pathlib import Path

import onnxruntime as ort
import pytest

from installed import LIB, MARKS, NEW_ENOUGH


def pytest_configure(config):
    for name in MARKS:
        config.addinivalue_line("markers", f"{name}: needs an onnxruntime that takes the {name}")


def pytest_collection_modifyitems(items):
    for item in items:
        if not NEW_ENOUGH and any(item.get_closest_marker(name) for name in MARKS):
            item.add_marker(pytest.mark.skip(reason=f"onnxruntime {ort.__version__}"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder that holds the package."""
    if os.environ.get("QUERN_INSTALLED") == "1":
        import quern
        return Path(quern.__file__).resolve().parents[1]
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(["cmake", "--install", LIB.parent, "--component", "python", "--prefix", folder],
                   check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def quern(site):
    """The package, imported."""
    environment = os.environ.pop("QUERN_LIB_DIR", None)
    sys.path.insert(0, str(site))
    import quern as package
    assert package.libs() == site / "quern" / "lib"
    yield package
    sys.path.remove(str(site))
    if environment:
        os.environ["QUERN_LIB_DIR"] = environment


@pytest.fixture
def python(site, tmp_path):
    """Runs Python with the package, in an empty folder and without a network."""
    folder = tmp_path / "empty"
    folder.mkdir()

    def run(*args, check=True, **environment):
        env = {**os.environ, "PYTHONPATH": str(site), "no_proxy": "", **{
            name: "http://127.0.0.1:1" for name in ("http_proxy", "https_proxy", "all_proxy")},
            **environment}
        env.pop("QUERN_LIB_DIR", None)
        found = subprocess.run([sys.executable, *map(str, args)], cwd=folder, env=env, text=True,
                               capture_output=True)
        assert not check or found.returncode == 0, found.stderr
        return found

    run.folder = folder
    return run
