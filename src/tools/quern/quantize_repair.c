// SPDX-License-Identifier: MIT
//
// Repairs of quern quantize.
#include "tools/quern/quantize_repair.h"

#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#define LOOKED_AT 8 // samples for statistics of channels

int qt_read_repairs(const char *text, const qt_override_options *single,
                    const qt_calibration_options *run, qz_scheme *scheme, uint32_t *repairs) {
    bool named = single->floats.n || single->bits.n; // tensors, which folding may take out
    bool exact = single->encodings || single->exported;
    if (qz_repairs_parse(text ? text : exact ? "none" : "auto", repairs) != QRN_OK) {
        qt_error("--repair: %s", qrn_message());
        return QT_EXIT_USAGE;
    }
    if (!text && named)
        *repairs &= ~(uint32_t)QZ_FOLD;
    // With float activations, equalization and adapted rounding made 4-bit weights of a language
    // model worse: perplexity 48.9 instead of 45.6 (float32 45.7).
    if (!text && scheme->act_bits == 0 && scheme->weight_bits < 16)
        *repairs &= QZ_FOLD | QZ_EPSILON;
    if (run->only || run->merged.n)
        *repairs &= ~(uint32_t)(QZ_CLE | QZ_SMOOTH | QZ_ABSORB);
    scheme->adaround = *repairs & QZ_ADAROUND;
    scheme->useful_ranges = *repairs & QZ_RANGES;
    scheme->correct_bias = *repairs & QZ_BIAS;
    return QT_EXIT_OK;
}

int qt_repair_fold(const char *path, const qt_input_options *in, uint32_t repairs, ox_model *m,
                   qt_repaired *out) {
    int code = qt_open_shaped(path, in, &out->original);
    if (code != QT_EXIT_OK)
        return code;
    if ((repairs & QZ_EPSILON && qz_raise_epsilons(m, &out->epsilons) != QRN_OK) ||
        (repairs & QZ_FOLD && qz_fold(m, &out->folded) != QRN_OK) ||
        (repairs & QZ_BIAS && qz_add_biases(m) != QRN_OK))
        return qt_failed(path, QT_EXIT_FAILURE);
    return QT_EXIT_OK;
}

int qt_repair_equalize(const char *path, uint32_t repairs, const qz_scheme *scheme,
                       const qt_samples *samples, ox_model *m, qz_graph **graph, qt_repaired *out) {
    bool floats = scheme->weight_bits == 32; // as for a8w8
    const qz_equalizing how = {.layers = repairs & QZ_CLE,
                               .norms = repairs & QZ_SMOOTH,
                               .absorb = repairs & QZ_ABSORB,
                               .act_bits = floats ? 8 : scheme->act_bits,
                               .weight_bits = floats ? 8 : scheme->weight_bits};
    const qz_run_options opt = {.prepared = qz_equalize_watch};
    const qt_calibration_options plain = {0};
    qt_samples some = *samples;
    qt_calibration c = {
        .opt = &plain, .model = path, .graph = *graph, .samples = &some, .quiet = true};
    some.n = some.n < LOOKED_AT ? some.n : LOOKED_AT;
    if (how.weight_bits == 16 || !(how.layers || how.norms || how.absorb))
        return QT_EXIT_OK; // 16-bit weights have one scale for all channels
    if (qz_run_open(*graph, &opt, &c.run) != QRN_OK)
        return qt_failed(path, QT_EXIT_REFUSED);
    int code = qt_calibrate(&c);
    qz_run_close(c.run);
    if (code == QT_EXIT_OK && qz_equalize(m, *graph, &how, &out->equalized) != QRN_OK)
        code = qt_failed(path, QT_EXIT_FAILURE);
    qz_graph_destroy(*graph);
    *graph = NULL;
    out->new_graph = true;
    if (code == QT_EXIT_OK && qz_graph_create(m, graph) != QRN_OK)
        code = qt_failed(path, QT_EXIT_FAILURE);
    return code;
}

static const char *plural(uint32_t n) { return n == 1 ? "" : "s"; }

void qt_report_repairs(const qt_repaired *r, const qz_written *w) {
    const qz_epsilons *s = &r->epsilons;
    const qz_folded *f = &r->folded;
    const qz_equalized *e = &r->equalized;
    uint32_t places = e->n_layers + e->n_norms;
    if (s->n_raised || s->n_logs)
        qt_print("  epsilon: constants of %g are too small for float16: %u raised to %g, %u "
                 "Log%s limited to match\n",
                 s->smallest, s->n_raised, 0x1p-24, s->n_logs, plural(s->n_logs));
    if (f->n_moved)
        qt_print("  fold: Transposes inside %u layer norm%s\n", f->n_moved, plural(f->n_moved));
    if (f->n_norms || f->n_factors || f->n_swishes)
        qt_print("  fold: %u batch norm%s, %u constant factor%s or term%s, %u hard swish%s\n",
                 f->n_norms, plural(f->n_norms), f->n_factors, plural(f->n_factors),
                 plural(f->n_factors), f->n_swishes, f->n_swishes == 1 ? "" : "es");
    if (places)
        qt_print(
            "  equalize: channels after %u layer%s and %u norm%s, expected gain %.1f dB each\n",
            e->n_layers, plural(e->n_layers), e->n_norms, plural(e->n_norms), e->gain_db / places);
    if (e->n_absorbed)
        qt_print("  absorb: high biases of %u layer%s\n", e->n_absorbed, plural(e->n_absorbed));
    if (w->n_adapted)
        qt_print("  adaround: %u weight%s, results %.1f dB more accurate on average\n",
                 w->n_adapted, plural(w->n_adapted), w->gain_db / w->n_adapted);
    if (w->n_corrected)
        qt_print("  bias: %u bias%s corrected\n", w->n_corrected, w->n_corrected == 1 ? "" : "es");
}
