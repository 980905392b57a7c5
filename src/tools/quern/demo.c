// SPDX-License-Identifier: MIT
//
// quern demo: the digits network on held-out handwriting, with the pictures as text; then the same
// from a context binary, graph by graph; and how long it would take on a phone.
#include "tools/quern/commands.h"
#include "tools/quern/estimate.h"
#include "tools/quern/files.h"
#include "tools/quern/subject.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 6 // pictures in a row
#define SIDE 8  // pixels
#define WHITE 16.0

typedef struct demo_options {
    qt_backend_options backend;
} demo_options;

typedef struct demo {
    ox_model *model;
    qt_array images, labels;
    qt_session session;
    const char *what; // runs in it
} demo;

static int load(const char *dir, demo *d) {
    char path[4096];
    snprintf(path, sizeof path, "%s/digits.onnx", dir);
    qrn_status s = ox_model_open(path, &d->model);
    snprintf(path, sizeof path, "%s/images.npy", dir);
    if (s == QRN_OK)
        s = qt_npy_read(path, &d->images);
    snprintf(path, sizeof path, "%s/labels.npy", dir);
    if (s == QRN_OK)
        s = qt_npy_read(path, &d->labels);
    if (s == QRN_OK && (d->images.rank != 4 || d->images.dims[2] != SIDE ||
                        d->images.dims[3] != SIDE || d->labels.count != d->images.dims[0]))
        s = QRN_FAIL(QRN_E_SHAPE, "%s: the numbers of images and labels differ", dir);
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

// Classifies image i; returns the digit, or -1 after a message.
static int classify(demo *d, size_t i, double *sure) {
    qt_array x, y;
    const uint64_t dims[] = {1, 1, SIDE, SIDE};
    qrn_status s = qt_array_create("image", OX_F32, 4, dims, &x);
    for (size_t k = 0; s == QRN_OK && k < SIDE * SIDE; k++)
        ((float *)x.data)[k] = (float)qt_array_at(&d->images, i * SIDE * SIDE + k);
    if (s == QRN_OK) {
        s = qt_session_set_inputs(&d->session, &x);
        qt_array_free(&x);
    }
    if (s == QRN_OK)
        s = qt_session_execute(&d->session);
    if (s == QRN_OK)
        s = qt_session_output(&d->session, 0, &y);
    if (s != QRN_OK) {
        qt_error("%s", qrn_message());
        return -1;
    }
    int best = 0;
    for (int k = 1; k < (int)y.count; k++)
        if (qt_array_at(&y, (size_t)k) > qt_array_at(&y, (size_t)best))
            best = k;
    *sure = qt_array_at(&y, (size_t)best);
    qt_array_free(&y);
    return best;
}

static void draw(const demo *d, const size_t *which, size_t n) {
    static const char shades[] = " .:-=+*#%@";
    for (size_t row = 0; row < SIDE; row++) {
        for (size_t i = 0; i < n; i++) {
            qt_print("  ");
            for (size_t col = 0; col < SIDE; col++) {
                double v = qt_array_at(&d->images, (which[i] * SIDE + row) * SIDE + col) / WHITE;
                int shade = (int)(v * (double)(sizeof shades - 2) + 0.5);
                shade = shade < 0                        ? 0
                        : shade > (int)sizeof shades - 2 ? (int)sizeof shades - 2
                                                         : shade;
                qt_print("%c%c", shades[shade], shades[shade]);
            }
        }
        qt_print("\n");
    }
}

static int show_some(demo *d) {
    size_t which[SHOWN];
    for (size_t i = 0; i < SHOWN; i++)
        which[i] = i * d->labels.count / SHOWN;
    draw(d, which, SHOWN);
    for (size_t i = 0; i < SHOWN; i++) {
        double sure;
        int digit = classify(d, which[i], &sure);
        if (digit < 0)
            return QT_EXIT_FAILURE;
        bool right = digit == (int)qt_array_at(&d->labels, which[i]);
        qt_print("  %s%s %d %6.1f %%%s    ", qt_style_on(right ? QT_GREEN : QT_RED),
                 right ? "a" : "?", digit, 100 * sure, qt_style_off());
    }
    qt_print("\n\n");
    return QT_EXIT_OK;
}

static int score_all(demo *d) {
    size_t right = 0, n = d->labels.count;
    double best_ms = 1e9;
    for (size_t i = 0; i < n; i++) {
        double sure, before = qt_now_ms();
        int digit = classify(d, i, &sure);
        if (digit < 0)
            return QT_EXIT_FAILURE;
        double took = qt_now_ms() - before;
        best_ms = took < best_ms ? took : best_ms;
        right += digit == (int)qt_array_at(&d->labels, i);
    }
    qt_print("%s%s%s on %s: %zu of %zu held-out images right (%.1f %%), %.0f us each\n",
             qt_style_on(QT_BOLD), d->what, qt_style_off(), d->session.client->provider, right, n,
             100.0 * (double)right / (double)n, best_ms * 1000);
    return QT_EXIT_OK;
}

static int run_model(demo *d, const char *dir, const qt_backend_options *backend) {
    const ox_options import = {0};
    uint32_t found;
    if (ox_bind_symbol(d->model, "N", 1, &found) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    d->what = "digits.onnx";
    int code = qt_session_open(dir, d->model, backend, &import, &d->session);
    if (code == QT_EXIT_OK)
        code = show_some(d);
    if (code == QT_EXIT_OK)
        code = score_all(d);
    if (code == QT_EXIT_OK)
        qt_print("  opened in %.1f ms, imported in %.1f ms, finalized in %.1f ms\n",
                 d->session.open_ms, d->session.import_ms, d->session.finalize_ms);
    qt_session_close(&d->session);
    return code;
}

// One graph of a binary, which must be a digits network as well.
static int run_graph(demo *d, const char *path, const char *graph) {
    const qt_input_options in = {.graph = graph};
    const qt_backend_options backend = {0};
    char what[512];
    snprintf(what, sizeof what, "graph %s of %s", graph, path);
    qt_subject subject = {0};
    int code = qt_subject_open(path, &in, &subject);
    if (code == QT_EXIT_OK)
        code = qt_subject_session(&subject, &backend, NULL, &d->session);
    const ox_result *m = &d->session.model;
    if (code == QT_EXIT_OK && (m->n_inputs != 1 || m->inputs[0].type != OX_F32 ||
                               qc_tensor_count(m->inputs[0].tensor) != SIDE * SIDE)) {
        qt_error("%s: not a network for pictures of %dx%d pixels", what, SIDE, SIDE);
        code = QT_EXIT_INPUT;
    }
    d->what = what;
    if (code == QT_EXIT_OK)
        code = score_all(d);
    if (code == QT_EXIT_OK)
        qt_print("  opened in %.1f ms, loaded in %.1f ms\n", d->session.open_ms,
                 d->session.load_ms);
    qt_session_close(&d->session);
    qt_subject_close(&subject);
    return code;
}

static int run_binary(demo *d, const char *path) {
    qt_binary b = {0};
    int code = qt_binary_open(path, &b);
    for (uint32_t i = 0; code == QT_EXIT_OK && i < b.info->numGraphs; i++)
        code = run_graph(d, path, b.info->graphs[i].graphInfoV3.graphName);
    qt_binary_close(&b);
    return code;
}

// The same network on a phone.
static int estimate(const ox_model *m) {
    char title[64];
    qt_network net = {0};
    qt_target at;
    qt_estimate e;
    int code = qt_find_target(NULL, 0, &at);
    if (code == QT_EXIT_OK && qt_network_of(m, &at, false, &net) != QRN_OK) {
        qt_error("%s", qrn_message());
        code = QT_EXIT_FAILURE;
    }
    if (code == QT_EXIT_OK)
        code = qt_estimate_of(&net, &at, QD_W8A8, &e);
    if (code == QT_EXIT_OK)
        qt_print("\nestimated %.2f ms on %s, in 8 bits (quern estimate says more)\n", e.e.us / 1e3,
                 qt_chip_title(at.chip, title, sizeof title));
    qt_network_close(&net);
    return code;
}

static void say_what_next(const char *dir) {
    qt_print("\nWhere to go next:\n"
             "  quern run %s/digits.onnx --dim N=1 --random    any ONNX model, any input\n"
             "  quern bench %s/digits.onnx --dim N=1           how fast, op by op\n"
             "  quern compile %s/digits.onnx --dim N=1 --soc SM8650 -o d.bin    for a SoC\n"
             "  quern check model.onnx    which nodes a backend supports, and why not the rest\n"
             "  docs/using-the-api.md     the QNN API from C\n",
             dir, dir, dir);
}

static int run(const void *options, const qt_list *args) {
    const demo_options *o = options;
    demo d = {0};
    int code = load(args->items[0], &d);
    if (code == QT_EXIT_OK)
        code = run_model(&d, args->items[0], &o->backend);
    if (code == QT_EXIT_OK && args->n > 1)
        code = run_binary(&d, args->items[1]);
    if (code == QT_EXIT_OK)
        say_what_next(args->items[0]);
    if (code == QT_EXIT_OK)
        code = estimate(d.model);
    qt_array_free(&d.images);
    qt_array_free(&d.labels);
    ox_model_close(d.model);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

const qt_command qt_demo = {
    .name = "demo",
    .summary = "recognize handwritten digits with the example network",
    .args = "DIR [BINARY]",
    .min_args = 1,
    .max_args = 2,
    .about = "Runs the example network in DIR (examples/digits) on its test images, then every "
             "graph of a context binary that was compiled from it.",
    .groups = {{"backend", qt_backend_flags}},
    .examples = {{"quern demo examples/digits", "What 'make demo' runs."}},
    .options_size = sizeof(demo_options),
    .run = run,
};
