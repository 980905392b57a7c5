// SPDX-License-Identifier: MIT
//
// Running a quantized model on the modelled HTP beside its float original on the CPU.
#include "tools/quern/quantize_check.h"

#include "tools/quern/estimate.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SAMPLES 2
#define MOST_LINES 8

typedef struct checked {
    qt_compared *outputs; // NULL: not compared
    uint32_t n_outputs;
} checked;

int qt_quantized_parts(const char *path, const char *soc,
                       void (*refused)(void *ctx, const char *node), void *ctx, uint32_t *n_parts) {
    const qt_backend_options htp = {.backend = "htp", .soc = soc};
    ox_options import = {0};
    ox_plan plan;
    ox_model *m = NULL;
    qc_client *client = NULL;
    qt_import_flags(&htp, &import);
    int code = qt_open_model(path, &m);
    if (code == QT_EXIT_OK)
        code = qt_open_backend(&htp, NULL, &client);
    if (code == QT_EXIT_OK && qt_plan_make(m, client, &import, &plan) != QRN_OK)
        code = qt_failed(path, QT_EXIT_REFUSED);
    for (uint32_t i = 0; code == QT_EXIT_OK && i < m->graph->n_nodes; i++)
        if (ox_plan_reason(m->graph, &plan, i))
            refused(ctx, m->graph->nodes[i].name);
    if (code == QT_EXIT_OK)
        *n_parts = plan.n_groups;
    qc_close(client);
    ox_model_close(m);
    return code;
}

static int run_session(qt_session *s, const qt_array *arrays) {
    if (qt_session_set_inputs(s, arrays) == QRN_OK && qt_session_execute(s) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_FAILURE;
}

static int compare_outputs(const qt_session *a, const qt_session *b, checked *c) {
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        qt_array got = {0}, want = {0};
        qrn_status s = qt_session_output(b, i, &want);
        if (s == QRN_OK) // states are quantized values in one model and floats in the other
            s = qt_session_output_as(a, i, want.type, &got);
        c->outputs[i].name = a->model.outputs[i].name;
        if (s == QRN_OK && got.count == want.count)
            qt_compare(&c->outputs[i].c, &got, &want);
        qt_array_free(&got);
        qt_array_free(&want);
        if (s != QRN_OK) {
            qt_error("%s", qrn_message());
            return QT_EXIT_FAILURE;
        }
    }
    return QT_EXIT_OK;
}

static int compare(const qt_quantized *q, const ox_model *m, checked *c) {
    const qt_backend_options cpu = {.backend = "cpu", .threads = q->threads};
    const qt_backend_options htp = {.backend = "htp", .soc = q->soc, .threads = q->threads};
    const ox_options import = {0};
    const qt_inputs *in = &q->samples->in;
    qt_session a = {0}, b = {0};
    qt_array *arrays = calloc(in->n_ports + 1, sizeof *arrays);
    int code = arrays ? QT_EXIT_OK : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = qt_session_open(q->path, m, &htp, &import, &a);
    if (code == QT_EXIT_OK)
        code = qt_session_open(q->path, q->model, &cpu, &import, &b);
    if (code == QT_EXIT_OK) {
        c->n_outputs = a.model.n_outputs;
        c->outputs = calloc(c->n_outputs + 1, sizeof *c->outputs);
        code = c->outputs ? QT_EXIT_OK : QT_EXIT_FAILURE;
    }
    for (size_t k = 0; k < in->n_sets && k < MOST_SAMPLES && code == QT_EXIT_OK; k++) {
        if (qt_inputs_load(in, k, arrays) != QRN_OK)
            code = qt_failed(q->path, QT_EXIT_INPUT);
        if (code == QT_EXIT_OK)
            code = run_session(&a, arrays);
        if (code == QT_EXIT_OK)
            code = run_session(&b, arrays);
        if (code == QT_EXIT_OK)
            code = compare_outputs(&a, &b, c);
        for (uint32_t i = 0; i < in->n_ports; i++)
            qt_array_free(&arrays[i]);
    }
    for (uint32_t i = 0; c->outputs && i < c->n_outputs; i++) // names go with the session
        c->outputs[i].name = q->model->graph->outputs[i].name;
    qt_session_close(&a);
    qt_session_close(&b);
    free(arrays);
    return code;
}

static void print_text(const qt_quantized *q, const checked *c) {
    char size[32];
    qt_print("%s%s%s  %u tensors quantized, %u stay float, constants %s\n", qt_style_on(QT_BOLD),
             q->shown, qt_style_off(), q->written->n_quantized, q->written->n_float,
             qt_bytes_text((double)q->written->weight_bytes, size, sizeof size));
    if (!q->n_parts && !q->n_refused)
        return;
    qt_print("  %u partition%s on the HTP of %s", q->n_parts, q->n_parts == 1 ? "" : "s", q->soc);
    if (q->n_refused)
        qt_print(", %u nodes rejected ('quern check --rejected' says why)", q->n_refused);
    qt_print("\n");
    for (uint32_t i = 0; c->outputs && i < c->n_outputs && i < MOST_LINES; i++)
        qt_print("  output %-24s SQNR %.1f dB, cosine %.6f\n", c->outputs[i].name,
                 qt_sqnr_db(&c->outputs[i].c), qt_cosine(&c->outputs[i].c));
    if (c->outputs && c->n_outputs > MOST_LINES)
        qt_print("  and %u more outputs\n", c->n_outputs - MOST_LINES);
}

static json_t *as_json(const qt_quantized *q, const checked *c) {
    json_t *outputs = json_array();
    for (uint32_t i = 0; c->outputs && i < c->n_outputs; i++)
        json_array_append_new(outputs,
                              json_pack("{s:o,s:o,s:o}", "name", qt_json_text(c->outputs[i].name),
                                        "sqnr_db", qt_json_number(qt_sqnr_db(&c->outputs[i].c)),
                                        "cosine", qt_json_number(qt_cosine(&c->outputs[i].c))));
    return json_pack("{s:o,s:I,s:I,s:I,s:o,s:I,s:o}", "model", qt_json_text(q->shown), "quantized",
                     (json_int_t)q->written->n_quantized, "float", (json_int_t)q->written->n_float,
                     "constant_bytes", (json_int_t)q->written->weight_bytes, "partitions",
                     q->check ? json_integer((json_int_t)q->n_parts) : json_null(), "refused",
                     (json_int_t)q->n_refused, "outputs", outputs);
}

static void add_json(json_t *list, const qt_quantized *q, const checked *c) {
    json_t *row = as_json(q, c);
    if (q->method)
        json_object_set_new(row, "method", json_string(q->method));
    json_array_append_new(list, row);
}

int qt_quantized_report(const qt_quantized *q, json_t *list) {
    checked c = {0};
    ox_model *m = NULL;
    bool comparable = q->check && q->samples && !q->n_refused;
    int code = comparable ? qt_open_model(q->path, &m) : QT_EXIT_OK;
    if (code == QT_EXIT_OK && comparable)
        code = compare(q, m, &c);
    if (code == QT_EXIT_OK && list)
        add_json(list, q, &c);
    else if (code == QT_EXIT_OK)
        print_text(q, &c);
    free(c.outputs);
    ox_model_close(m);
    return code;
}
