// SPDX-License-Identifier: MIT
//
// Opening a context binary: header, section table, checksums, the info section, then the graphs.
// Weights are only pointed at.
#include "binary/read.h"

#include "base/crc32.h"
#include "binary/out.h"
#include "device/stored.h"

#include <string.h>

#define CONSTANT_BYTES 24u // of a record
#define MIN_TENSOR_BYTES 44u

typedef struct section {
    uint32_t type, index, crc;
    uint64_t offset, size_bytes;
} section;

// Sections of a type that graphs may have, in the order of the graphs.
typedef struct per_graph {
    const section *first;
    uint32_t n;
} per_graph;

typedef struct file {
    const unsigned char *data;
    uint64_t size_bytes;
    bool weights_apart; // nothing may be read behind the start of the section of weights
    uint32_t n_sections;
    section info, constants, weights, shared; // size 0: not there
    const section *graphs;                    // in order
    per_graph schedules, compiled, prepared;
    uint32_t n_graphs, minor;
    section *all;
} file;

static qrn_status damaged(uint64_t at, const char *what) {
    return QRN_FAIL(QRN_E_BINARY, "context binary, byte %llu: %s; make it again",
                    (unsigned long long)at, what);
}

bool qrn_bin_is_ours(const void *buf, uint64_t size_bytes) {
    return size_bytes >= 8 && memcmp(buf, QRN_BIN_MAGIC, 8) == 0;
}

static qrn_status check_header(const unsigned char *p, uint64_t size_bytes) {
    if (!qrn_bin_is_ours(p, size_bytes))
        return QRN_FAIL(QRN_E_BINARY_VERSION,
                        "not a context binary of Quern (it does not begin with %s): prepare the "
                        "model again with this library",
                        QRN_BIN_MAGIC);
    if (size_bytes < QRN_BIN_HEADER_BYTES)
        return damaged(size_bytes, "the file ends within its header");
    uint32_t major = qrn_load_u32(p + QRN_BIN_AT_MAJOR), minor = qrn_load_u32(p + QRN_BIN_AT_MINOR);
    if (major != QRN_BIN_VERSION_MAJOR || minor < QRN_BIN_VERSION_MINOR_OLDEST ||
        minor > QRN_BIN_VERSION_MINOR)
        return QRN_FAIL(QRN_E_BINARY_VERSION,
                        "context binary of format %u.%u, this library reads %u.%u to %u.%u: "
                        "prepare the model again",
                        major, minor, QRN_BIN_VERSION_MAJOR, QRN_BIN_VERSION_MINOR_OLDEST,
                        QRN_BIN_VERSION_MAJOR, QRN_BIN_VERSION_MINOR);
    uint64_t says = qrn_load_u64(p + QRN_BIN_AT_FILE_BYTES);
    if (says != size_bytes)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary of %llu bytes, %llu were given: it is not complete",
                        (unsigned long long)says, (unsigned long long)size_bytes);
    return QRN_OK;
}

static qrn_status check_table(const file *f) {
    uint64_t bytes = QRN_BIN_HEADER_BYTES + (uint64_t)f->n_sections * QRN_BIN_SECTION_BYTES;
    static const unsigned char zero[4];
    if (f->n_sections < 1 || f->n_sections > QRN_BIN_MAX_SECTIONS || bytes > f->size_bytes)
        return damaged(QRN_BIN_AT_SECTIONS, "number of sections");
    uint32_t crc = qrn_crc32(0, f->data, QRN_BIN_AT_CRC);
    crc = qrn_crc32(crc, zero, sizeof zero);
    crc = qrn_crc32(crc, f->data + QRN_BIN_AT_CRC + 4, bytes - QRN_BIN_AT_CRC - 4);
    if (crc != qrn_load_u32(f->data + QRN_BIN_AT_CRC))
        return damaged(QRN_BIN_AT_CRC, "checksum of the header");
    if (qrn_load_u32(f->data + QRN_BIN_AT_PART) >= QRN_BIN_PART_COUNT)
        return damaged(QRN_BIN_AT_PART, "unknown contents");
    for (uint32_t i = QRN_BIN_AT_ZERO; i < QRN_BIN_HEADER_BYTES; i++)
        if (f->data[i])
            return damaged(i, "a reserved byte is not 0");
    return QRN_OK;
}

