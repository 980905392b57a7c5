// SPDX-License-Identifier: MIT
//
// Speed of every convolution and product row that this machine can run, on the layers of common
// networks, one thread: GOP/s (two for each product) and the share of the arithmetic peak that was
// measured in the same run. Other people's libraries, where they are installed, take turns with
// each row on the same shape.
//   bench_gemm [--json] [word ...]    only rows whose name contains one of the words
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/gemm/dense.h"
#include "kernels/gemm/dense8.h"
#include "kernels/gemm/matmul.h"
#include "peers.h"
#include "tools/quern/bench_peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS 0.2 // for each row and its peers
#define MAX_PEERS 2

static const qb_library *const libraries[MAX_PEERS] = {&qb_onednn, &qb_openblas};

// What the whole run shares.
static struct {
    bool json;
    char **words; // of the command line
    int n_words;
    qt_peaks peaks;
    unsigned n_rows; // reported so far
} run;

// What a group of rows is measured on.
typedef struct subject {
    const char *what;
    double products;
    qt_peak_kind peak;
    qb_peer peers[MAX_PEERS];
    unsigned n_peers;
} subject;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_conv_peers(subject *s, const qb_conv *c) {
    for (int i = 0; i < MAX_PEERS; i++)
        if (libraries[i]->conv && libraries[i]->conv(c, &s->peers[s->n_peers]))
            s->n_peers++;
}

static void add_product_peers(subject *s, const qb_product *p) {
    for (int i = 0; i < MAX_PEERS; i++)
        if (libraries[i]->product && libraries[i]->product(p, &s->peers[s->n_peers]))
            s->n_peers++;
}

static void free_peers(subject *s) {
    for (unsigned i = 0; i < s->n_peers; i++)
        s->peers[i].free(s->peers[i].state);
    s->n_peers = 0;
}

typedef struct layer {
    const char *name;
    uint32_t size, cin, kernel, stride, group, cout; // cin, cout: all groups; square images
} layer;

static const layer layers[] = {
    {"resnet50 7x7/2", 224, 3, 7, 2, 1, 64},
    {"resnet50 1x1 64-256", 56, 64, 1, 1, 1, 256},
    {"resnet50 1x1 128-512", 28, 128, 1, 1, 1, 512},
    {"resnet50 3x3 64", 56, 64, 3, 1, 1, 64},
    {"resnet50 3x3 256", 14, 256, 3, 1, 1, 256},
    {"resnet50 1x1 1024-256", 14, 1024, 1, 1, 1, 256},
    {"mobilenet 3x3/2 3-32", 224, 3, 3, 2, 1, 32},
    {"mobilenet 1x1 32-16", 112, 32, 1, 1, 1, 16},
    {"mobilenet 1x1 16-96", 112, 16, 1, 1, 1, 96},
    {"mobilenet 1x1 160-960", 7, 160, 1, 1, 1, 960},
    {"mobilenet dw 96", 56, 96, 3, 1, 96, 96},
    {"mobilenet dw/2 144", 56, 144, 3, 2, 144, 144},
    {"classifier 1280-1000", 1, 1280, 1, 1, 1, 1000},
};

static qrn_view make(uint32_t rank, const uint32_t *dims, qrn_dtype dtype, const qrn_quant *quant) {
    qrn_view v = {.dtype = dtype, .rank = rank, .quant = quant};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t n = qrn_view_count(&v);
    v.data = qrn_calloc(n * qrn_view_elem(&v));
    for (size_t i = 0; v.data && i < n; i++)
        if (dtype == QRN_DTYPE_F32)
            ((float *)v.data)[i] = (float)(i * 7919 % 2048) / 1024.0f - 1.0f;
        else
            ((uint8_t *)v.data)[i] = (uint8_t)(i * 7919);
    return v;
}

static bool wanted(const char *row) {
    for (int i = 0; i < run.n_words; i++)
        if (strstr(row, run.words[i]))
            return true;
    return run.n_words == 0;
}

