// SPDX-License-Identifier: MIT
//
// Dividing products among tasks: parts cover everything once, and those of the benchmarks' networks
// are of about equal size on 16 threads.
#include "kernels/gemm/winograd/winograd_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 16
#define MOST 96

static void parts_cover_everything_once(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 7, 12, 13, 49, 95};
    const size_t n = sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < n * n; i++)
        for (uint32_t n_tasks = 1; n_tasks <= 33; n_tasks++) {
            qrn_grid_work w = {sizes[i / n], sizes[i % n], 1, 16, i % 3 == 0};
            uint8_t seen[MOST][MOST] = {{0}};
            for (uint32_t t = 0; t < n_tasks; t++) {
                qrn_grid_part p = qrn_grid_part_of(&w, t, n_tasks);
                assert_true(p.r1 <= w.rows && p.c1 <= w.cols);
                for (size_t r = p.r0; r < p.r1; r++)
                    for (size_t c = p.c0; c < p.c1; c++)
                        seen[r][c]++;
            }
            for (size_t r = 0; r < MOST; r++)
                for (size_t c = 0; c < MOST; c++)
                    assert_int_equal(seen[r][c], r < w.rows && c < w.cols);
        }
}

// A convolution of `times` layers, or with k 0 a product of `side` rows.
typedef struct layer {
    const char *net;
    uint32_t times, side, cin, cout, k, stride;
} layer;

static const layer layers[] = {
    {"resnet50", 1, 112, 3, 64, 7, 2},          {"resnet50", 3, 56, 64, 64, 3, 1},
    {"resnet50", 4, 56, 64, 256, 1, 1},         {"resnet50", 2, 56, 256, 64, 1, 1},
    {"resnet50", 1, 56, 256, 128, 1, 1},        {"resnet50", 1, 28, 128, 128, 3, 2},
    {"resnet50", 3, 28, 128, 128, 3, 1},        {"resnet50", 4, 28, 128, 512, 1, 1},
    {"resnet50", 3, 28, 512, 128, 1, 1},        {"resnet50", 1, 28, 256, 512, 1, 2},
    {"resnet50", 1, 14, 256, 256, 3, 2},        {"resnet50", 5, 14, 256, 256, 3, 1},
    {"resnet50", 6, 14, 256, 1024, 1, 1},       {"resnet50", 5, 14, 1024, 256, 1, 1},
    {"resnet50", 1, 14, 512, 1024, 1, 2},       {"resnet50", 3, 7, 512, 512, 3, 2},
    {"resnet50", 3, 7, 512, 2048, 1, 1},        {"resnet50", 2, 7, 2048, 512, 1, 1},
    {"resnet50", 1, 7, 1024, 2048, 1, 2},       {"mobilenet_v2", 1, 112, 32, 16, 1, 1},
    {"mobilenet_v2", 1, 112, 16, 96, 1, 1},     {"mobilenet_v2", 2, 56, 144, 24, 1, 1},
    {"mobilenet_v2", 2, 56, 24, 144, 1, 1},     {"mobilenet_v2", 3, 28, 192, 32, 1, 1},
    {"mobilenet_v2", 3, 28, 32, 192, 1, 1},     {"mobilenet_v2", 4, 14, 384, 64, 1, 1},
    {"mobilenet_v2", 4, 14, 64, 384, 1, 1},     {"mobilenet_v2", 3, 14, 576, 96, 1, 1},
    {"mobilenet_v2", 3, 14, 96, 576, 1, 1},     {"mobilenet_v2", 3, 7, 960, 160, 1, 1},
    {"mobilenet_v2", 3, 7, 160, 960, 1, 1},     {"mobilenet_v2", 1, 7, 960, 320, 1, 1},
    {"mobilenet_v2", 1, 7, 320, 1280, 1, 1},    {"mobilenet_v3", 1, 56, 64, 24, 1, 1},
    {"mobilenet_v3", 1, 56, 24, 72, 1, 1},      {"mobilenet_v3", 3, 28, 120, 40, 1, 1},
    {"mobilenet_v3", 3, 28, 40, 120, 1, 1},     {"mobilenet_v3", 4, 14, 200, 80, 1, 1},
    {"mobilenet_v3", 4, 14, 80, 200, 1, 1},     {"mobilenet_v3", 2, 14, 672, 112, 1, 1},
    {"mobilenet_v3", 2, 14, 112, 672, 1, 1},    {"mobilenet_v3", 3, 7, 960, 160, 1, 1},
    {"mobilenet_v3", 3, 7, 160, 960, 1, 1},     {"efficientnet_b0", 1, 112, 16, 96, 1, 1},
    {"efficientnet_b0", 2, 56, 144, 24, 1, 1},  {"efficientnet_b0", 2, 56, 24, 144, 1, 1},
    {"efficientnet_b0", 2, 28, 240, 40, 1, 1},  {"efficientnet_b0", 2, 28, 40, 240, 1, 1},
    {"efficientnet_b0", 3, 14, 480, 80, 1, 1},  {"efficientnet_b0", 3, 14, 80, 480, 1, 1},
    {"efficientnet_b0", 3, 14, 672, 112, 1, 1}, {"efficientnet_b0", 3, 14, 112, 672, 1, 1},
    {"efficientnet_b0", 4, 7, 1152, 192, 1, 1}, {"efficientnet_b0", 4, 7, 192, 1152, 1, 1},
    {"efficientnet_b0", 1, 7, 1152, 320, 1, 1}, {"efficientnet_b0", 1, 7, 320, 1280, 1, 1},
    {"inception_v3", 1, 147, 32, 32, 3, 1},     {"inception_v3", 1, 147, 32, 64, 3, 1},
    {"inception_v3", 1, 73, 64, 80, 1, 1},      {"inception_v3", 1, 71, 80, 192, 3, 1},
    {"inception_v3", 3, 35, 96, 96, 3, 1},      {"inception_v3", 3, 35, 288, 64, 1, 1},
    {"inception_v3", 1, 17, 288, 384, 3, 2},    {"inception_v3", 12, 17, 768, 192, 1, 1},
    {"inception_v3", 2, 8, 448, 384, 3, 1},     {"inception_v3", 2, 8, 2048, 320, 1, 1},
    {"inception_v3", 2, 8, 2048, 384, 1, 1},    {"bert_base", 48, 128, 768, 768, 0, 1},
    {"bert_base", 12, 128, 768, 3072, 0, 1},    {"bert_base", 12, 128, 3072, 768, 0, 1},
    {"vit_b_16", 48, 197, 768, 768, 0, 1},      {"vit_b_16", 12, 197, 768, 3072, 0, 1},
    {"vit_b_16", 12, 197, 3072, 768, 0, 1},
};
#define N_LAYERS (sizeof layers / sizeof layers[0])

