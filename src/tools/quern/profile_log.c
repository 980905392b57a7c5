// SPDX-License-Identifier: MIT
//
// Reading profiles. A log is a line of JSON a call. A table has a row an event and no calls: one
// begins where the kind of event changes or an event comes again.
#include "tools/quern/profile_log.h"

#include "base/file.h"
#include "base/status.h"
#include "frontend/onnx/reader/model.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32
#define MAX_COLUMNS 8
#define NODE_TYPE 404u
#define MODELLED_NODE_TYPE 12004u

typedef struct source {
    const char *path;
    size_t line;
    qt_profile *p;
    bool no_memory;
} source;

static int bad(const source *s, const char *what) {
    if (s->no_memory)
        qt_error("%s: out of memory", s->path);
    else
        qt_error("%s:%zu: %s", s->path, s->line, what);
    return QT_EXIT_INPUT;
}

static const char *keep(source *s, const char *text, size_t n) {
    char *copy = qrn_arena_alloc(s->p->arena, n + 1);
    if (copy)
        memcpy(copy, text, n);
    s->no_memory |= !copy;
    return copy ? copy : "";
}

static qt_call *add_call(source *s) {
    qt_profile *p = s->p;
    if (p->n == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 64;
        qt_call *grown = qrn_arena_alloc(p->arena, cap * sizeof *grown);
        if (!grown) {
            s->no_memory = true;
            return NULL;
        }
        if (p->n)
            memcpy(grown, p->calls, p->n * sizeof *grown);
        p->calls = grown;
        p->cap = cap;
    }
    p->calls[p->n] = (qt_call){.graph = ""};
    return &p->calls[p->n++];
}

// --- logs

static const struct {
    const char *word;
    qt_call_kind kind;
} methods[] = {{"BACKEND_EXECUTE", QT_CALL_EXECUTE},
               {"BACKEND_EXECUTE_ASYNC", QT_CALL_EXECUTE},
               {"BACKEND_FINALIZE", QT_CALL_FINALIZE},
               {"BACKEND_FINALIZE_TENSOR_UPDATES", QT_CALL_FINALIZE},
               {"CONTEXT_FINALIZE", QT_CALL_FINALIZE},
               {"BACKEND_CREATE_FROM_BINARY", QT_CALL_INIT},
               {"APP_CONTEXT_CREATE", QT_CALL_INIT},
               {"APP_COMPOSE_GRAPHS", QT_CALL_COMPOSE},
               {"APP_EXECUTE_IPS", QT_CALL_RATE},
               {"BACKEND_DEINIT", QT_CALL_DEINIT},
               {"BACKEND_APPLY_BINARY_SECTION", QT_CALL_APPLY},
               {"BACKEND_UPDATE_BINARY_SECTION", QT_CALL_APPLY}};

static qt_call_kind kind_of_method(const char *word) {
    for (size_t i = 0; word && i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].word, word) == 0)
            return methods[i].kind;
    return QT_CALL_OTHER;
}

static const char *text_of(source *s, const json_t *o, const char *key, const char *otherwise) {
    const char *text = json_string_value(json_object_get(o, key));
    return text ? keep(s, text, strlen(text)) : otherwise;
}

static uint64_t number_of(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    if (json_is_real(v)) {
        double real = json_real_value(v);
        return real >= 0x1p63 ? INT64_MAX : real > 0 ? (uint64_t)real : 0; // as integers are read
    }
    return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v) : 0;
}

static bool read_list(source *s, const json_t *list, unsigned depth, qt_event **out, uint32_t *n) {
    *n = 0;
    if (!list)
        return true;
    if (!json_is_array(list) || depth > MAX_DEPTH)
        return false;
    qt_event *events = qrn_arena_alloc(s->p->arena, (json_array_size(list) + 1) * sizeof *events);
    *out = events;
    s->no_memory |= !events;
    for (size_t i = 0; events && i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        qt_event *e = &events[(*n)++];
        if (!json_is_object(o))
            return false;
        *e = (qt_event){.name = text_of(s, o, "identifier", ""),
                        .unit = text_of(s, o, "unit", "none"),
                        .type = (uint32_t)number_of(o, "type"),
                        .value = number_of(o, "value"),
                        .hex = text_of(s, o, "hex", NULL),
                        .file = text_of(s, o, "file", NULL)};
        if (strcmp(e->unit, "microseconds") == 0)
            e->unit = "us";
        if (!read_list(s, json_object_get(o, "events"), depth + 1, &e->sub, &e->n_sub))
            return false;
    }
    return true;
}