static bool all_zero(const unsigned char *p, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

// Sections follow each other at the next multiple of the alignment; the gaps are zero.
static qrn_status check_place(const file *f, const section *s, uint64_t end) {
    uint64_t want =
        (end + QRN_BIN_SECTION_ALIGN - 1) / QRN_BIN_SECTION_ALIGN * QRN_BIN_SECTION_ALIGN;
    if (s->offset != want || s->size_bytes == 0 || want > f->size_bytes ||
        s->size_bytes > f->size_bytes - want)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: section of type %u at %llu with %llu bytes does not fit; "
                        "make it again",
                        s->type, (unsigned long long)s->offset, (unsigned long long)s->size_bytes);
    bool readable = !f->weights_apart || !f->weights.size_bytes;
    if (readable && !all_zero(f->data + end, want - end))
        return damaged(end, "a gap between sections is not 0");
    return QRN_OK;
}

static qrn_status check_crc(const section *s, const unsigned char *data) {
    if (s->size_bytes && qrn_crc32(0, data, s->size_bytes) != s->crc)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: checksum of section type %u (bytes %llu to %llu) is "
                        "wrong: the file is damaged, make it again",
                        s->type, (unsigned long long)s->offset,
                        (unsigned long long)(s->offset + s->size_bytes - 1));
    return QRN_OK;
}

// The place of a type in the file.
static uint32_t rank_of(uint32_t type) {
    static const uint8_t ranks[] = {[QRN_BIN_SECTION_INFO] = 1,     [QRN_BIN_SECTION_GRAPH] = 2,
                                    [QRN_BIN_SECTION_SCHEDULE] = 3, [QRN_BIN_SECTION_COMPILED] = 4,
                                    [QRN_BIN_SECTION_PREPARED] = 5, [QRN_BIN_SECTION_CONST] = 6,
                                    [QRN_BIN_SECTION_WEIGHTS] = 7,  [QRN_BIN_SECTION_SHARED] = 8};
    return type < sizeof ranks ? ranks[type] : 0;
}

// At most one a graph, in the order of the graphs.
static bool assign_to_graph(const file *f, per_graph *list, const section *s) {
    uint32_t from = list->n ? s[-1].index + 1 : 0;
    if (s->index < from || s->index >= f->n_graphs)
        return false;
    list->first = list->n++ ? list->first : s;
    return true;
}

// Puts a section where it belongs; the order of types is fixed.
static bool assign(file *f, const section *s) {
    section *one = s->type == QRN_BIN_SECTION_INFO      ? &f->info
                   : s->type == QRN_BIN_SECTION_CONST   ? &f->constants
                   : s->type == QRN_BIN_SECTION_WEIGHTS ? &f->weights
                   : s->type == QRN_BIN_SECTION_SHARED  ? &f->shared
                                                        : NULL;
    if (s->type == QRN_BIN_SECTION_GRAPH) {
        if (s->index != f->n_graphs || f->n_graphs >= QRN_BIN_MAX_GRAPHS)
            return false;
        f->n_graphs++;
        return true;
    }
    if (s->type == QRN_BIN_SECTION_SCHEDULE)
        return f->minor >= 2 && assign_to_graph(f, &f->schedules, s);
    if (s->type == QRN_BIN_SECTION_COMPILED)
        return f->minor >= 3 && assign_to_graph(f, &f->compiled, s);
    if (s->type == QRN_BIN_SECTION_PREPARED)
        return f->minor >= 4 && assign_to_graph(f, &f->prepared, s);
    if (!one || s->index || one->size_bytes)
        return false;
    *one = *s;
    return true;
}

