// SPDX-License-Identifier: MIT
//
// Kernels against what limits them, one thread: single ops (one_op.h) next to the machine's peaks,
// measured in the same run, and to other people's libraries where they are installed, which take
// turns with ours. Times are minima.
//   bench_kernels [--json] [word ...]    only lines whose name contains one of the words
#include "base/cpu.h"
#include "one_op.h"
#include "peers.h"
#include "tools/quern/bench_peak.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECONDS 0.25 // for each line and its peers
#define MAX_PEERS 2

// What holds an op back at best.
typedef enum limit {
    BY_MACS, // arithmetic at its peak
    BY_L2,   // compulsory bytes at the speed of the second-level cache
    BY_DRAM, // compulsory bytes at the speed of memory
    BY_TAPS  // depthwise: L2, or three dot products of four bytes for each 16 results of a row
} limit;

typedef struct line {
    const char *what;
    qb_shape shape;
    limit by;
    double wanted; // share of the limit; 0: nothing promised
} line;

// clang-format off
static const line lines[] = {
    {"1x1 K=64, 28x28 to 256", {QB_CONV, QB_U8S8, 28, 64, 1, 1, 256}, BY_MACS, 0.78},
    {"1x1 K=128, 28x28 to 128", {QB_CONV, QB_U8S8, 28, 128, 1, 1, 128}, BY_MACS, 0.86},
    {"1x1 K=576, 14x14 to 160", {QB_CONV, QB_U8S8, 14, 576, 1, 1, 160}, BY_MACS, 0.94},
    {"1x1 K=64, 28x28 to 256", {QB_CONV, QB_U16S8, 28, 64, 1, 1, 256}, BY_MACS, 0},
    {"1x1 K=128, 28x28 to 128", {QB_CONV, QB_U16S8, 28, 128, 1, 1, 128}, BY_MACS, 0},
    {"1x1 K=576, 14x14 to 160", {QB_CONV, QB_U16S8, 14, 576, 1, 1, 160}, BY_MACS, 0},
    {"1x1 K=16, 56x56 to 96", {QB_CONV, QB_U8S8, 56, 16, 1, 1, 96}, BY_MACS, 0},
    {"3x3 K=576, 56x56 to 64", {QB_CONV, QB_U8S8, 56, 64, 3, 1, 64}, BY_MACS, 0},
    {"3x3/2 K=27, 224x224 to 32", {QB_CONV, QB_U8S8, 224, 3, 3, 2, 32}, BY_MACS, 0},
    {"7x7/2 K=147, 224x224 to 64", {QB_CONV, QB_U8S8, 224, 3, 7, 2, 64}, BY_MACS, 0},
    {"512 x 512 x 512, constant", {QB_DENSE, QB_F32, 512, 512, 0, 0, 512}, BY_MACS, 0.90},
    {"512 x 512 x 512, both given", {QB_MATMUL, QB_F32, 512, 512, 0, 0, 512}, BY_MACS, 0.90},
    {"1x1 K=64, 56x56 to 256", {QB_CONV, QB_F32, 56, 64, 1, 1, 256}, BY_MACS, 0},
    {"1x1 K=256, 28x28 to 128", {QB_CONV, QB_F32, 28, 256, 1, 1, 128}, BY_MACS, 0},
    {"1x1 K=1024, 14x14 to 256", {QB_CONV, QB_F32, 14, 1024, 1, 1, 256}, BY_MACS, 0},
    {"3x3 K=576, 56x56 to 64", {QB_CONV, QB_F32, 56, 64, 3, 1, 64}, BY_MACS, 0},
    {"7x7/2 K=147, 224x224 to 64", {QB_CONV, QB_F32, 224, 3, 7, 2, 64}, BY_MACS, 0},
    {"depthwise 3x3, 56x56x96", {QB_DEPTHWISE, QB_U8S8, 56, 96, 3, 1, 96}, BY_TAPS, 0.50},
    {"depthwise 3x3, 14x14x384", {QB_DEPTHWISE, QB_U8S8, 14, 384, 3, 1, 384}, BY_TAPS, 0.50},
    {"depthwise 3x3/2, 56x56x144", {QB_DEPTHWISE, QB_U8S8, 56, 144, 3, 2, 144}, BY_TAPS, 0.50},
    {"depthwise 3x3, 7x7x960", {QB_DEPTHWISE, QB_U8S8, 7, 960, 3, 1, 960}, BY_TAPS, 0},
    {"depthwise 5x5, 14x14x480", {QB_DEPTHWISE, QB_U8S8, 14, 480, 5, 1, 480}, BY_TAPS, 0},
    {"depthwise 5x5, 7x7x960", {QB_DEPTHWISE, QB_U8S8, 7, 960, 5, 1, 960}, BY_TAPS, 0},
    {"depthwise 5x5/2, 14x14x672", {QB_DEPTHWISE, QB_U8S8, 14, 672, 5, 2, 672}, BY_TAPS, 0},
    {"depthwise 3x3, 56x56x96", {QB_DEPTHWISE, QB_U16S8, 56, 96, 3, 1, 96}, BY_L2, 0},
    {"depthwise 3x3, 28x28x192", {QB_DEPTHWISE, QB_F32, 28, 192, 3, 1, 192}, BY_MACS, 0},
    {"1 x 8192 x 16384", {QB_DENSE, QB_U8S8, 1, 8192, 0, 0, 16384}, BY_DRAM, 0.75},
    {"1 x 16384 x 16384", {QB_DENSE, QB_U8S4, 1, 16384, 0, 0, 16384}, BY_DRAM, 0.75},
    {"1 x 4096 x 8192", {QB_DENSE, QB_F32, 1, 4096, 0, 0, 8192}, BY_DRAM, 0},
    {"add, 28x28x128", {QB_ADD, QB_U8S8, 28, 128, 0, 0, 0}, BY_L2, 0},
    {"add, 28x28x128", {QB_ADD, QB_U16S8, 28, 128, 0, 0, 0}, BY_L2, 0},
    {"multiply by a pixel, 28x28x240", {QB_MULTIPLY, QB_U8S8, 28, 240, 0, 0, 0}, BY_L2, 0},
    {"table of 256, 28x28x256", {QB_SIGMOID, QB_U8S8, 28, 256, 0, 0, 0}, BY_L2, 0},
    {"table of 65536, 28x28x128", {QB_SIGMOID, QB_U16S8, 28, 128, 0, 0, 0}, BY_L2, 0},
    {"add, 28x28x64", {QB_ADD, QB_F32, 28, 64, 0, 0, 0}, BY_L2, 0},
    {"sigmoid, 28x28x64", {QB_SIGMOID, QB_F32, 28, 64, 0, 0, 0}, BY_L2, 0},
};
// clang-format on

