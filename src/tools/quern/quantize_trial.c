// SPDX-License-Identifier: MIT
//
// One choice of precisions, tried: the model is written to memory, estimated for the target SoC,
// and run on the HTP beside the float model's results.
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/quantize_mixed.h"
#include "tools/quern/session.h"
#include "tools/quern/report.h"

#include "quantizer/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int build(const qt_mixed *x, const uint8_t *choice, ox_writer *bytes, ox_model **m) {
    const qt_mixed_task *t = x->task;
    qz_written written;
    qt_mixed_apply(x, choice);
    if (qz_plan_encodings(t->graph, t->scheme) == QRN_OK &&
        qz_write(t->graph, t->scheme, NULL, bytes, NULL, &written) == QRN_OK &&
        (!m || ox_model_parse(bytes->data, bytes->n, t->path, m) == QRN_OK))
        return QT_EXIT_OK;
    return qt_failed(x->task->path, QT_EXIT_FAILURE);
}

// Each step counts in the precision of its own result.
static double time_ms(const qt_mixed *x, const qt_network *net) {
    const qd_chip *chip = x->at.chip;
    qd_time sum = {0};
    for (uint32_t i = 0; i < net->steps.n; i++) {
        const qd_step *s = &net->steps.list[i];
        uint32_t bits = s->op->n_out ? net->graph.values[s->op->out[0]].active_bits : 0;
        qd_precision p = bits == 16 ? QD_W8A16 : bits == 8 ? QD_W8A8 : QD_FP16;
        qd_time t = qd_time_of(s, chip, p, NULL);
        sum.matrix += t.matrix;
        sum.vector += t.vector;
        sum.overhead += t.overhead;
        sum.memory += t.memory;
    }
    qd_precision most = qd_precision_of(&net->graph, &net->steps);
    return qd_total(qd_start_us(chip, most, NULL), qd_core(&sum), sum.memory) / 1e3;
}

static int find_time(const qt_mixed *x, const ox_model *m, double *ms) {
    qt_network net = {0};
    if (qt_network_of(m, &x->at, false, &net) != QRN_OK)
        return qt_failed(x->task->path, QT_EXIT_REFUSED);
    *ms = net.n_refused || net.n_parts > 1 ? INFINITY : time_ms(x, &net);
    qt_network_close(&net);
    return QT_EXIT_OK;
}

// One sample: adds the relative power of the error of each output.
static qrn_status run_sample(const qt_mixed *x, qt_session *s, uint32_t k, double *noise) {
    uint32_t n_in = x->task->samples->in.n_ports;
    QRN_TRY(qt_session_set_inputs(s, x->inputs + (size_t)k * n_in));
    QRN_TRY(qt_session_execute(s));
    for (uint32_t i = 0; i < x->n_outputs; i++) {
        const qt_array *want = &x->wanted[(size_t)k * x->n_outputs + i];
        qt_array got = {0};
        qt_comparison c = {0};
        QRN_TRY(qt_session_output_as(s, i, want->type, &got));
        if (got.count == want->count)
            qt_compare(&c, &got, want);
        qt_array_free(&got);
        *noise += c.n_mismatch ? INFINITY : c.signal > 0 ? c.error / c.signal : c.error;
    }
    return QRN_OK;
}

int qt_mixed_noise(const qt_mixed *x, const ox_model *m, double *noise) {
    const qt_backend_options htp = {
        .backend = "htp", .soc = x->task->soc, .threads = x->task->threads, .silent = true};
    const ox_options import = {0};
    qt_session s = {0};
    int code = qt_session_open(x->task->path, m, &htp, &import, &s);
    *noise = 0;
    for (uint32_t k = 0; k < x->n_samples && code == QT_EXIT_OK; k++)
        if (run_sample(x, &s, k, noise) != QRN_OK)
            code = qt_failed(x->task->path, QT_EXIT_FAILURE);
    *noise /= (double)x->n_samples * x->n_outputs;
    qt_session_close(&s);
    return code;
}

int qt_mixed_try(const qt_mixed *x, const uint8_t *choice, double *ms, double *noise) {
    ox_writer bytes = {0};
    ox_model *m = NULL;
    int code = build(x, choice, &bytes, &m);
    if (code == QT_EXIT_OK)
        code = find_time(x, m, ms);
    if (code == QT_EXIT_OK && noise && isinf(*ms))
        *noise = INFINITY;
    else if (code == QT_EXIT_OK && noise)
        code = qt_mixed_noise(x, m, noise);
    ox_model_close(m);
    ox_writer_free(&bytes);
    return code;
}

