// SPDX-License-Identifier: MIT
//
// One op of one_op.h, run so many times: scripts/count_arm.py counts the instructions of two such
// runs in an emulator, and their difference is what a call costs. Prints the kernels and the
// multiply-adds or, where there are none, the results of a call.
//   count_op OP FORM SIZE CIN KERNEL STRIDE COUT TIMES
#include "one_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {"conv", "depthwise", "dense", "matmul", "add", "mul", "sigmoid"};
#define N_OPS (sizeof ops / sizeof *ops)

static uint32_t index_of(const char *word, const char *const *words, uint32_t n) {
    uint32_t i = 0;
    while (i < n && strcmp(word, words[i]) != 0)
        i++;
    return i;
}

int main(int argc, char **argv) {
    uint32_t number[8] = {0};
    if (argc != 9) {
        fprintf(stderr, "usage: count_op OP FORM SIZE CIN KERNEL STRIDE COUT TIMES\n");
        return 2;
    }
    uint32_t op = index_of(argv[1], ops, N_OPS),
             form = index_of(argv[2], qb_form_names, QB_N_FORMS);
    for (int i = 0; i < 6; i++)
        number[i] = (uint32_t)strtoul(argv[3 + i], NULL, 10);
    if (op == N_OPS || form == QB_N_FORMS || number[0] == 0 || number[1] == 0) {
        fprintf(stderr, "count_op: no such op, form or size\n");
        return 2;
    }
    qb_shape s = {(qb_op)op, (qb_form)form, number[0], number[1], number[2], number[3], number[4]};
    const char *why = "";
    qb_graph *g = qb_graph_make(&s, &why);
    if (!g) {
        fprintf(stderr, "count_op: %s\n", why);
        return 1;
    }
    for (uint32_t i = 0; i < number[5]; i++)
        qb_graph_run(g);
    double work = qb_macs(&s);
    printf("%s %.0f\n", qb_graph_kernels(g), work > 0 ? work : (double)s.size * s.size * s.cin);
    qb_graph_free(g);
    return 0;
}