// One line for each peer, or one without; seconds[0] is ours.
static void report(const subject *s, const char *kernel, const double *seconds) {
    double gops = 2e-9 * s->products / seconds[0], top = run.peaks.gops[s->peak];
    for (unsigned i = 0; i < s->n_peers || i == 0; i++) {
        const char *peer = i < s->n_peers ? s->peers[i].name : NULL;
        if (run.json) {
            printf("%s{\"what\": \"%s\", \"form\": \"%s\", \"kernel\": \"%s\", \"ms\": %.6f, "
                   "\"gops\": %.3f, \"of_peak\": %.4f",
                   run.n_rows++ ? ",\n" : "", s->what, qt_peak_names[s->peak], kernel,
                   1e3 * seconds[0], gops, top > 0 ? gops / top : 0);
            if (peer)
                printf(", \"peer\": \"%s\", \"peer_ms\": %.6f", peer, 1e3 * seconds[i + 1]);
            printf("}");
            continue;
        }
        printf("%-24s %-22s %9.3f ms %8.1f G/s", kernel, s->what, 1e3 * seconds[0], gops);
        if (top > 0)
            printf(" %5.1f %% of peak", 100 * gops / top);
        if (peer)
            printf("   %-8s %9.3f ms  ratio %.2f", peer, 1e3 * seconds[i + 1],
                   seconds[0] / seconds[i + 1]);
        printf("\n");
    }
}

// Times every row of the family in a domain on one call, in turns with the peers.
static void time_rows(const qrn_family *f, qrn_domain domain, qrn_kcall *k, const subject *s) {
    for (uint32_t i = 0; i < f->n_rows; i++) {
        const qrn_kernel *row = &f->rows[i];
        if (qrn_kernel_refusal(row, domain, k, qrn_cpu_isa()) || !wanted(row->name))
            continue;
        size_t bytes = row->scratch ? row->scratch(k) : 0;
        k->scratch = bytes ? qrn_alloc(bytes) : NULL;
        double best[1 + MAX_PEERS] = {1e9, 1e9, 1e9}, begin = now();
        for (int n = 0; n < 3 || (now() - begin < SECONDS && n < 1000); n++)
            for (unsigned p = 0; p <= s->n_peers; p++) {
                double t = now();
                if (p)
                    s->peers[p - 1].run(s->peers[p - 1].state);
                else
                    row->fn(k);
                t = now() - t;
                best[p] = t < best[p] ? t : best[p];
            }
        report(s, row->name, best);
        qrn_free(k->scratch);
        k->scratch = NULL;
    }
}

// The same layer with packed weights.
static void time_dense8(const qrn_dense_args *d, qrn_view *x, const qrn_view *w, qrn_view *y,
                        const subject *s) {
    uint32_t dims[4], channels = d->group * d->cols;
    qrn_dense8_args args = {.dense = *d, .w_offset = 0};
    if (!qrn_dense8_packed_shape(d, dims))
        return;
    qrn_view packed = make(4, dims, QRN_DTYPE_I8, NULL);
    qrn_view sums = make(1, &channels, QRN_DTYPE_F32, NULL);
    qrn_view scales = make(1, &channels, QRN_DTYPE_F32, NULL);
    qrn_dense8_pack(d, w->data, channels, 1, 0x80, packed.data);
    qrn_dense8_sums(d, w->data, channels, 1, 0x80, sums.data);
    for (uint32_t c = 0; c < channels; c++)
        ((float *)scales.data)[c] = w->quant->scale;
    qrn_view *in[] = {x, &packed, &sums, &scales};
    qrn_kcall k = {.args = &args, .in = in, .out = &y, .n_in = 4, .n_out = 1, .n_tasks = 1};
    time_rows(&qrn_family_dense8, QRN_DOMAIN_RAW, &k, s);
    qrn_free(packed.data);
    qrn_free(sums.data);
    qrn_free(scales.data);
}