// --- the user's score

// The command with the path, in quotes, in the place of {model} or behind it; from malloc.
static char *command_for(const char *command, const char *path) {
    const char *at = strstr(command, "{model}"), *rest = at ? at + strlen("{model}") : "";
    size_t head = at ? (size_t)(at - command) : strlen(command);
    char *text = malloc(strlen(command) + 4 * strlen(path) + 8), *p = text;
    if (!text)
        return NULL;
    p += sprintf(p, "%.*s%s'", (int)head, command, at ? "" : " ");
    for (const char *c = path; *c; c++)
        p += sprintf(p, *c == '\'' ? "'\\''" : "%c", *c);
    sprintf(p, "'%s", rest);
    return text;
}

// The last line that is a number.
static int read_score(const char *text, double *score) {
    char line[4096];
    bool found = false;
    FILE *f = popen(text, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *end;
        double v = strtod(line, &end);
        if (end != line && end[strspn(end, " \t\r\n")] == '\0' && isfinite(v)) {
            *score = v;
            found = true;
        }
    }
    int status = f ? pclose(f) : -1;
    if (status == 0 && found)
        return QT_EXIT_OK;
    qt_error("--score-command '%s' %s", text,
             status == 0 ? "printed no line that is just a number" : "failed");
    return QT_EXIT_FAILURE;
}

int qt_mixed_score(const qt_mixed *x, const uint8_t *choice, double *score) {
    size_t size = strlen(x->task->output) + 16;
    char *path = malloc(size), *text = NULL;
    ox_writer bytes = {0};
    int code = path ? build(x, choice, &bytes, NULL) : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK) {
        const qt_part whole = {bytes.data, bytes.n};
        snprintf(path, size, "%s.trial.onnx", x->task->output);
        text = command_for(x->task->opt->command, path);
        code = text && qt_write_file(path, &whole, 1) ? QT_EXIT_OK : QT_EXIT_FAILURE;
        if (code == QT_EXIT_OK)
            code = read_score(text, score);
        unlink(path);
    }
    ox_writer_free(&bytes);
    free(text);
    free(path);
    return code;
}

// --- the float model

static int keep_sample(qt_mixed *x, qt_session *s, uint32_t k) {
    const qt_inputs *in = &x->task->samples->in;
    qt_array *arrays = x->inputs + (size_t)k * in->n_ports;
    size_t set = x->first + k * (x->stride ? x->stride : 1);
    if (qt_inputs_load(in, set, arrays) != QRN_OK)
        return qt_failed(x->task->path, QT_EXIT_INPUT);
    if (qt_session_set_inputs(s, arrays) != QRN_OK || qt_session_execute(s) != QRN_OK)
        return qt_failed(x->task->path, QT_EXIT_FAILURE);
    for (uint32_t i = 0; i < x->n_outputs; i++)
        if (qt_session_output(s, i, &x->wanted[(size_t)k * x->n_outputs + i]) != QRN_OK)
            return qt_failed(x->task->path, QT_EXIT_FAILURE);
    return QT_EXIT_OK;
}

int qt_mixed_prepare(qt_mixed *x) {
    const qt_mixed_task *t = x->task;
    const qt_backend_options cpu = {.backend = "cpu", .threads = t->threads};
    const ox_options import = {0};
    qt_session s = {0};
    int code = qt_session_open(t->path, t->model, &cpu, &import, &s);
    if (code != QT_EXIT_OK)
        return code;
    x->n_outputs = s.model.n_outputs;
    x->inputs = calloc((size_t)x->n_samples * t->samples->in.n_ports + 1, sizeof *x->inputs);
    x->wanted = calloc((size_t)x->n_samples * x->n_outputs + 1, sizeof *x->wanted);
    if (!x->inputs || !x->wanted)
        code = QT_EXIT_FAILURE;
    for (uint32_t k = 0; k < x->n_samples && code == QT_EXIT_OK; k++)
        code = keep_sample(x, &s, k);
    qt_session_close(&s);
    return code;
}
