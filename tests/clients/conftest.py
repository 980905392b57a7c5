# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider, registered for the tests of one file."""
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out of make test, part of make test-clients")


@pytest.fixture(scope="module")
def device():
    """The device of the provider; its backend is whatever library a session names."""
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    import qnn_provider
    yield qnn_provider.register()
    qnn_provider.unregister()
