// SPDX-License-Identifier: MIT
//
// The objects that a client holds and the variables that stand for them in the recording. Numbers
// are given once and never again, so that a variable means one thing in the whole recording.
#include "backend/saver/saver.h"

#include "base/mem.h"

typedef struct entry {
    qrn_saver_object kind;
    int number;
    const void *handle;
} entry;

static struct {
    entry *list;
    size_t n, cap;
    int next[QRN_SAVER_OBJECTS];
} names;

static const char *const types[] = {
#define X(name, type, word) type,
    QRN_SAVER_OBJECT_LIST(X)
#undef X
};
static const char *const words[] = {
#define X(name, type, word) word,
    QRN_SAVER_OBJECT_LIST(X)
#undef X
};

const char *qrn_saver_type_of(qrn_saver_object kind) { return types[kind]; }
const char *qrn_saver_word(qrn_saver_object kind) { return words[kind]; }

int qrn_saver_find(qrn_saver_object kind, const void *handle) {
    for (size_t i = 0; i < names.n; i++)
        if (names.list[i].kind == kind && names.list[i].handle == handle)
            return names.list[i].number;
    return -1;
}

int qrn_saver_name(qrn_saver_object kind, const void *handle, bool *is_new) {
    int number = qrn_saver_find(kind, handle);
    *is_new = number < 0;
    if (number >= 0)
        return number;
    if (names.n == names.cap) {
        size_t cap = names.cap ? names.cap * 2 : 16;
        entry *list = qrn_realloc(names.list, names.n * sizeof *list, cap * sizeof *list);
        if (!list)
            return -1;
        names.list = list;
        names.cap = cap;
    }
    number = names.next[kind]++;
    names.list[names.n++] = (entry){kind, number, handle};
    return number;
}

// Handles of the core know whether they live: children end with their parents.
static bool is_dead(const entry *e) {
    static const qrn_kind kinds[QRN_SAVER_OBJECTS] = {
        [QRN_SAVER_LOG] = QRN_KIND_LOG,       [QRN_SAVER_BACKEND] = QRN_KIND_BACKEND,
        [QRN_SAVER_DEVICE] = QRN_KIND_DEVICE, [QRN_SAVER_CONTEXT] = QRN_KIND_CONTEXT,
        [QRN_SAVER_GRAPH] = QRN_KIND_GRAPH,   [QRN_SAVER_PROFILE] = QRN_KIND_PROFILE,
        [QRN_SAVER_SIGNAL] = QRN_KIND_SIGNAL, [QRN_SAVER_MEM] = QRN_KIND_MEM,
    };
    return kinds[e->kind] && !qrn_handle_get(kinds[e->kind], e->handle);
}

void qrn_saver_forget(qrn_saver_object kind, const void *handle) {
    size_t kept = 0;
    for (size_t i = 0; i < names.n; i++) {
        const entry *e = &names.list[i];
        if ((e->kind != kind || e->handle != handle) && !is_dead(e))
            names.list[kept++] = *e;
    }
    names.n = kept;
    if (names.n == 0) { // so that unloading leaks nothing
        qrn_free(names.list);
        names.list = NULL;
        names.cap = 0;
    }
}

uint32_t qrn_saver_count(qrn_saver_object kind) {
    uint32_t n = 0;
    for (size_t i = 0; i < names.n; i++)
        n += names.list[i].kind == kind;
    return n;
}

qrn_api_log *qrn_saver_log(void) {
    for (size_t i = names.n; i-- > 0;)
        if (names.list[i].kind == QRN_SAVER_LOG)
            return qrn_handle_get(QRN_KIND_LOG, names.list[i].handle);
    return NULL;
}

void qrn_saver_forget_all(void) {
    qrn_free(names.list);
    names.list = NULL;
    names.n = names.cap = 0;
    for (int i = 0; i < QRN_SAVER_OBJECTS; i++)
        names.next[i] = 0;
}