static int read_line(source *s, const char *text, size_t n) {
    json_error_t error;
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    int code = QT_EXIT_OK;
    if (!json_is_object(o)) {
        code = bad(s, o ? "not an object" : error.text);
    } else if (s->line == 1) {
        s->p->app = text_of(s, o, "app", NULL);
    } else {
        qt_call *c = add_call(s);
        if (c) {
            c->kind = kind_of_method(json_string_value(json_object_get(o, "method")));
            c->graph = text_of(s, o, "graph", "");
            c->start_us = number_of(o, "start");
            c->stop_us = number_of(o, "stop");
        }
        if (!c || !read_list(s, json_object_get(o, "events"), 1, &c->events, &c->n))
            code = bad(s, "\"events\" is not a list of events, or they are nested too deeply");
    }
    json_decref(o);
    return code == QT_EXIT_OK && s->no_memory ? bad(s, "") : code;
}

// --- tables

// Cells of a row, into an array of MAX_COLUMNS; quotes may hold commas. Gives how many there are.
static int split_row(source *s, const char *p, const char *end, const char **cells) {
    int n = 0;
    for (bool more = true; more && n < MAX_COLUMNS; n++) {
        char *cell = qrn_arena_alloc(s->p->arena, (size_t)(end - p) + 1);
        size_t used = 0;
        bool quoted = p < end && *p == '"';
        s->no_memory |= !cell;
        if (!cell)
            return 0;
        for (p += quoted; p < end && (quoted || *p != ','); p++) {
            if (*p == '"' && quoted) {
                if (p + 1 == end || p[1] != '"')
                    quoted = false;
                else
                    cell[used++] = *p++;
                continue;
            }
            cell[used++] = *p;
        }
        cells[n] = cell;
        more = p < end;
        p += more;
    }
    return n;
}

static qt_call_kind kind_of_row(const char *message, const char *name) {
    static const struct {
        const char *part;
        qt_call_kind kind;
    } parts[] = {{"(load binary)", QT_CALL_INIT},   {"before_context", QT_CALL_INIT},
                 {"(finalize", QT_CALL_FINALIZE},   {"Performance Est", QT_CALL_FINALIZE},
                 {"Simulated", QT_CALL_FINALIZE},   {"Bandwidth", QT_CALL_FINALIZE},
                 {"HTP ID", QT_CALL_FINALIZE},      {" Fill", QT_CALL_FINALIZE},
                 {" Spill", QT_CALL_FINALIZE},      {"without a cost", QT_CALL_FINALIZE},
                 {"schematic", QT_CALL_FINALIZE},   {"(deinit)", QT_CALL_DEINIT},
                 {"after_context", QT_CALL_DEINIT}, {"BinarySection)", QT_CALL_APPLY}};
    static const struct {
        const char *word;
        qt_call_kind kind;
    } words[] = {{"INIT", QT_CALL_INIT},        {"COMPOSE GRAPHS", QT_CALL_COMPOSE},
                 {"EXECUTE IPS", QT_CALL_RATE}, {"FINALIZE", QT_CALL_FINALIZE},
                 {"DE-INIT", QT_CALL_DEINIT},   {"APPLY BINARY SECTION", QT_CALL_APPLY},
                 {"EXECUTE", QT_CALL_EXECUTE}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(message, words[i].word) == 0)
            return words[i].kind;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(name, parts[i].part))
            return parts[i].kind;
    return QT_CALL_EXECUTE;
}

static const char *unit_of_row(const char *word) {
    static const char *const units[] = {"US",    "us",    "CYCLES", "cycles", "BYTES",
                                        "bytes", "COUNT", "count",  "OBJECT", "object"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i += 2)
        if (strcmp(units[i], word) == 0)
            return units[i + 1];
    return "none";
}

// A list that grows one by one; old ones stay in the arena, which doubling bounds.
static qt_event *append(source *s, qt_event **list, uint32_t *n) {
    if ((*n & (*n - 1)) == 0) { // 0 or a power of two: full
        qt_event *grown = qrn_arena_alloc(s->p->arena, (*n ? 2 * (size_t)*n : 1) * sizeof *grown);
        s->no_memory |= !grown;
        if (!grown)
            return NULL;
        if (*n)
            memcpy(grown, *list, *n * sizeof *grown);
        *list = grown;
    }
    return &(*list)[(*n)++];
}