static qrn_status read_table(file *f, qrn_arena *arena) {
    f->all = qrn_arena_alloc(arena, f->n_sections * sizeof *f->all);
    if (!f->all)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
    uint64_t end = QRN_BIN_HEADER_BYTES + (uint64_t)f->n_sections * QRN_BIN_SECTION_BYTES;
    uint32_t last_rank = 0;
    for (uint32_t i = 0; i < f->n_sections; i++) {
        uint64_t at = QRN_BIN_HEADER_BYTES + (uint64_t)i * QRN_BIN_SECTION_BYTES;
        const unsigned char *p = f->data + at;
        section *s = &f->all[i];
        *s = (section){.type = qrn_load_u32(p),
                       .index = qrn_load_u32(p + 4),
                       .offset = qrn_load_u64(p + 8),
                       .size_bytes = qrn_load_u64(p + 16),
                       .crc = qrn_load_u32(p + 24)};
        QRN_TRY(check_place(f, s, end));
        if (qrn_load_u32(p + 28) || rank_of(s->type) < last_rank || !assign(f, s))
            return damaged(at, "an entry of the section table");
        if (s->type == QRN_BIN_SECTION_GRAPH && f->n_graphs == 1)
            f->graphs = s;
        last_rank = rank_of(s->type);
        end = s->offset + s->size_bytes;
    }
    if (end != f->size_bytes)
        return damaged(end, "bytes behind the last section");
    return f->info.size_bytes ? QRN_OK : damaged(QRN_BIN_AT_SECTIONS, "there is no info section");
}

static qrn_status open_file(const void *buf, uint64_t size_bytes, bool weights_apart,
                            qrn_arena *arena, file *f) {
    *f = (file){.data = buf, .size_bytes = size_bytes, .weights_apart = weights_apart};
    QRN_TRY(check_header(f->data, size_bytes));
    f->n_sections = qrn_load_u32(f->data + QRN_BIN_AT_SECTIONS);
    f->minor = qrn_load_u32(f->data + QRN_BIN_AT_MINOR);
    QRN_TRY(check_table(f));
    return read_table(f, arena);
}

// Where the sections of constants are; they need not be in the file.
typedef struct places {
    const unsigned char *constants, *weights, *shared;
} places;

static qrn_status check_crcs(const file *f, const per_graph *list) {
    for (uint32_t i = 0; i < list->n; i++)
        QRN_TRY(check_crc(&list->first[i], f->data + list->first[i].offset));
    return QRN_OK;
}

static qrn_status check_sections(const file *f, const places *p, bool verify) {
    QRN_TRY(check_crc(&f->info, f->data + f->info.offset));
    for (uint32_t i = 0; i < f->n_graphs; i++)
        QRN_TRY(check_crc(&f->graphs[i], f->data + f->graphs[i].offset));
    QRN_TRY(check_crcs(f, &f->schedules));
    QRN_TRY(check_crcs(f, &f->compiled));
    QRN_TRY(check_crcs(f, &f->prepared));
    QRN_TRY(check_crc(&f->constants, p->constants));
    if (!verify)
        return QRN_OK;
    QRN_TRY(check_crc(&f->weights, p->weights));
    return check_crc(&f->shared, p->shared);
}

static void get_constant(qrn_in *in, const file *f, const places *p, qrn_bin_constant *k) {
    uint32_t type = qrn_in_u32(in), n_graphs = qrn_in_u32(in);
    uint64_t offset = qrn_in_u64(in), size = qrn_in_u64(in);
    const section *s = type == QRN_BIN_SECTION_CONST     ? &f->constants
                       : type == QRN_BIN_SECTION_WEIGHTS ? &f->weights
                       : type == QRN_BIN_SECTION_SHARED  ? &f->shared
                                                         : NULL;
    const unsigned char *base = type == QRN_BIN_SECTION_CONST     ? p->constants
                                : type == QRN_BIN_SECTION_WEIGHTS ? p->weights
                                                                  : p->shared;
    uint64_t room =
        s && s->size_bytes > QRN_BIN_CONST_TAIL ? s->size_bytes - QRN_BIN_CONST_TAIL : 0;
    if (size == 0 || offset % QRN_BIN_CONST_ALIGN || offset > room || size > room - offset) {
        qrn_in_fail(in, "a constant of %llu bytes at %llu of section type %u",
                    (unsigned long long)size, (unsigned long long)offset, type);
        return;
    }
    *k = (qrn_bin_constant){.data = base + offset, .size_bytes = size, .shared = n_graphs > 1};
}

static void get_versions(qrn_in *in, qrn_bin *b) {
    for (int i = 0; i < 3; i++)
        b->core_api[i] = qrn_in_u32(in);
    b->backend_id = qrn_in_u32(in);
    for (int i = 0; i < 3; i++)
        b->backend_api[i] = qrn_in_u32(in);
    b->soc_id = qrn_in_u32(in);
    b->arch = qrn_in_u32(in);
    b->build_id = qrn_in_text(in);
}