static void time_layer(const layer *l) {
    uint32_t out = (l->size + 2 * (l->kernel / 2) - l->kernel) / l->stride + 1;
    uint32_t cin = l->cin / l->group, packed_dims[3];
    qrn_conv_args conv = {.n_spatial = 2,
                          .group = l->group,
                          .stride = {l->stride, l->stride},
                          .dilation = {1, 1},
                          .before = {l->kernel / 2, l->kernel / 2}};
    qrn_dense_args dense = {.conv = conv,
                            .kernel = {l->kernel, l->kernel},
                            .group = l->group,
                            .depth = l->kernel * l->kernel * cin,
                            .cols = l->cout / l->group};
    // No power or decimal fraction: as in real networks, hardly a result lies midway between codes.
    const qrn_quant q = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.0103f, .offset = -128};
    const qrn_quant out_q = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.0371f, .offset = -128};
    uint32_t x_dims[] = {1, l->size, l->size, l->cin}, y_dims[] = {1, out, out, l->cout};
    uint32_t w_dims[] = {l->kernel, l->kernel, cin, l->cout};
    if (!qrn_dense_packed_shape(&dense, packed_dims))
        return;
    qrn_view x = make(4, x_dims, QRN_DTYPE_F32, NULL), y = make(4, y_dims, QRN_DTYPE_F32, NULL);
    qrn_view w = make(4, w_dims, QRN_DTYPE_F32, NULL);
    qrn_view packed = make(3, packed_dims, QRN_DTYPE_F32, NULL);
    qrn_view xq = make(4, x_dims, QRN_DTYPE_UQ8, &q), yq = make(4, y_dims, QRN_DTYPE_UQ8, &out_q);
    qrn_view wq = make(4, w_dims, QRN_DTYPE_UQ8, &q);
    double products = (double)out * out * l->cout * dense.depth;
    subject floats = {.what = l->name, .products = products, .peak = QT_PEAK_F32};
    subject codes = {.what = l->name, .products = products, .peak = QT_PEAK_I8};
    qb_conv peer = {l->size, l->cin, l->kernel, l->stride, l->group, l->cout, out, false};
    add_conv_peers(&floats, &peer);
    peer.codes = true;
    add_conv_peers(&codes, &peer);
    qrn_view *in[] = {&x, &packed}, *outs[] = {&y};
    qrn_kcall k = {.args = &dense, .in = in, .out = outs, .n_in = 2, .n_out = 1, .n_tasks = 1};
    if (cin > 1 || l->group == 1)
        time_rows(&qrn_family_dense, QRN_DOMAIN_F32, &k, &floats);
    k.args = &conv;
    in[1] = &w;
    if (cin == 1)
        time_rows(&qrn_family_conv, QRN_DOMAIN_F32, &k, &floats);
    in[0] = &xq;
    in[1] = &wq;
    outs[0] = &yq;
    time_rows(&qrn_family_conv, QRN_DOMAIN_RAW, &k, &codes);
    if (cin > 1 || l->group == 1)
        time_dense8(&dense, &xq, &wq, &yq, &codes);
    free_peers(&floats);
    free_peers(&codes);
    qrn_view *all[] = {&x, &y, &w, &packed, &xq, &yq, &wq};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        qrn_free(all[i]->data);
}

static void time_matmul(uint32_t batch, uint32_t rows, uint32_t depth, uint32_t cols,
                        bool transposed) {
    char what[64];
    snprintf(what, sizeof what, "%ux%ux%ux%u%s", batch, rows, depth, cols, transposed ? " bT" : "");
    subject s = {
        .what = what, .products = (double)batch * rows * depth * cols, .peak = QT_PEAK_F32};
    add_product_peers(&s, &(qb_product){batch, rows, depth, cols, transposed});
    qrn_matmul_args args = {.transpose_b = transposed};
    qrn_view a = make(3, (uint32_t[]){batch, rows, depth}, QRN_DTYPE_F32, NULL);
    uint32_t b_dims[] = {batch, transposed ? cols : depth, transposed ? depth : cols};
    qrn_view b = make(3, b_dims, QRN_DTYPE_F32, NULL);
    qrn_view c = make(3, (uint32_t[]){batch, rows, cols}, QRN_DTYPE_F32, NULL);
    qrn_view *in[] = {&a, &b}, *outs[] = {&c};
    qrn_kcall k = {.args = &args, .in = in, .out = outs, .n_in = 2, .n_out = 1, .n_tasks = 1};
    time_rows(&qrn_family_matmul, QRN_DOMAIN_F32, &k, &s);
    free_peers(&s);
    qrn_free(a.data);
    qrn_free(b.data);
    qrn_free(c.data);
}

static void print_missing(void) {
    const char *comma = "";
    for (int i = 0; i < MAX_PEERS; i++) {
        if (!libraries[i]->missing)
            continue;
        if (run.json)
            printf("%s\"%s: %s\"", comma, libraries[i]->name, libraries[i]->missing);
        else
            printf("%s: %s\n", libraries[i]->name, libraries[i]->missing);
        comma = ", ";
    }
}

int main(int argc, char **argv) {
    run.json = argc > 1 && strcmp(argv[1], "--json") == 0;
    run.words = argv + 1 + run.json;
    run.n_words = argc - 1 - run.json;
    qt_peaks_measure(1, &run.peaks);
    char isa[128];
    if (run.json)
        printf("{\"rows\": [");
    else
        printf("CPU: %s; peaks of one core: f32 %.1f, int8 %.1f GOP/s\n",
               qrn_cpu_isa_text(qrn_cpu_isa(), isa, sizeof isa), run.peaks.gops[QT_PEAK_F32],
               run.peaks.gops[QT_PEAK_I8]);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        time_layer(&layers[i]);
    time_matmul(12, 128, 64, 128, true);
    time_matmul(12, 128, 128, 64, false);
    time_matmul(1, 1024, 1024, 1024, false);
    if (run.json)
        printf("],\n\"missing\": [");
    print_missing();
    if (run.json)
        printf("]}\n");
    return 0;
}
