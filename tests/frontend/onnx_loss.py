# SPDX-License-Identifier: MIT
"""Losses, BitCast, TfIdfVectorizer, and relatives: what the conformance cases of ONNX lack."""
import numpy as np

from case_onnx import case, node

RNG = np.random.default_rng(13)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def cross_entropy(x, label, weight, ignored, reduction):
    """In float64, straight from the definition; x is [N, C, D]."""
    x = x.astype(np.float64)
    log = x - x.max(1, keepdims=True)
    log -= np.log(np.exp(log).sum(1, keepdims=True))
    loss, total = np.zeros(label.shape), 0.0
    for at in np.ndindex(label.shape):
        if label[at] != ignored:
            w = 1.0 if weight is None else float(weight[label[at]])
            loss[at] = -w * log[at[0], label[at], at[1]]
            total += w
    result = {"none": loss, "sum": loss.sum(), "mean": loss.sum() / total}[reduction]
    return np.asarray(result, np.float32), log.astype(np.float32)


def losses():
    x, weight = f32(4, 5, 7) * 6, np.abs(f32(5)) + 0.1
    label = RNG.integers(0, 5, (4, 7))
    label[1, 2:5] = label[3, 0] = -100
    for reduction in ("none", "sum", "mean"):
        for dtype in (np.int32, np.int64):
            for w in (None, weight):
                name = f"cross_entropy_{reduction}_{dtype.__name__}_{'plain' if w is None else 'w'}"
                feeds = {"x": x, "t": label.astype(dtype)} | ({} if w is None else {"w": w})
                yield case(name, node("SoftmaxCrossEntropyLoss", " ".join(feeds), "y p",
                                      reduction=reduction, ignore_index=-100), feeds, "y p",
                           expected=list(cross_entropy(x, label, w, -100, reduction)))
    many = f32(300, 10) * 3
    labels = RNG.integers(0, 10, 300)
    want, _ = cross_entropy(many.astype(np.float16)[..., None], labels[:, None], None, None, "sum")
    yield case("float16_sum", node("SoftmaxCrossEntropyLoss", "x t", "y", reduction="sum"),
               {"x": many.astype(np.float16), "t": labels}, expected=[want.astype(np.float16)],
               tol=1e-3)
    yield case("opset_12", node("NegativeLogLikelihoodLoss", "x t w", "y", ignore_index=1),
               {"x": x, "t": np.abs(label) % 5, "w": weight}, opset=12)
    yield case("constant_labels", node("NegativeLogLikelihoodLoss", "x t", "y"), {"x": x},
               constants={"t": np.abs(label) % 5})
    yield case("labels_do_not_fit", node("NegativeLogLikelihoodLoss", "x t", "y"),
               {"x": x, "t": label[:, :6]}, refusal="labels")


def bits():
    for a, b in [(np.int8, np.uint8), (np.uint8, np.int8), (np.int16, np.uint16),
                 (np.uint16, np.int16), (np.int32, np.uint32), (np.uint32, np.int32)]:
        info = np.iinfo(a)
        x = np.array([info.min, info.min + 1, info.max // 2, info.max - 1, info.max], a)
        to = {np.int8: 3, np.uint8: 2, np.int16: 5, np.uint16: 4, np.int32: 6, np.uint32: 12}[b]
        yield case(f"bits_{a.__name__}", node("BitCast", "x", "y", to=to), {"x": x}, opset=26,
                   expected=[x.view(b)])
    constant = np.array([1.5, -0.0, np.inf], np.float32)
    yield case("bits_constant", [node("BitCast", "c", "i", to=6), node("Add", "x i", "y")],
               {"x": np.zeros(3, np.int32)}, constants={"c": constant}, opset=26,
               expected=[constant.view(np.int32)])
    patterns = np.array([0, 1, 2, 0x7fffff, 0x800000, 0x3f800000, 0x3fffffff, 0x7f7fffff,
                         0x7f800000, 0x7fc00000], np.uint32)
    patterns = np.concatenate([patterns, patterns | 0x80000000,
                               RNG.integers(0, 0x7f800000, 200, np.uint32)]).view(np.int32)
    want = patterns.view(np.float32)
    yield case("bits_to_floats", node("BitCast", "x", "y", to=1), {"x": patterns}, opset=26,
               expected=[want], tol=0)
    # Zeros with their signs, and numbers too small to be seen beside the others.
    yield case("bits_to_floats_signs", [node("BitCast", "x", "f", to=1),
                                        node("Reciprocal", "f", "y")],
               {"x": np.array([0, -2**31, 1 << 22, 1 << 30], np.int32)}, opset=26,
               expected=[np.array([np.inf, -np.inf, 2.0**127, 0.5], np.float32)])
    yield case("bits_of_floats", node("BitCast", "x", "y", to=6), {"x": f32(3)}, opset=26,
               refusal="float32 as int32")
    yield case("bits_of_64", node("BitCast", "x", "y", to=13), {"x": np.arange(3)}, opset=26,
               refusal="int64 as uint64")


def grams():
    x = RNG.integers(0, 4, (3, 9))
    pool = dict(ngram_counts=[0, 3], ngram_indexes=[1, 4, 0, 2, 3, 5],
                pool_int64s=[0, 1, 2, 0, 1, 2, 2, 3, 0], min_gram_length=1, max_gram_length=2,
                weights=[0.5, 2.0, 1.0, 3.0, 0.25, 1.5])
    # The i-th weight is that of the i-th n-gram, says the standard, and ONNX Runtime does so; the
    # evaluator takes it for that of the i-th result. It is asked for counts alone.
    weights = np.zeros(6, np.float32)
    weights[pool["ngram_indexes"]] = pool["weights"]
    for skip in (0, 2, 20):
        def grams_in(mode):
            return node("TfIdfVectorizer", "x", "y", mode=mode, max_skip_count=skip, **pool)
        counts = case(f"grams_TF_{skip}", grams_in("TF"), {"x": x})
        found = counts.expected[0][:, :weights.size]  # of save_cases.py it has other columns
        yield counts
        yield case(f"grams_IDF_{skip}", grams_in("IDF"), {"x": x},
                   expected=[(found > 0) * weights])
        yield case(f"grams_TFIDF_{skip}", grams_in("TFIDF"), {"x": x},
                   expected=[found * weights])
    yield case("grams_without_a_weight", node("TfIdfVectorizer", "x", "y", mode="IDF",
                                              max_skip_count=0, **(pool | {"weights": [1.0] * 5})),
               {"x": x}, refusal="5 weights for 6 n-grams")
    trigrams = dict(ngram_counts=[0, 0, 2], ngram_indexes=[0, 1, 2, 2], max_skip_count=1,
                    pool_int64s=[1, 1, 0, 1, 2, 3, 1, 1, 2], mode="TF")
    for low, high in [(2, 3), (3, 3), (1, 2)]:
        yield case(f"grams_of_{low}_{high}",
                   node("TfIdfVectorizer", "x", "y", min_gram_length=low, max_gram_length=high,
                        **trigrams), {"x": x.astype(np.int32)})
    yield case("grams_too_long", node("TfIdfVectorizer", "x", "y", min_gram_length=3,
                                      max_gram_length=3, **trigrams), {"x": x[0, :2]})


def cases():
    for group in (losses, bits, grams):
        yield from group()
