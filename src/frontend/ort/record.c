// SPDX-License-Identifier: MIT
//
// Listening to a graph that is composed, and the files that are written about it.
#include "frontend/ort/record.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void on_node(void *ctx, const ox_node *n) { ((qe_record *)ctx)->node = n; }

static void *copy(qe_record *r, const void *from, size_t bytes) {
    void *p = qrn_arena_copy(r->arena, from, bytes ? bytes : 1);
    r->no_memory |= !p;
    return p;
}

static void on_op(void *ctx, const qc_op *o) {
    qe_record *r = ctx;
    qe_op *op = qrn_arena_alloc(r->arena, sizeof *op);
    if (!op) {
        r->no_memory = true;
        return;
    }
    *op = (qe_op){.name = o->name,
                  .type = o->type,
                  .package = o->package,
                  .source = r->node ? r->node->name : NULL,
                  .in = copy(r, o->in, o->n_in * sizeof *o->in),
                  .out = copy(r, o->out, o->n_out * sizeof *o->out),
                  .params = copy(r, o->params, o->n_params * sizeof *o->params),
                  .n_in = o->n_in,
                  .n_out = o->n_out,
                  .n_params = o->n_params};
    *r->end = op;
    r->end = &op->next;
}

qrn_status qe_record_open(qe_record *r, qc_client *c, ox_options *options) {
    *r = (qe_record){.arena = qrn_arena_create()};
    r->end = &r->first;
    if (!r->arena)
        return QRN_FAIL(QRN_E_MEM, "record of a graph: no memory");
    options->begin = on_node;
    options->begin_ctx = r;
    c->node = on_op;
    c->node_ctx = r;
    return QRN_OK;
}

qrn_status qe_record_done(qe_record *r, qc_client *c) {
    c->node = NULL;
    c->node_ctx = NULL;
    return r->no_memory ? QRN_FAIL(QRN_E_MEM, "record of a graph: no memory") : QRN_OK;
}

void qe_record_free(qe_record *r) { qrn_arena_destroy(r->arena); }

// --- files

// Makes a folder and those above it.
static bool make_folders(const char *path) {
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= n; i++)
        if (path[i] == '/' || path[i] == '\0') {
            memcpy(part, path, i);
            part[i] = '\0';
            if (mkdir(part, 0777) != 0 && errno != EEXIST)
                return false;
        }
    return true;
}

qrn_status qe_folder_ready(const char *option, const char *folder) {
    if (!folder || !folder[0])
        folder = ".";
    else if (!make_folders(folder))
        return QRN_FAIL(QRN_E_ARGUMENT, "option %s: the folder '%s' cannot be made: %s", option,
                        folder, strerror(errno));
    if (access(folder, W_OK | X_OK) != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "option %s: nothing can be written into '%s': %s", option,
                        folder, strerror(errno));
    return QRN_OK;
}

qrn_status qe_file_open(const char *folder, const char *name, const char *suffix, qrn_outfile *file,
                        FILE **out) {
    char path[PATH_MAX];
    bool here = !folder || !folder[0];
    int at = here ? 0 : snprintf(path, sizeof path, "%s/", folder);
    int len = at >= 0 && (size_t)at < sizeof path
                  ? snprintf(path + at, sizeof path - (size_t)at, "%s%s", name, suffix)
                  : -1;
    if (len < 0 || (size_t)len >= sizeof path - (size_t)at)
        return QRN_FAIL(QRN_E_ARGUMENT, "the path of %s%s is too long", name, suffix);
    for (char *p = path + at; *p; p++)
        if (*p == '/')
            *p = '_';
    QRN_TRY(qrn_outfile_begin(file, path));
    *out = qrn_outfile_stream(file);
    return *out ? QRN_OK : qrn_outfile_commit(file); // which reports it
}