static bool has_event(const qt_call *c, const qt_event *e) {
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->events[i].name, e->name) == 0 && strcmp(c->events[i].unit, e->unit) == 0)
            return true;
    return false;
}

static int read_row(source *s, const char *text, size_t n) {
    const char *cells[MAX_COLUMNS];
    int found = split_row(s, text, text + n, cells);
    char *end = NULL;
    if (s->no_memory || found < 7)
        return bad(s, "a row of fewer than 7 columns");
    qt_event e = {.name = cells[6], .unit = unit_of_row(cells[3])};
    e.type = strcmp(cells[1], "NODE") == 0 ? NODE_TYPE : 0;
    e.value = strtoull(cells[2], &end, 10);
    if (end == cells[2] || *end)
        return bad(s, "the column Time is not a number");
    qt_call *c = s->p->n ? &s->p->calls[s->p->n - 1] : NULL;
    qt_event *at = NULL;
    if (strcmp(cells[5], "SUB-EVENT") == 0) {
        if (!c || !c->n)
            return bad(s, "a SUB-EVENT of nothing");
        qt_event *top = &c->events[c->n - 1];
        at = append(s, &top->sub, &top->n_sub);
    } else {
        qt_call_kind kind = kind_of_row(cells[1], e.name);
        if (!c || c->kind != kind || has_event(c, &e))
            c = add_call(s);
        if (c) {
            c->kind = kind;
            at = append(s, &c->events, &c->n);
        }
    }
    if (!at)
        return bad(s, "");
    *at = e;
    return QT_EXIT_OK;
}

// --- files

static int read_all(source *s, const char *text, size_t size) {
    static const char columns[] = "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,"
                                  "Event Level,Event Identifier";
    static const char log[] = "{\"quern_profile_log\": 1";
    bool table = size >= sizeof columns - 1 && memcmp(text, columns, sizeof columns - 1) == 0;
    if (!table && (size < sizeof log - 1 || memcmp(text, log, sizeof log - 1) != 0)) {
        const char *what = ox_foreign_format(text, size);
        qt_error("%s: neither a profile log of the System library nor a table of profile "
                 "events%s%.*s",
                 s->path, what ? ", but " : "", what ? (int)strcspn(what, ";") : 0,
                 what ? what : "");
        return QT_EXIT_INPUT;
    }
    int code = QT_EXIT_OK;
    for (const char *p = text, *end = text + size; p < end && code == QT_EXIT_OK;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p), used = n && p[n - 1] == '\r' ? n - 1 : n;
        s->line++;
        if (used && !table)
            code = read_line(s, p, used);
        else if (used && s->line > 1)
            code = read_row(s, p, used);
        p += n + (eol != NULL);
    }
    return code;
}

int qt_profile_read(qt_profile *p, const char *path) {
    source s = {.path = path, .p = p};
    qrn_file file = {0};
    if (!p->arena)
        p->arena = qrn_arena_create();
    if (!p->arena || qrn_file_map(path, &file) != QRN_OK) {
        qt_error("%s", p->arena ? qrn_message() : "out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = read_all(&s, (const char *)file.data, file.size);
    qrn_file_unmap(&file);
    return code;
}

bool qt_is_netrun(const qt_event *e) { return strncmp(e->name, "NetRun", 6) == 0; }

// --- nodes

qt_node_kind qt_node_of(const qt_event *e, char *buf, size_t size) {
    const char *id = strstr(e->name, ":OpId_");
    bool modelled = strstr(e->name, "modelled)") != NULL, cycles = strcmp(e->unit, "cycles") == 0;
    if ((e->type != NODE_TYPE && e->type != MODELLED_NODE_TYPE && !(e->type == 0 && id)) ||
        (!cycles && strcmp(e->unit, "us") != 0))
        return QT_NO_NODE;
    const char *end = strstr(e->name, " (cycles");
    snprintf(buf, size, "%.*s", (int)(end ? (size_t)(end - e->name) : strlen(e->name)), e->name);
    return modelled ? QT_NODE_MODELLED : cycles ? QT_NODE_CYCLES : QT_NODE_US;
}
