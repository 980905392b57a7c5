// SPDX-License-Identifier: MIT
#include "tools/throughput/compare.h"

#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int failed(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

int tp_compare_open(const char *post, const char *path, const qc_graph *g, uint64_t n_lines,
                    tp_compare *out) {
    static const char *const words[] = {"NONE", "MSE", "MSE_FLOAT32", "MSE_INT8", "MSE_INT16"};
    size_t i = 0;
    *out = (tp_compare){.n_lines = n_lines, .n_outputs = g->n_outputs};
    while (post && i < 5 && strcmp(words[i], post) != 0)
        i++;
    if (i == 5) {
        qt_error("postProcessor '%s': expected NONE, MSE, MSE_FLOAT32, MSE_INT8 or MSE_INT16",
                 post);
        return QT_EXIT_INPUT;
    }
    out->post = post ? (tp_post)i : TP_POST_NONE;
    unsigned bits = out->post == TP_POST_INT8 ? 8 : out->post == TP_POST_INT16 ? 16 : 0;
    for (uint32_t k = 0; bits && k < g->n_outputs; k++)
        if (qc_dtype_bits(g->outputs[k]->t.v1.dataType) != bits) {
            qt_error("postProcessor '%s': output '%s' of graph '%s' has %u bits", post,
                     g->outputs[k]->t.v1.name, g->name,
                     qc_dtype_bits(g->outputs[k]->t.v1.dataType));
            return QT_EXIT_INPUT;
        }
    if (out->post == TP_POST_NONE || !path || strcmp(path, "NONE") == 0)
        return QT_EXIT_OK;
    return qs_list_open(path, g->outputs, g->n_outputs, &out->truth);
}

void tp_compare_close(tp_compare *c) {
    for (uint64_t i = 0; c->first && i < c->n_lines * c->n_outputs; i++)
        free(c->first[i]);
    free(c->first);
    qs_list_close(&c->truth);
    *c = (tp_compare){0};
}

// The expected values of an output, from malloc.
static int read_truth(const tp_compare *c, const qs_shape *s, uint32_t output, uint64_t line,
                      float **out) {
    const qs_list *l = &c->truth;
    const char *path = l->in.sources[(line % l->in.n_sets) * l->in.n_ports + output].path;
    float *values = malloc(s->count * sizeof *values + 1);
    void *elements = malloc(s->bytes + 1);
    int code = values && elements ? QT_EXIT_OK : no_memory();
    if (code == QT_EXIT_OK &&
        (qs_raw_load(s, c->post != TP_POST_FLOAT32, &path, 1, elements) != QRN_OK ||
         qs_raw_floats(s, elements, values) != QRN_OK))
        code = failed();
    free(elements);
    if (code == QT_EXIT_OK)
        *out = values;
    else
        free(values);
    return code;
}

static void add(tp_compare *c, const float *got, const float *want, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double e = (double)got[i] - (double)want[i];
        c->sum += e * e;
    }
    c->count += (double)n;
}

static int add_output(tp_compare *c, const qs_set *s, uint32_t i, uint64_t line) {
    const qs_shape *shape = &s->shapes[s->n_in + i];
    float *got = malloc(shape->count * sizeof *got + 1), *want = NULL;
    if (!got)
        return no_memory();
    int code = QT_EXIT_OK;
    if (qs_raw_floats(shape, s->buffers[s->n_in + i], got) != QRN_OK)
        code = failed();
    if (code == QT_EXIT_OK && c->truth.infos)
        code = read_truth(c, shape, i, line, &want);
    float **first = &c->first[line * c->n_outputs + i];
    if (code == QT_EXIT_OK && !c->truth.infos && !*first) {
        *first = got; // the reference of all others
        got = NULL;
    } else if (code == QT_EXIT_OK) {
        add(c, got, want ? want : *first, shape->count);
    }
    free(got);
    free(want);
    return code;
}

int tp_compare_add(tp_compare *c, const qs_set *s, uint64_t line) {
    if (c->post == TP_POST_NONE)
        return QT_EXIT_OK;
    if (!c->first && !(c->first = calloc(c->n_lines * s->n_out + 1, sizeof *c->first)))
        return no_memory();
    int code = QT_EXIT_OK;
    line %= c->n_lines;
    for (uint32_t i = 0; i < s->n_out && code == QT_EXIT_OK; i++)
        code = add_output(c, s, i, line);
    return code;
}

double tp_compare_mse(const tp_compare *c) { return c->count > 0 ? c->sum / c->count : 0; }