static const char *const limit_names[] = {"arithmetic", "L2", "DRAM", "L2 or arithmetic"};
static const qb_library *const libraries[MAX_PEERS] = {&qb_onednn, &qb_openblas};

static struct {
    bool json;
    char **words; // of the command line
    int n_words;
    qt_peaks peaks;
    unsigned n_rows; // reported so far
} run;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// 16-bit activations are two planes of bytes: twice the multiply-adds.
static double peak_gops(qb_form form) {
    return form == QB_F32     ? run.peaks.gops[QT_PEAK_F32]
           : form == QB_U16S8 ? run.peaks.gops[QT_PEAK_I8] / 2
                              : run.peaks.gops[QT_PEAK_I8];
}

// The least time the machine allows, in seconds; 0 when the peak is unknown.
static double least(const line *l) {
    const qb_shape *s = &l->shape;
    double gops = peak_gops(s->form), bytes = qb_bytes(s);
    double side = l->by == BY_TAPS ? qb_out_size(s) : 0;
    double groups = side * side * s->cout / 16 * s->kernel; // one dot product of 64 bytes for each
    double taps = gops > 0 ? groups * 128 / (1e9 * gops) : 0;
    double l2 = run.peaks.l2_gbs > 0 ? bytes / (1e9 * run.peaks.l2_gbs) : 0;
    switch (l->by) {
    case BY_MACS:
        return gops > 0 ? 2 * qb_macs(s) / (1e9 * gops) : 0;
    case BY_DRAM:
        return run.peaks.dram_gbs > 0 ? bytes / (1e9 * run.peaks.dram_gbs) : 0;
    case BY_TAPS:
        return taps > l2 ? taps : l2;
    default:
        return l2;
    }
}