// Work of the largest part, of rows (or tiles) times panels; *n_tasks: those that share it.
static double largest(const layer *l, double *all, uint32_t *n_tasks) {
    size_t most = 0, rows = l->k ? (size_t)l->side * l->side : l->side;
    uint32_t out = l->side, in = l->side * l->stride;
    qrn_view x = {.rank = 4, .dims = {1, in, in, l->cin}};
    qrn_view y = {.rank = 4, .dims = {1, out, out, l->cout}};
    qrn_view *xs[] = {&x}, *ys[] = {&y};
    qrn_dense_args a = {.rows = !l->k, .group = 1, .depth = l->cin, .cols = l->cout};
    uint32_t before = l->k / 2;
    if (l->k)
        a.conv = (qrn_conv_args){.n_spatial = 2,
                                 .stride = {l->stride, l->stride},
                                 .dilation = {1, 1},
                                 .before = {before, before},
                                 .group = 1};
    a.kernel[0] = a.kernel[1] = l->k;
    a.depth *= l->k ? l->k * l->k : 1;
    if (!l->k) {
        x = (qrn_view){.rank = 2, .dims = {l->side, l->cin}};
        y = (qrn_view){.rank = 2, .dims = {l->side, l->cout}};
    }
    qrn_dense_plan p = qrn_dense_plan_of(&a, &x, &y);
    bool winograd = l->k == 3 && l->stride == 1 && l->side >= 13;
    qrn_winograd_grid w = {0};
    *n_tasks = qrn_dense_tasks(&p, THREADS);
    if (winograd) {
        w = qrn_winograd_grid_of(&p.geo, 4, 180 * 1024, 36 * (l->cin + QRN_PANEL));
        *n_tasks = qrn_winograd_tasks_of(&w, &p.geo, THREADS);
        rows = w.all;
    }
    for (uint32_t t = 0; t < *n_tasks; t++) {
        qrn_kcall k = {.in = xs, .out = ys, .n_in = 1, .n_out = 1, .task = t, .n_tasks = *n_tasks};
        qrn_dense_part d = qrn_dense_part_of(&p, t, *n_tasks);
        qrn_grid_part g = {d.r0, d.r1, d.u0, d.u1};
        if (winograd)
            g = qrn_winograd_part_of(&w, &k, qrn_panels(l->cout));
        size_t work = (g.r1 - g.r0) * (g.c1 - g.c0);
        most = work > most ? work : most;
    }
    *all = (double)rows * (double)qrn_panels(l->cout);
    return (double)most;
}

// Of each network, what 16 threads do while the busiest one works.
static void networks_are_divided_evenly(void **state) {
    (void)state;
    double work = 0, spent = 0;
    for (size_t i = 0; i < N_LAYERS; i++) {
        const layer *l = &layers[i];
        double all, products = (double)l->times * l->cin * (l->k ? l->k * l->k : 1);
        uint32_t n_tasks;
        double most = largest(l, &all, &n_tasks), balance = all / n_tasks / most;
        if (balance < 0.75)
            fail_msg("%s %u %u>%u: %.2f of %u tasks", l->net, l->side, l->cin, l->cout, balance,
                     n_tasks);
        work += all * products;
        spent += most * n_tasks * products;
        if (i + 1 < N_LAYERS && strcmp(l->net, l[1].net) == 0)
            continue;
        printf("%s: %.3f\n", l->net, work / spent);
        assert_true(work / spent >= 0.9);
        work = spent = 0;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_cover_everything_once),
        cmocka_unit_test(networks_are_divided_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