// Ids are bounded by the bytes of all sections that may hold tensors.
static uint32_t most_tensors(const file *f) {
    uint64_t bytes = f->info.size_bytes;
    for (uint32_t i = 0; i < f->n_graphs; i++)
        bytes += f->graphs[i].size_bytes;
    uint64_t n = bytes / MIN_TENSOR_BYTES;
    return n < UINT32_MAX - 1 ? (uint32_t)n : UINT32_MAX - 1;
}

static qrn_status get_info(qrn_in *in, const file *f, const places *p, qrn_bin_reading *r) {
    qrn_bin *b = r->bin;
    get_versions(in, b);
    b->options = qrn_bin_get_options(in, &b->n_options);
    b->n_graphs = qrn_in_u32(in);
    if (b->n_graphs != f->n_graphs)
        qrn_in_fail(in, "%u graphs, there are %u sections", b->n_graphs, f->n_graphs);
    b->n_tensors = qrn_in_count(in, MIN_TENSOR_BYTES);
    r->n_constants = 0;
    uint32_t n_constants = qrn_in_count(in, CONSTANT_BYTES);
    b->graphs = qrn_in_array(in, f->n_graphs, sizeof *b->graphs);
    r->n_ids = most_tensors(f);
    r->by_id = qrn_in_array(in, (uint64_t)r->n_ids + 1, sizeof *r->by_id);
    r->owner = qrn_in_array(in, (uint64_t)r->n_ids + 1, sizeof *r->owner);
    qrn_tensor **tensors = qrn_in_array(in, b->n_tensors, sizeof *tensors);
    for (uint32_t i = 0; in->status == QRN_OK && i < b->n_tensors; i++) { // without constants
        tensors[i] = qrn_bin_get_tensor(in, r);
        if (tensors[i] && qrn_bin_lacks_scales(tensors[i]))
            qrn_in_fail(in, "tensor '%s' of the context without scales", tensors[i]->name);
    }
    b->tensors = (const qrn_tensor *const *)tensors;
    r->constants = qrn_in_array(in, n_constants, sizeof *r->constants);
    for (uint32_t i = 0; in->status == QRN_OK && i < n_constants; i++)
        get_constant(in, f, p, &r->constants[i]);
    r->n_constants = n_constants;
    if (in->status == QRN_OK && in->at != in->n)
        qrn_in_fail(in, "bytes behind the last record of the info section");
    return in->status;
}

static qrn_in section_in(const file *f, const section *s, qrn_arena *arena) {
    return (qrn_in){
        .data = f->data + s->offset, .n = s->size_bytes, .offset = s->offset, .arena = arena};
}

// Ids and nodes that a schedule names are those of its graph.
static qrn_status check_schedule(const qrn_bin_reading *r, const qrn_bin_graph *g,
                                 const qd_schedule *s) {
    for (uint32_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].op >= g->n_nodes ||
            strcmp(s->slots[i].name, g->nodes[s->slots[i].op].name) != 0)
            return QRN_FAIL(QRN_E_BINARY,
                            "context binary: schedule of graph '%s': step %u is none of its nodes",
                            g->name, i);
    for (uint32_t i = 0; i < s->n_tiles + s->n_swaps; i++) {
        uint32_t id = i < s->n_tiles ? s->tiles[i].value : s->swaps[i - s->n_tiles].value;
        if (id == 0 || id > r->n_ids || !r->by_id[id] ||
            (r->owner[id] && r->owner[id] != r->graph + 1))
            return QRN_FAIL(QRN_E_BINARY,
                            "context binary: schedule of graph '%s': tensor %u is none of its",
                            g->name, id);
    }
    return QRN_OK;
}

// It is checked in any case, and kept for those who only look at the file.
static qrn_status read_schedule(const file *f, const section *s, bool keeps, qrn_bin_reading *r) {
    qrn_bin_graph *g = &r->bin->graphs[s->index];
    qrn_arena *arena = keeps ? r->bin->arena : qrn_arena_create();
    qd_schedule *read = arena ? qrn_arena_alloc(arena, sizeof *read) : NULL;
    qrn_status status = read ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
    r->graph = s->index;
    g->schedule_data = f->data + s->offset;
    g->schedule_bytes = s->size_bytes;
    if (status == QRN_OK)
        status = qd_stored_read(g->schedule_data, s->size_bytes, arena, read);
    if (status == QRN_OK)
        status = check_schedule(r, g, read);
    g->schedule = keeps && status == QRN_OK ? read : NULL;
    if (!keeps)
        qrn_arena_destroy(arena);
    return status;
}

