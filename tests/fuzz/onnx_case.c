// SPDX-License-Identifier: MIT
//
// Writing cases: NUMBER.onnx, and NUMBER.res with records of a line (kind, name, ONNX type, bits of
// an element as it lies here or 0, bytes, dimensions) and that many bytes.
#include "onnx_case.h"

#include "onnx_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static unsigned number;
static FILE *file;

static FILE *open_file(const char *ending) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%06u.%s", folder, number, ending);
    FILE *f = fopen(path, "wb");
    if (!f)
        abort();
    return f;
}

static void record(const char *kind, const ox_port *p, unsigned bits, const void *data, size_t size,
                   uint32_t rows) {
    fprintf(file, "%s %s %d %u %zu", kind, p->name, p->type, bits, size);
    for (uint32_t i = 0; i < p->rank; i++)
        fprintf(file, " %u", i == 0 && rows < p->dims[0] ? rows : p->dims[i]);
    fputc('\n', file);
    fwrite(data, 1, size, file);
}

static uint32_t index_of(qc_tensor *const *list, uint32_t n, const qc_tensor *t) {
    uint32_t i = 0;
    while (i < n && list[i] != t)
        i++;
    return i;
}

static void hear(void *ctx, const ox_model *m, const ox_result *r, void *const *in,
                 void *const *out, const uint32_t *rows) {
    (void)ctx;
    (void)m;
    const qc_graph *g = r->graph;
    for (uint32_t i = 0; i < r->n_inputs; i++) {
        const ox_port *p = &r->inputs[i];
        uint32_t k = p->tensor ? index_of(g->inputs, g->n_inputs, p->tensor) : g->n_inputs;
        if (k < g->n_inputs)
            record("in", p, qc_dtype_bits(p->tensor->t.v1.dataType), in[k],
                   qc_tensor_bytes(p->tensor), UINT32_MAX);
    }
    for (uint32_t i = 0; i < r->n_outputs; i++) {
        const ox_port *p = &r->outputs[i];
        uint32_t k = p->tensor ? index_of(g->outputs, g->n_outputs, p->tensor) : g->n_outputs;
        if (p->data)
            record("out", p, 0, p->data, p->bytes, UINT32_MAX);
        else if (k < g->n_outputs && p->rank && rows[k] < p->dims[0])
            record("out", p, qc_dtype_bits(p->tensor->t.v1.dataType), out[k],
                   qc_tensor_bytes(p->tensor) / p->dims[0] * rows[k], rows[k]);
        else if (k < g->n_outputs)
            record("out", p, qc_dtype_bits(p->tensor->t.v1.dataType), out[k],
                   qc_tensor_bytes(p->tensor), UINT32_MAX);
    }
}

bool onnx_case_begin(void) {
    folder = getenv("QUERN_FUZZ_WRITE");
    if (folder)
        onnx_exec_listen(hear, NULL);
    return folder != NULL;
}

void onnx_case_run(const uint8_t *data, size_t size, uint64_t choice) {
    static const char *const words[] = {"unread", "rejected", "constant",
                                        "large",  "failed",   "executed"};
    FILE *model = open_file("onnx");
    fwrite(data, 1, size, model);
    fclose(model);
    file = open_file("res");
    exec_result r = onnx_exec_run(data, size, choice);
    fprintf(file, "result %s 0 0 %zu\n%s", words[r], strlen(qrn_message()), qrn_message());
    fclose(file);
    number++;
}