static unsigned add_peers(const qb_shape *s, qb_peer *peers) {
    unsigned n = 0;
    qb_conv c = {.size = s->size, .cin = s->cin, .kernel = s->kernel, .stride = s->stride};
    qb_matmul p = {1, s->size, s->cin, s->cout, false};
    bool conv = s->op == QB_CONV || s->op == QB_DEPTHWISE;
    if ((s->form != QB_F32 && s->form != QB_U8S8) || s->size == 1)
        return 0;
    c.group = s->op == QB_DEPTHWISE ? s->cin : 1;
    c.cout = s->cout;
    c.out = conv ? qb_out_size(s) : 0;
    c.quantized = s->form == QB_U8S8;
    for (int i = 0; i < MAX_PEERS; i++) {
        if (conv && libraries[i]->conv)
            n += libraries[i]->conv(&c, &peers[n]);
        else if ((s->op == QB_DENSE || s->op == QB_MATMUL) && !c.quantized && libraries[i]->matmul)
            n += libraries[i]->matmul(&p, &peers[n]);
    }
    return n;
}

// One line for each peer, or one without; seconds[0] is ours.
static void report(const line *l, const char *kernels, const double *seconds, const qb_peer *peers,
                   unsigned n_peers) {
    const qb_shape *s = &l->shape;
    double macs = qb_macs(s), share = least(l) / seconds[0];
    bool moves = l->by == BY_L2 || l->by == BY_DRAM;
    double rate = 1e-9 * (moves ? qb_bytes(s) : 2 * macs) / seconds[0];
    const char *unit = moves ? "GB/s" : "GOPS";
    for (unsigned i = 0; i < n_peers || i == 0; i++) {
        if (run.json) {
            printf("%s{\"what\": \"%s\", \"form\": \"%s\", \"kernel\": \"%s\", \"ms\": %.6f, "
                   "\"rate\": %.3f, \"unit\": \"%s\", \"limit\": \"%s\", \"of_limit\": %.4f",
                   run.n_rows++ ? ",\n" : "", l->what, qb_form_names[s->form], kernels,
                   1e3 * seconds[0], rate, unit, limit_names[l->by], share);
            if (l->wanted > 0)
                printf(", \"wanted\": %.2f", l->wanted);
            if (n_peers)
                printf(", \"peer\": \"%s\", \"peer_ms\": %.6f", peers[i].name,
                       1e3 * seconds[i + 1]);
            printf("}");
            continue;
        }
        printf("%-5s %-30s %9.4f ms %7.1f %s %5.1f %% of %s", qb_form_names[s->form], l->what,
               1e3 * seconds[0], rate, unit, 100 * share, limit_names[l->by]);
        if (l->wanted > 0)
            printf(" (wanted %.0f%s)", 100 * l->wanted, share < l->wanted ? ", MISSED" : "");
        if (n_peers)
            printf("  %s %.4f ms, ratio %.2f", peers[i].name, 1e3 * seconds[i + 1],
                   seconds[0] / seconds[i + 1]);
        printf("  %s\n", kernels);
    }
}

static void measure(const line *l) {
    const char *why;
    qb_peer peers[MAX_PEERS];
    qb_graph *g = qb_graph_make(&l->shape, &why);
    if (!g) {
        fprintf(stderr, "bench_kernels: %s %s: %s\n", qb_form_names[l->shape.form], l->what, why);
        return;
    }
    unsigned n_peers = add_peers(&l->shape, peers);
    double best[1 + MAX_PEERS] = {1e9, 1e9, 1e9}, begin = now();
    for (int n = 0; n < 5 || (now() - begin < SECONDS && n < 20000); n++)
        for (unsigned p = 0; p <= n_peers; p++)
            for (int again = 0; again < 2; again++) { // the first one brings back its caches
                double t = now();
                if (p)
                    peers[p - 1].run(peers[p - 1].state);
                else
                    qb_graph_run(g);
                t = now() - t;
                best[p] = t < best[p] ? t : best[p];
            }
    report(l, qb_graph_kernels(g), best, peers, n_peers);
    for (unsigned p = 0; p < n_peers; p++)
        peers[p].free(peers[p].state);
    qb_graph_free(g);
}

static bool wanted(const line *l) {
    for (int i = 0; i < run.n_words; i++)
        if (strstr(l->what, run.words[i]) || strstr(qb_form_names[l->shape.form], run.words[i]))
            return true;
    return run.n_words == 0;
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
        printf("CPU: %s; peaks of one core: f32 %.1f, int8 %.1f GOPS, L2 %.1f, DRAM %.1f GB/s\n",
               qrn_cpu_isa_text(qrn_cpu_isa(), isa, sizeof isa), run.peaks.gops[QT_PEAK_F32],
               run.peaks.gops[QT_PEAK_I8], run.peaks.l2_gbs, run.peaks.dram_gbs);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (wanted(&lines[i]))
            measure(&lines[i]);
    if (run.json)
        printf("],\n\"missing\": [");
    print_missing();
    if (run.json)
        printf("]}\n");
    return 0;
}
