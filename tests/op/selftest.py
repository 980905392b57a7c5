# SPDX-License-Identifier: MIT
"""Self-test of the op harness: selftest.py RUN_CASES FAULTY_BACKEND.

Three questions: does the oracle quantize and pack as documented, does run_cases notice each fault
of faulty_backend.c and pass what is right, and does it survive damaged files.
"""
import os
import random
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import qcase as q

RUNNER, BACKEND = sys.argv[1].split(";"), sys.argv[2]


def run_cases(path, *options):
    done = subprocess.run([*filter(None, RUNNER), BACKEND, path, *options], capture_output=True,
                          text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


class Oracle(unittest.TestCase):
    def test_quantize_rounds_half_up_and_clamps(self):
        enc = q.scale_offset(0.5, -10)
        codes = q.quantize([0.25, -0.25, -0.26, 1e9, -1e9], enc, "uq8")
        self.assertEqual(codes.tolist(), [11, 10, 9, 255, 0])
        self.assertEqual(q.dequantize([11, 0], enc).tolist(), [0.5, -5.0])

    def test_bw_encoding_narrows_the_range(self):
        self.assertEqual(q.quantize([99, -99], q.bw(4, 1.0), "sq8").tolist(), [7, -8])

    def test_axis_block_and_expansion_scales(self):
        x = np.ones((2, 4))
        self.assertEqual(q.dequantize(x, q.axis(0, [1, 2], [0, 1])).tolist(),
                         [[1, 1, 1, 1], [4, 4, 4, 4]])
        self.assertEqual(q.dequantize(x, q.block([1, 3], [[1, 2], [3, 4]])).tolist(),
                         [[1, 1, 1, 2], [3, 3, 3, 4]])
        self.assertEqual(q.dequantize(x, q.float_block([2, 2], [1, 2], [10, 20])).tolist(),
                         [[11, 11, 22, 22], [11, 11, 22, 22]])
        enc = q.blockwise_expansion(0, [0.5, 1], [[1, 2], [3, 4]], block_axis=1)
        self.assertEqual(q.dequantize(x, enc).tolist(), [[.5, .5, 1, 1], [3, 3, 4, 4]])
        enc = q.blockwise_expansion(1, [1, 1, 1, 2], [[1, 2]] * 4, block_axis=0)
        self.assertEqual(q.dequantize(x, enc).tolist(), [[1, 1, 1, 2], [2, 2, 2, 4]])

    def test_four_bit_codes_are_packed_low_nibble_first(self):
        self.assertEqual(q.pack(np.array([1, 2, -1]), "sq4"), bytes([0x21, 0x0F]))

    def test_bfloat16_rounds_to_even(self):
        bits = q.bf16_bits(np.array([1.0, 1.00390625, 1.01171875, np.inf], np.float32))
        self.assertEqual(bits.tolist(), [0x3F80, 0x3F80, 0x3F82, 0x7F80])

    def test_fit_covers_the_data_and_zero(self):
        rng = np.random.default_rng(3)
        for dtype in ("uq8", "sq8", "uq16", "sq16"):
            for low, high in ((1, 2), (-5, -1), (-1, 7)):
                x = rng.uniform(low, high, 200)
                enc = q.fit(x, dtype)
                error = np.abs(q.dequantize(q.quantize(x, enc, dtype), enc) - x)
                self.assertLessEqual(error.max(), 1.01 * enc.scale[0])
                zero = q.quantize(0.0, enc, dtype)
                self.assertEqual(q.dequantize(zero, enc).item(), 0.0)


def faulty_cases(f):
    """Cases of the faulty backend; names that begin with 'bad' must fail, the others pass."""
    x8 = q.Tensor("x", np.arange(60, dtype=np.int64), "uq8", q.scale_offset(1.0))

    def codes(name, op, tol=None, **more):
        want = q.Tensor("y", np.arange(60.0), "uq8", q.scale_offset(1.0))
        f.add(op, [x8], [want], name=name, tol=tol, **more)

    def floats(name, wanted, given, dtype="f32", **more):
        x = q.Tensor("x", np.array(given), dtype)
        f.add("Copy", [x], [q.Tensor("y", np.array(wanted), dtype)], name=name, **more)

    codes("copy", "Copy")
    codes("copy_exact", "Copy", q.exact())
    codes("one_code_one_step_off", "OneMore")
    codes("bad_exact", "OneMore", q.exact())
    codes("bad_two_steps", "TwoMore")
    codes("two_steps_allowed", "TwoMore", q.quant(steps=2, ratio=0.5))
    codes("bad_everywhere", "OneMoreEverywhere", q.quant(ratio=0.99))
    codes("everywhere_allowed", "OneMoreEverywhere", q.quant(ratio=0.0))
    codes("bad_unwritten", "LeavesTheEnd", q.quant(steps=300, ratio=0.0))
    codes("bad_second_run", "Forgetful")
    codes("stateful", "Forgetful", stateful=True)
    codes("bad_writes_input", "WritesInput")
    codes("bad_dims", "Shrinks")
    codes("bad_add", "AddFails")
    codes("bad_finalize", "FinalizeFails")
    codes("bad_execute", "ExecuteFails")
    codes("bad_refused", "Refused")
    codes("refused", "Refused", error=q.error())
    codes("refused_any", "Refused", error=q.error(None))
    codes("add_fails", "AddFails", error=q.error(stage="add"))
    codes("finalize_fails", "FinalizeFails", error=q.error(stage="finalize"))
    codes("execute_fails", "ExecuteFails", error=q.error(stage="execute"))
    codes("bad_code", "Refused", error=q.error(4711))
    codes("bad_no_error", "Copy", error=q.error())
    codes("bad_no_add_error", "Copy", error=q.error(stage="add"))
    codes("bad_no_execute_error", "Copy", error=q.error(stage="execute"))
    codes("bad_disagree", "RefusedTooLate", error=q.error())
    codes("bad_silence", "RefusedSilently", error=q.error())
    codes("bad_free", "FreeFails")
    codes("early", "EndsEarly", rounds=[({}, q.EARLY)])
    codes("bad_early", "EndsEarly")
    codes("bad_not_early", "Copy", rounds=[({}, q.EARLY)])
    codes("bad_early_mark", "EndsEarlyAndLies", rounds=[({}, q.EARLY)])

    floats("near", [1.0, 100.0], [1.0005, 100.0])
    floats("bad_far", [1.0, 100.0], [1.002, 100.0])
    floats("bad_near_per_element", [1.0, 100.0], [1.0005, 100.0], tol=q.fp32(per_element=True))
    floats("nan", [np.nan, 1.0], [np.nan, 1.0])
    floats("bad_nan_wanted", [np.nan, 1.0], [2.0, 1.0])
    floats("bad_nan_found", [2.0, 1.0], [np.nan, 1.0])
    floats("nan_ok", [np.nan, 1.0], [2.0, 1.0], tol=q.fp32(nan_ok=True))
    floats("infinity", [np.inf, -np.inf], [np.inf, -np.inf])
    floats("overflow_is_infinity", [1e39], [np.inf])
    floats("bad_infinity", [np.inf, 1.0], [3e38, 1.0])
    floats("half", [1.0, -2.5, 6e-8, 65504], [1.0, -2.5, 6e-8, 65504], "f16", tol=q.ulp(0.5))
    floats("bad_half_ulp", [1.0], [1.0 + 2.0 ** -10], "f16", tol=q.ulp(0.9))
    floats("half_in_f32", [1.0, 3.0, 0.1], [1.0 + 2.0 ** -10, 3.0, 0.0999755859375],
           tol=q.ulp16(1))
    floats("bad_half_in_f32", [1.0, 3.0], [1.0 + 2.0 ** -9, 3.0], tol=q.ulp16(1))
    floats("bad_not_rounded", [0.1, 3.0], [0.1, 3.0], tol=q.ulp16(1))
    floats("half_cancels", [0.0, 100.0], [2.0 ** -14, 100.0], tol=q.ulp16(1, 1e-6))
    floats("bad_half_cancels", [0.0, 100.0], [2.0 ** -13, 100.0], tol=q.ulp16(1, 1e-6))
    floats("brain_float", [1.0, -2.5, 1e30], [1.0, -2.5, 1e30], "bf16")
    floats("bad_brain_float", [1.0], [1.02], "bf16")
    floats("double", [0.1], [0.1 + 1e-15], "f64")
    floats("bad_double", [0.1], [0.1 + 1e-9], "f64")
    floats("bool", [0, 1], [0, 1], "b8")
    floats("bad_bool", [0, 1], [1, 1], "b8")
    floats("int64", [-5, 1 << 40], [-5, 1 << 40], "i64")
    floats("bad_int64", [-5, 1 << 40], [-5, 1 + (1 << 40)], "i64")

    four = q.Tensor("x", np.array([-8, 7, 3]), "sq4", q.scale_offset(0.5))
    for name, want in (("nibbles", [-4.0, 3.5, 1.5]), ("bad_nibbles", [-4.0, 0.0, 1.5])):
        f.add("Copy", [four], [q.Tensor("y", np.array(want), "sq4", four.enc)], name=name)

    uniform = q.Tensor("x", f.rng.uniform(0, 1, 900))
    for name, tol in (("stats", q.stats(0, 1, (0.4, 0.6), (0.2, 0.4))),
                      ("bad_stats_range", q.stats(0.5, 1)),
                      ("bad_stats_mean", q.stats(mean=(0.6, 0.7))),
                      ("bad_stats_deviation", q.stats(std=(0.4, 1)))):
        f.add("Copy", [uniform], [q.Tensor("y", dims=(900,), tol=tol)], name=name)

    three = q.Tensor("x", np.array([3, 3]), "uq8", q.scale_offset(1.0))
    for name, want in (("next_to_ties", [2.5 - 1e-10, 3.5 + 1e-10]), ("bad_tie_up", [2.5, 3.5]),
                       ("bad_below_tie", [2.5 - 1e-7, 3.5 - 1e-7])):
        f.add("Copy", [three], [q.Tensor("y", np.array(want), "uq8", three.enc)], name=name,
              tol=q.quant(steps=0))

    a = q.Tensor("a", np.array([1.0, 2.0]))
    b = q.Tensor("b", np.array([3.0, 4.0]))
    for name, op in (("order", "Copy"), ("bad_order", "IgnoresIds")):
        f.add(op, [a, b], [q.Tensor("y", a.real)], name=name)
    constant = q.Tensor("c", np.array([5.0, 6.0]), kind="static")
    f.add("Copy", [constant], [q.Tensor("y", constant.real)], name="constant")
    rounds = [({"a": [1.0, 2.0]}, {"y": [1.0, 2.0]}), ({"a": [7.0, 8.0]}, {"y": [7.0, 8.0]})]
    f.add("Copy", [a], [q.Tensor("y", a.real)], name="rounds", rounds=rounds)
    rounds = [rounds[0], ({"a": [7.0, 8.0]}, {"y": [7.0, 9.0]})]
    f.add("Copy", [a], [q.Tensor("y", a.real)], name="bad_round", rounds=rounds)
    f.add("Shrinks", [a], [q.Tensor("y", [1.0], dims=(2,))], name="actual_dims")
    f.add("Copy", [a], [q.Tensor("y", [1.0], dims=(2,))], name="bad_actual_dims")


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "cases.qc")

    def write(self, generator):
        case_file = q.CaseFile(self.path)
        generator(case_file)
        case_file.write()
        return list(case_file.seen)

    def test_finds_each_fault_and_nothing_else(self):
        names = self.write(faulty_cases)
        status, out, err = run_cases(self.path)
        failed = {line.split()[1] for line in out.splitlines() if line.startswith("FAIL ")}
        self.assertEqual(err, "")
        self.assertEqual({n for n in names if n.startswith("bad")} ^ failed - {"of"}, set(), out)
        bad = sum(n.startswith("bad") for n in names)
        # The file as a whole fails too, for its share of unequal codes.
        self.assertTrue(out.endswith(f"\n{len(names) - bad} passed, {bad + 1} failed\n"), out)
        self.assertEqual(status, 1)
        self.assertIn("log: op 'Refused' is refused", out)

    def test_counts_codes_over_the_whole_file(self):
        def many(f):
            x = q.Tensor("x", np.arange(60, dtype=np.int64), "uq8", q.scale_offset(1.0))
            for _ in range(5):
                f.add("OneMore", [x], [q.Tensor("y", x.real, "uq8", x.enc)])
        self.write(many)
        status, out, _ = run_cases(self.path)
        self.assertIn("98.3333 % of 300 quantized values equal", out)
        self.assertIn("5 passed, 1 failed", out)
        self.assertEqual(status, 1)

    def test_filter_list_and_skip(self):
        names = self.write(faulty_cases)
        self.assertEqual(run_cases(self.path, "--list")[1].split(), names)
        self.assertIn("\n1 passed, 0 failed", run_cases(self.path, "--filter", "refused_any")[1])
        self.assertEqual(run_cases(self.path, "--filter", "nothing like it")[0], 2)
        out = run_cases(self.path, "--filter", "bad_refused", "--allow-unsupported")[1]
        self.assertIn("0 passed, 0 failed, 1 skipped", out)

    def test_names_select_whole_names(self):
        self.write(faulty_cases)
        names = os.path.join(self.folder.name, "names")
        with open(names, "w") as f:
            f.write("near\nhal\nbad_far")
        out = run_cases(self.path, "--names", names)[1]
        self.assertIn("FAIL bad_far", out)
        self.assertIn("\n1 passed, 1 failed", out)
        self.assertEqual(run_cases(self.path, "--names", names + "not")[0], 2)

    def test_a_precision_adds_its_tolerance_and_skips_what_fp16_cannot_hold(self):
        self.write(faulty_cases)

        def passes(name, precision):
            out = run_cases(self.path, "--filter", name, "--precision", precision,
                            "--allow-unsupported", "--verbose")[1]
            return next(line.split()[0] for line in out.splitlines()
                        if line.split()[1:2] in ([name], [name + ":"]))
        self.assertEqual(passes("bad_half_ulp", "fp32"), "FAIL")
        self.assertEqual(passes("bad_half_ulp", "hybrid"), "PASS")
        self.assertEqual(passes("bad_far", "hybrid"), "PASS")
        self.assertEqual(passes("bad_nan_found", "fp16"), "FAIL")
        self.assertEqual(passes("bad_int64", "fp16"), "FAIL")
        self.assertEqual(passes("brain_float", "fp32"), "PASS")
        self.assertEqual(passes("brain_float", "fp16"), "SKIP")
        self.assertEqual(run_cases(self.path, "--precision", "fp8")[0], 2)

    def test_damaged_files_are_refused_without_a_crash(self):
        self.write(faulty_cases)
        with open(self.path, "rb") as f:
            good = f.read()
        dice = random.Random(5)
        start = good.index(b"\n") + 1
        ends = (good.index(b"end\n"), start + int(good.split()[2]))  # first case, whole index
        for i in range(60):
            data = bytearray(good)
            if i < 20:
                data = data[:dice.randrange(len(data))]
            else:
                for _ in range(3):
                    data[dice.randrange(ends[i % 2])] = dice.choice(b"0123456789 \n-@x:,+az\xff")
            with open(self.path, "wb") as f:
                f.write(data)
            status, _, err = run_cases(self.path, "--filter", "copy")
            self.assertIn(status, (0, 1, 2), err)
            self.assertNotIn("Sanitizer", err)
            if i < 20:
                self.assertEqual(status, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
