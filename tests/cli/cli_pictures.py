# SPDX-License-Identifier: MIT
"""Pictures as inputs: decoding, normalising, layout and scaling."""
import base64

import numpy as np
import pytest
from onnx import TensorProto as T

from harness import INPUT, USAGE, identity, ok, png, refuses

# 16 x 12 pixels, all (200, 100, 50).
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/2wBDAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/wAARCAAMABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAA"
    "AAb/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAACf/EABQRAQAAAAAAAAAAAAAAAAAA"
    "AAD/2gAMAwEAAhEDEQA/AJ8AV5sH/9k=")

RGB = np.random.default_rng(3).integers(0, 256, (5, 7, 3))


def load(tmp_path, data, shape, *flags, dtype=T.FLOAT, name="p.png"):
    net = identity(tmp_path / "id.onnx", dtype, shape)
    (tmp_path / name).write_bytes(data)
    ok("run", net, tmp_path / name, *flags, "-o", tmp_path)
    return np.load(tmp_path / "output_0.npy")


def test_pixels_are_0_to_1_channels_where_the_shape_has_them(tmp_path):
    want = (RGB / 255).astype(np.float32)
    got = load(tmp_path, png(RGB), [1, 3, 5, 7])
    np.testing.assert_allclose(got[0], want.transpose(2, 0, 1), atol=1e-7)
    np.testing.assert_allclose(load(tmp_path, png(RGB), [1, 5, 7, 3])[0], want, atol=1e-7)
    np.testing.assert_allclose(load(tmp_path, png(RGB), [5, 7, 3]), want, atol=1e-7)
    np.testing.assert_array_equal(load(tmp_path, png(RGB), [1, 5, 7, 3], dtype=T.UINT8)[0], RGB)


def test_mean_std_white_and_order(tmp_path):
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    got = load(tmp_path, png(RGB), [1, 5, 7, 3], "--mean", "0.485,0.456,0.406", "--std",
               "0.229,0.224,0.225")
    np.testing.assert_allclose(got[0], (RGB / 255 - mean) / std, rtol=1e-5, atol=1e-6)
    got = load(tmp_path, png(RGB), [1, 5, 7, 3], "--white", "255", "--mean", "127.5", "--std",
               "127.5", "--bgr")
    np.testing.assert_allclose(got[0], RGB[..., ::-1] / 127.5 - 1, atol=1e-6)


def test_grey_alpha_and_16_bits(tmp_path):
    grey = RGB[..., 0]
    np.testing.assert_allclose(load(tmp_path, png(grey), [1, 1, 5, 7])[0, 0], grey / 255, atol=1e-7)
    np.testing.assert_allclose(load(tmp_path, png(grey), [5, 7]), grey / 255, atol=1e-7)
    got = load(tmp_path, png(grey), [1, 3, 5, 7])
    np.testing.assert_allclose(got[0, 2], grey / 255, atol=1e-7)
    opaque = np.concatenate([RGB, np.full((5, 7, 1), 255)], 2)
    np.testing.assert_allclose(load(tmp_path, png(opaque), [5, 7, 3]), RGB / 255, atol=1e-7)


def test_jpeg(tmp_path):
    got = load(tmp_path, JPEG, [1, 3, 12, 16], "--fit", "none", name="p.jpg")
    np.testing.assert_allclose(got[0] * 255, np.array([200, 100, 50]).reshape(3, 1, 1)
                               * np.ones((1, 12, 16)), atol=2.01)


def weights(n, m, start, extent):
    """Rows of a triangle filter that widens when shrinking, each normalised to 1."""
    scale = extent / m
    s = max(scale, 1)
    centre = start + (np.arange(m) + .5) * scale
    w = np.maximum(0, 1 - np.abs((np.arange(n) + .5 - centre[:, None]) / s))
    return w / w.sum(1, keepdims=True)


@pytest.mark.parametrize("h,w", [(3, 3), (10, 14), (2, 9), (11, 4)])
def test_other_sizes_are_scaled(tmp_path, h, w):
    got = load(tmp_path, png(RGB), [h, w, 3], "--fit", "stretch", "--white", "255",
               "--layout", "nhwc")
    want = np.einsum("yh,xw,hwc->yxc", weights(5, h, 0, 5), weights(7, w, 0, 7), RGB)
    np.testing.assert_allclose(got, want, atol=1e-3)
    got = load(tmp_path, png(RGB), [h, w, 3], "--white", "255", "--layout", "nhwc")
    s = min(5 / h, 7 / w)
    wy, wx = weights(5, h, (5 - s * h) / 2, s * h), weights(7, w, (7 - s * w) / 2, s * w)
    np.testing.assert_allclose(got, np.einsum("yh,xw,hwc->yxc", wy, wx, RGB), atol=1e-3)


def test_what_cannot_be_a_picture_is_refused(tmp_path):
    (tmp_path / "p.png").write_bytes(png(RGB))
    p = tmp_path / "p.png"
    run = lambda shape, *flags, dtype=T.FLOAT: (
        "run", identity(tmp_path / "id.onnx", dtype, shape), p, *flags)
    refuses(INPUT, *run([1, 4, 5, 7]), says=["input 'x' has shape [1, 4, 5, 7]", "--layout"])
    refuses(INPUT, *run([5]), says="not a picture's")
    refuses(INPUT, *run([1, 3, 5, 7], dtype=T.INT64), says="expects int64")
    refuses(INPUT, *run([1, 3, 6, 7], "--fit", "none"),
            says="7 x 5 pixels, input 'x' expects 7 x 6")
    refuses(USAGE, *run([1, 3, 5, 7], "--std", "0"), says="above 0")
    refuses(USAGE, *run([1, 3, 5, 7], "--std", "nan"), says="--std")
    refuses(USAGE, *run([1, 3, 5, 7], "--mean", "1,2"), says="one or three")
    refuses(INPUT, *run([1, 1, 5, 7], "--mean", "1,2,3"), says="1 channels")
    refuses(USAGE, *run([1, 3, 5, 7], "--layout", "chwn"), says="expected auto, nchw or nhwc")


@pytest.mark.parametrize("data,says", [
    (b"", "not a PNG or JPEG picture but an empty file"),
    (b"GIF89a" + b"\0" * 20, "not a PNG or JPEG picture but a GIF picture"),
    (png(RGB)[:60], "damaged PNG"), (png(RGB)[:40] + b"\0" * 40, "damaged PNG"),
    (JPEG[:200], "damaged JPEG"), (JPEG[:-4], "damaged JPEG"), (JPEG[:3], "damaged JPEG"),
    # A header that claims 60000 x 60000 pixels.
    (JPEG.replace(b"\x00\x0c\x00\x10", b"\xea\x60\xea\x60"), "cannot come from a file of")])
def test_damaged_pictures_are_refused(tmp_path, data, says):
    net = identity(tmp_path / "id.onnx", T.FLOAT, [1, 3, 5, 7])
    (tmp_path / "p.png").write_bytes(data)
    refuses(INPUT, "run", net, tmp_path / "p.png", "-o", tmp_path / "out", says=["p.png", says])
