// SPDX-License-Identifier: MIT
//
// Names and types of the model's nodes behind those of the graph's ops, from a DLC file (--dlc):
// "conv1_2" becomes "conv1_2 [Conv conv1]", and "conv1" becomes "conv1 [Conv]".
#include "tools/profile_viewer/sources.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdio.h>
#include <string.h>

static bool no_memory(void) {
    qt_error("out of memory");
    return false;
}

int qv_sources_open(const char *path, qt_sources *out) {
    qt_dlc d;
    int code = qt_dlc_open(path, &d);
    if (code != QT_EXIT_OK)
        return code;
    code = qt_sources_read(&d, out);
    qt_dlc_close(&d);
    return code;
}

static char *copy_of(qrn_arena *a, const char *text, size_t n) {
    char *copy = qrn_arena_alloc(a, n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

// The name with its source, before `rest`; the name itself where the source is not known.
static const char *with_source(qrn_arena *a, const qt_sources *s, const char *graph,
                               const char *name, const char *rest) {
    qt_node_source from;
    if (!qt_source_of_op(s, *graph ? graph : NULL, name, &from))
        return name;
    bool same = strcmp(from.name, name) == 0;
    size_t size = strlen(name) + strlen(from.type) + strlen(from.name) + strlen(rest) + 8;
    char *text = qrn_arena_alloc(a, size);
    if (text)
        snprintf(text, size, "%s [%s%s%s]%s", name, from.type, same ? "" : " ",
                 same ? "" : from.name, rest);
    return text;
}

static bool name_list(qrn_arena *a, const qt_sources *s, const char *graph, qt_event *list,
                      uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        qt_event *e = &list[i];
        const char *rest = strstr(e->name, ":OpId_");
        char *op = rest ? copy_of(a, e->name, (size_t)(rest - e->name)) : NULL;
        const char *named = op ? with_source(a, s, graph, op, rest) : NULL;
        if (rest && (!op || !named))
            return no_memory();
        if (named && named != op)
            e->name = named;
        if (!name_list(a, s, graph, e->sub, e->n_sub))
            return false;
    }
    return true;
}

bool qv_name_events(const qt_profile *p, const qt_sources *s) {
    for (uint32_t i = 0; i < p->n; i++)
        if (!name_list(p->arena, s, p->calls[i].graph, p->calls[i].events, p->calls[i].n))
            return false;
    return true;
}

bool qv_name_ops(qrn_arena *a, const qt_schematic *x, const qt_sources *s) {
    for (uint32_t i = 0; i < x->n_ops; i++)
        if (!(x->ops[i].name = with_source(a, s, x->graph, x->ops[i].name, "")))
            return no_memory();
    return true;
}

qv_zoom qv_zoom_of_sources(qv_zoom zoom, const qt_sources *s) {
    qt_node_source from;
    const char *start = zoom.start ? qt_op_of_source(s, zoom.start, false) : NULL;
    const char *end = zoom.end ? qt_op_of_source(s, zoom.end, true) : NULL;
    if (start && !qt_source_of_op(s, NULL, zoom.start, &from))
        zoom.start = start;
    if (end && (!qt_source_of_op(s, NULL, zoom.end, &from) || strcmp(from.name, zoom.end) == 0))
        zoom.end = end;
    return zoom;
}
