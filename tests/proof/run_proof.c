// SPDX-License-Identifier: MIT
//
// Stands in front of qrn_runner_run in a backend library made for tests: before a graph is
// executed, its steps are walked here once, on copies, and each of them is proved (prove.h) with
// the data of that very call. Execution then goes its ordinary way. What does not hold is the
// status of the call, and its message.
//
// Graphs that keep state, branch or lack an optional tensor are only executed. QUERN_PROOF_ROWS
// names a file to which the library adds, when it is unloaded, a line for each row of the families
// that occurred: family, row, whether this machine can run it, and how often it was proved.
#include "base/fpenv.h"
#include "prove.h"
#include "runtime/exec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

qrn_status __real_qrn_runner_run(qrn_runner *r, qrn_binding *io, const qrn_run_options *opt);
qrn_status __wrap_qrn_runner_run(qrn_runner *r, qrn_binding *io, const qrn_run_options *opt);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // proofs are made one at a time

// The values of a plan in memory of their own.
typedef struct copies {
    const qrn_plan *plan;
    char *arena;
    char **io;   // [n_io]
    char **late; // [n_late]
    qrn_view *views;
} copies;

static void free_copies(copies *c) {
    for (uint32_t i = 0; c->io && i < c->plan->n_io; i++)
        free(c->io[i]);
    for (uint32_t i = 0; c->late && i < c->plan->n_late; i++)
        free(c->late[i]);
    free(c->io);
    free(c->late);
    free(c->views);
    free(c->arena);
}

static bool provable(const qrn_plan *p, const qrn_binding *io) {
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind != QRN_STEP_KERNEL)
            return false;
    for (uint32_t i = 0; i < p->n_io; i++)
        if (!io[i].memory.host)
            return false;
    return p->state_bytes == 0;
}

static bool make_copies(const qrn_plan *p, const qrn_binding *io, copies *c) {
    *c = (copies){.plan = p};
    c->arena = calloc(1, p->arena_bytes + 1);
    c->io = calloc(p->n_io + 1, sizeof *c->io);
    c->late = calloc(p->n_late + 1, sizeof *c->late);
    c->views = calloc(p->n_values + 1, sizeof *c->views);
    if (!c->arena || !c->io || !c->late || !c->views)
        return false;
    for (uint32_t v = 0; v < p->n_values; v++) {
        c->views[v] = p->values[v].view;
        if (p->values[v].storage == QRN_STORE_ARENA)
            c->views[v].data = c->arena + p->values[v].offset;
    }
    for (uint32_t i = 0; i < p->n_io; i++) {
        const qrn_value *value = &p->values[p->io[i].value];
        qrn_view *view = &c->views[p->io[i].value];
        view->data = c->io[i] = malloc(value->size_bytes + 1);
        if (!c->io[i])
            return false;
        if (!p->io[i].is_output)
            memcpy(view->data, io[i].memory.host, value->size_bytes);
        if (io[i].rank == view->rank && value->dynamic && !p->io[i].is_output)
            memcpy(view->dims, io[i].dims, sizeof view->dims);
    }
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const qrn_value *part = &p->values[p->parts[i]];
        c->views[p->parts[i]].data = c->io[part->io] + part->offset;
    }
    // What a runner makes when it first runs.
    for (uint32_t i = 0; i < p->n_late; i++) {
        const qrn_plan_late *k = &p->late[i];
        c->views[k->value].data = c->late[i] = malloc(p->values[k->value].size_bytes + 1);
        if (!c->late[i])
            return false;
        k->pack(k->args, p->values[k->from].view.data, c->late[i]);
    }
    return true;
}

static qrn_status prove_step(const qrn_plan *p, const qrn_step *s, copies *c) {
    static qrn_view *operands[512];
    static size_t bytes[512];
    if (s->n_in + s->n_out > 512)
        return QRN_OK;
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        uint32_t v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        operands[i] = v == UINT32_MAX ? NULL : &c->views[v];
        bytes[i] = v == UINT32_MAX ? 0 : p->values[v].size_bytes;
    }
    if (s->reshape)
        QRN_TRY(s->reshape(p, s, c->views));
    qrn_kcall call = {.args = s->args,
                      .in = operands,
                      .out = operands + s->n_in,
                      .n_in = s->n_in,
                      .n_out = s->n_out,
                      .n_tasks = 1};
    proof one = {.family = s->family, .domain = s->domain, .call = &call, .bytes = bytes};
    if (prove(&one))
        return one.status;
    fprintf(stderr, "proof: node '%s' (%s): %s\n", p->nodes[s->node].name, p->nodes[s->node].type,
            one.why);
    return QRN_FAIL(QRN_E_GENERAL, "proof: node '%s' (%s): %s", p->nodes[s->node].name,
                    p->nodes[s->node].type, one.why);
}

qrn_status __wrap_qrn_runner_run(qrn_runner *r, qrn_binding *io, const qrn_run_options *opt) {
    const qrn_plan *p = qrn_runner_plan(r);
    qrn_status status = QRN_OK;
    if (provable(p, io)) {
        copies c;
        pthread_mutex_lock(&lock);
        qrn_fpenv env = qrn_fpenv_enter();
        if (!make_copies(p, io, &c))
            status = QRN_FAIL(QRN_E_MEM, "proof: out of memory");
        for (uint32_t i = 0; i < p->n_steps && status == QRN_OK; i++)
            status = prove_step(p, &p->steps[i], &c);
        qrn_fpenv_leave(env);
        free_copies(&c);
        pthread_mutex_unlock(&lock);
    }
    // A data error is the execution's to report, as it would without a proof.
    return status == QRN_E_GENERAL || status == QRN_E_MEM ? status
                                                          : __real_qrn_runner_run(r, io, opt);
}

static void write_row(void *ctx, const char *family, const qrn_kernel *row, bool runs_here,
                      unsigned long calls) {
    fprintf(ctx, "%s\t%s\t%d\t%lu\n", family, row->name, runs_here, calls);
}

__attribute__((destructor)) static void write_rows(void) {
    const char *path = getenv("QUERN_PROOF_ROWS");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    proof_rows(write_row, f);
    fclose(f);
}