static qrn_status read_all(const file *f, const places *p, qrn_bin_compiled_fn get_compiled,
                           qrn_bin *b) {
    qrn_bin_reading r = {.bin = b};
    qrn_in in = section_in(f, &f->info, b->arena);
    QRN_TRY(get_info(&in, f, p, &r));
    for (r.graph = 0; r.graph < b->n_graphs; r.graph++) {
        in = section_in(f, &f->graphs[r.graph], b->arena);
        QRN_TRY(qrn_bin_get_graph(&in, &r, &b->graphs[r.graph]));
    }
    for (uint32_t i = 0; i < f->schedules.n; i++)
        QRN_TRY(read_schedule(f, &f->schedules.first[i], !get_compiled, &r));
    for (uint32_t i = 0; get_compiled && i < f->compiled.n; i++) {
        r.graph = f->compiled.first[i].index;
        in = section_in(f, &f->compiled.first[i], b->arena);
        QRN_TRY(get_compiled(&in, &r, &b->graphs[r.graph]));
    }
    for (uint32_t i = 0; i < f->prepared.n; i++) {
        r.graph = f->prepared.first[i].index;
        in = section_in(f, &f->prepared.first[i], b->arena);
        QRN_TRY(qrn_bin_get_prepared(&in, &r, &b->graphs[r.graph]));
    }
    b->version_major = QRN_BIN_VERSION_MAJOR;
    b->version_minor = f->minor;
    b->part = qrn_load_u32(f->data + QRN_BIN_AT_PART);
    b->weights_offset = f->weights.offset;
    b->weights_bytes = f->weights.size_bytes;
    b->shared_offset = f->shared.offset;
    b->shared_bytes = f->shared.size_bytes;
    return QRN_OK;
}

qrn_status qrn_bin_open_any(const void *buf, uint64_t size_bytes, bool verify, const void *weights,
                            const void *shared, qrn_bin_compiled_fn get_compiled, qrn_bin **out) {
    qrn_arena *arena = qrn_arena_create();
    qrn_bin *b = arena ? qrn_arena_alloc(arena, sizeof *b) : NULL;
    if (!b) {
        qrn_arena_destroy(arena);
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
    }
    b->arena = arena;
    b->was_read = true;
    file f;
    qrn_status s = open_file(buf, size_bytes, weights != NULL, arena, &f);
    if (s == QRN_OK) {
        places p = {.constants = f.data + f.constants.offset,
                    .weights = weights ? weights : f.data + f.weights.offset,
                    .shared = shared ? shared : f.data + f.shared.offset};
        s = check_sections(&f, &p, verify);
        if (s == QRN_OK)
            s = read_all(&f, &p, get_compiled, b);
    }
    if (s != QRN_OK) {
        qrn_bin_close(b);
        return s;
    }
    *out = b;
    return QRN_OK;
}

qrn_status qrn_bin_open(const void *buf, uint64_t size_bytes, bool verify, qrn_bin **out) {
    return qrn_bin_open_any(buf, size_bytes, verify, NULL, NULL, NULL, out);
}

qrn_status qrn_bin_find_weights(const void *buf, uint64_t size_bytes, qrn_bin_weights *out) {
    qrn_arena *arena = qrn_arena_create();
    if (!arena)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
    file f;
    qrn_status s = open_file(buf, size_bytes, false, arena, &f);
    if (s == QRN_OK)
        *out = (qrn_bin_weights){f.weights.offset, f.weights.size_bytes, f.shared.offset,
                                 f.shared.size_bytes};
    qrn_arena_destroy(arena);
    return s;
}

void qrn_bin_close(qrn_bin *b) {
    for (uint32_t i = 0; b && b->was_read && b->graphs && i < b->n_graphs; i++)
        qrn_compiled_destroy(b->graphs[i].compiled);
    if (b)
        qrn_arena_destroy(b->arena);
}
