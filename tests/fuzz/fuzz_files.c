// SPDX-License-Identifier: MIT
//
// The small files that users give: arrays, pictures, lists, labels, options, dumps, profiles, facts
// of chips. An input is a line with the name of a reader, then the file. Whatever it holds, the
// reader returns what can be visited, or says what is wrong; afterwards no memory is held. A new
// reader gets a row here and a file in corpus/files.
// The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"
#include "mutate.h"

#include "base/json_read.h"
#include "base/mem.h"
#include "base/report_text.h"
#include "base/soc.h"
#include "quantizer/encodings_json.h"
#include "tools/converter/source.h"
#include "tools/executor_runner/runner_list.h"
#include "tools/extensions/htp_config.h"
#include "tools/op_package_generator/op_text.h"
#include "tools/profile_viewer/optrace.h"
#include "tools/quern/dump.h"
#include "tools/quern/files.h"
#include "tools/quern/flags.h"
#include "tools/quern/input_list.h"
#include "tools/quern/profile_log.h"
#include "tools/quern/report.h"
#include "tools/sdk/run_config.h"
#include "tools/sdk/yaml.h"
#include "tools/throughput/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What a reader gets: the bytes, and a file that holds them.
typedef struct given {
    const char *path;
    const void *data;
    size_t size;
} given;

static char folder[] = "/tmp/quern-fuzz-XXXXXX";
static FILE *said; // what readers print, instead of stderr
static FILE *real_stderr;

static void broken(const char *what) {
    fprintf(real_stderr, "%s: %s\n", what, qrn_message());
    abort();
}

// Reads every byte, for the sanitizer.
static void visit(const void *data, size_t n) {
    const volatile uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        (void)p[i];
}

static void visit_array(const qt_array *a) {
    visit(a->data, a->bytes);
    if (a->count && a->type != OX_STRING)
        (void)qt_array_stats(a);
}

// --- the readers: true when the file was read

static bool read_npy(const given *g) {
    qt_array a;
    if (qt_npy_parse(g->path, g->data, g->size, &a) != QRN_OK)
        return false;
    visit_array(&a);
    qt_array_free(&a);
    return true;
}

static bool read_npz(const given *g) {
    qt_npz z;
    if (qt_arrays_read(g->path, &z) != QRN_OK) // by the ending
        return false;
    for (size_t i = 0; i < z.n; i++) {
        visit(z.names[i], strlen(z.names[i]));
        visit_array(&z.arrays[i]);
    }
    qt_npz_free(&z);
    return true;
}

static bool read_picture(const given *g) {
    bool ok = true;
    for (uint32_t channels = 1; channels <= 3; channels += 2) {
        qt_picture p = {0};
        ok = qt_picture_read(g->path, channels, &p) == QRN_OK;
        if (ok)
            visit(p.pixels, (size_t)p.height * p.width * p.channels);
        free(p.pixels);
    }
    return ok;
}

static bool read_labels(const given *g) {
    qt_labels l;
    if (qt_labels_read(g->path, &l) != QRN_OK)
        return false;
    for (size_t i = 0; i < l.n; i++)
        visit(l.lines[i], strlen(l.lines[i]));
    qt_labels_free(&l);
    return true;
}

static void visit_json(const qrn_json *v) {
    for (const qrn_json *x = v; x; x = x->next) {
        visit(x->text, x->text ? strlen(x->text) : 0);
        visit(x->key, x->key ? strlen(x->key) : 0);
        if (!qrn_json_kind_text(x->kind)[0])
            broken("a value of no kind");
        visit_json(x->first);
    }
}

static bool read_json(const given *g) {
    qrn_arena *arena = qrn_arena_create();
    qrn_json *top = NULL;
    bool ok = arena && qrn_json_read(g->path, g->data, g->size, arena, &top) == QRN_OK;
    if (ok)
        visit_json(top);
    qrn_arena_destroy(arena);
    return ok;
}

static void visit_ios(const cv_ios *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        const cv_io *io = &list->items[i];
        const char *const texts[] = {io->name,     io->where,     io->model_layout, io->layout,
                                     io->color_in, io->color_out, io->shape};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            visit(texts[k], texts[k] ? strlen(texts[k]) : 0);
    }
}

static bool read_ios(const given *g, bool qairt) {
    qrn_arena *arena = qrn_arena_create();
    cv_ios list = {0};
    bool ok = arena && cv_io_read(g->path, qairt, arena, &list) == QT_EXIT_OK;
    visit_ios(&list);
    qrn_arena_destroy(arena);
    return ok;
}

static bool read_custom_io(const given *g) { return read_ios(g, false); }
static bool read_io_config(const given *g) { return read_ios(g, true); }

static bool read_yaml(const given *g) {
    qrn_arena *arena = qrn_arena_create();
    qrn_json *top = NULL;
    bool ok = arena && qs_yaml_read(g->path, g->data, g->size, arena, &top) == QRN_OK;
    if (ok)
        visit_json(top);
    qrn_arena_destroy(arena);
    return ok;
}

static bool read_conversion(const given *g) {
    qrn_arena *arena = qrn_arena_create();
    cv_conversion kept = {0};
    bool ok = arena && cv_conversion_read(g->path, g->data, g->size, arena, &kept) == QT_EXIT_OK;
    char *again = ok ? cv_conversion_write(&kept) : NULL;
    visit(again, again ? strlen(again) : 0);
    visit_ios(&kept.types);
    free(again);
    qrn_arena_destroy(arena);
    return ok;
}

static bool read_socs(const given *g) {
    qrn_soc_reread(g->data, g->size);
    const qrn_soc *soc;
    const char *warning;
    uint32_t n_warnings = 0;
    for (uint32_t i = 0; (soc = qrn_soc_at(i)); i++) {
        visit(soc->name, strlen(soc->name));
        visit(soc->aliases, strlen(soc->aliases));
        if (!qrn_soc_by_name(soc->name) || (soc->id && !qrn_soc_by_id(soc->id)))
            broken("a chip that is not found by its name or number");
    }
    while ((warning = qrn_soc_warning(n_warnings))) {
        visit(warning, strlen(warning));
        n_warnings++;
    }
    qrn_soc_reread("", 0);
    return n_warnings == 0;
}

static bool read_dump(const given *g) {
    qt_dump d = {0};
    if (qt_dump_parse(folder, g->data, g->size, &d) != QRN_OK)
        return false;
    for (size_t i = 0; i < d.n; i++) {
        qt_array a;
        (void)qt_dump_step(&d.tensors[i]);
        if (qt_dump_load(&d, &d.tensors[i], &a) != QRN_OK)
            continue;
        visit_array(&a);
        qt_array_free(&a);
    }
    qt_pair *pairs = NULL;
    size_t n = 0;
    if (qt_dump_pair(&d, &d, false, &pairs, &n) == QRN_OK && n > d.n)
        broken("more pairs than tensors");
    free(pairs);
    qt_dump_free(&d);
    return true;
}

static void visit_events(const qt_event *e, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        char text[64];
        visit(e[i].name, strlen(e[i].name));
        visit(e[i].unit, strlen(e[i].unit));
        (void)qt_node_of(&e[i], text, sizeof text);
        visit_events(e[i].sub, e[i].n_sub);
    }
}

static bool read_profile(const given *g) {
    qt_profile p = {.arena = qrn_arena_create()};
    bool ok = qt_profile_read(&p, g->path) == QT_EXIT_OK;
    for (uint32_t i = 0; ok && i < p.n; i++) {
        visit(p.calls[i].graph, strlen(p.calls[i].graph));
        visit_events(p.calls[i].events, p.calls[i].n);
    }
    qrn_arena_destroy(p.arena);
    return ok;
}

// A schematic behind its length (u32), then an op trace: all that is made of both, as a whole and
// from the first node to the last.
static bool read_optrace(const given *g) {
    const unsigned char *data = g->data;
    uint32_t n = 0;
    if (g->size >= 4)
        memcpy(&n, data, 4);
    if (g->size < 4 || n > g->size - 4)
        return false;
    static const qv_features features = {.enable_input_output_flow_events = true,
                                         .enable_sequencer_flow_events = true,
                                         .runtrace = true,
                                         .memory_info = true};
    const qt_call c = {.kind = QT_CALL_EXECUTE, .graph = "g"};
    qv_execution x = {.call = &c};
    qrn_arena *a = qrn_arena_create();
    qt_schematic s;
    qt_optrace t;
    char *hex = malloc(2 * (g->size - n) + 1);
    if (!a || !hex)
        broken("out of memory");
    for (size_t i = 4 + (size_t)n; i < g->size; i++)
        snprintf(&hex[2 * (i - 4 - n)], 3, "%02x", data[i]);
    hex[2 * (g->size - 4 - n)] = 0;
    bool ok = !qt_schematic_read(a, data + 4, n, &s) && qt_optrace_read(a, hex, &t) &&
              qv_run_make(a, &s, &t, (qv_zoom){0}, &x.run);
    for (int zoomed = 0; ok && zoomed < 2; zoomed++) {
        const qv_zoom zoom = {s.n_ops ? s.ops[0].name : "", s.n_ops ? s.ops[s.n_ops - 1].name : ""};
        if (zoomed && !qv_run_make(a, &s, &t, zoom, &x.run))
            break;
        json_decref(qv_trace_json(&x, 1, &features));
        json_decref(qv_qhas_json(a, &x));
        json_decref(qv_graph_json(a, &x.run));
    }
    free(hex);
    qrn_arena_destroy(a);
    return ok;
}

static bool read_list(const given *g) {
    static const ox_info a = {.name = "a"}, b = {.name = "b"};
    qt_inputs in = {.ports = malloc(2 * sizeof *in.ports), .n_ports = 2};
    if (!in.ports)
        broken("out of memory");
    in.ports[0] = &a;
    in.ports[1] = &b;
    bool ok = qt_input_list_read(g->path, &in) == QT_EXIT_OK;
    for (size_t i = 0; ok && i < in.n_sets * in.n_ports; i++)
        visit(in.sources[i].path, in.sources[i].path ? strlen(in.sources[i].path) : 0);
    qt_inputs_close(&in);
    return ok;
}

static bool read_lines(const given *g) {
    runner_lines l;
    if (!runner_lines_read(g->path, &l))
        return false;
    for (size_t i = 0; i < l.n; i++) {
        char *parts[8];
        int64_t dims[4];
        size_t n = 0;
        if (runner_shape(l.lines[i], dims, 4, &n) && n > 4)
            broken("more dimensions than there is room for");
        n = runner_split(l.lines[i], parts, 8);
        for (size_t k = 0; k < n && k < 8; k++)
            visit(parts[k], strlen(parts[k]));
    }
    runner_lines_free(&l);
    return true;
}

// Definitions of ops, and every word of the generated files for what was read.
static bool read_opdef(const given *g) {
    static const char *const of_package = "@PACKAGE@ @OP_DECLARATIONS@ @OP_POINTERS@ @OP_NAMES@ "
                                          "@HTP_FILES@ @GOAL@ @MORE_GOALS@ @HEXAGON_TARGETS@";
    static const char *const of_op = "@OP@ @op@ @ABOUT@ @RULES@ @OPERANDS@ @HTP_ARGS@ @HTP_UNUSED@ "
                                     "@PARAM_ORDER@ @KERNEL_ARGS@ @KERNEL_CALLS@";
    qg_packages all;
    qrn_arena *a = qrn_arena_create();
    bool ok = qg_opdef_read(&g->path, 1, a, &all) == QRN_OK;
    for (uint32_t i = 0; ok && i < all.n; i++) {
        qg_fill(said, of_package, &all.items[i], NULL);
        for (uint32_t k = 0; k < all.items[i].n_ops; k++)
            qg_fill(said, of_op, &all.items[i], &all.items[i].ops[k]);
    }
    qrn_arena_destroy(a);
    return ok;
}

static bool read_run_config(const given *g) {
    qs_run_config c = {.arena = qrn_arena_create()};
    bool ok = c.arena && qs_run_config_parse(g->path, g->data, g->size, &c) == QRN_OK;
    for (int load = 0; ok && load < 2; load++)
        if (!qs_context_options(&c, load, NULL))
            broken("no options of a context");
    if (ok)
        (void)qs_graph_options(&c, "net");
    qs_run_config_close(&c);
    return ok;
}

static bool read_htp_config(const given *g) {
    qrn_arena *arena = qrn_arena_create();
    qx_config c = {0};
    const QnnGraph_Config_t **graph;
    const QnnContext_Config_t **context;
    const QnnDevice_Config_t **device;
    bool ok = arena && qx_config_parse(g->path, g->data, g->size, arena, &c) == QRN_OK;
    for (uint32_t i = 0; ok && i < c.graphs.n; i++)
        if (qx_graph_options(&c.graphs.items[i], arena, &graph) != QRN_OK)
            broken("no options of a graph");
    for (int kind = 0; ok && kind < 3; kind++)
        if (qx_context_options(&c, (QuernExtension_ContextKind_t)kind, -1, arena, &context) !=
            QRN_OK)
            broken("no options of a context");
    if (ok && c.devices.n && qx_device_options(&c.devices.items[0], arena, &device) != QRN_OK)
        broken("no options of a device");
    qrn_arena_destroy(arena);
    return ok;
}

static bool read_throughput(const given *g) {
    qrn_arena *arena = qrn_arena_create();
    tp_config c = {0};
    bool ok = arena && tp_config_parse(g->path, g->data, g->size, arena, &c) == QRN_OK;
    for (uint32_t i = 0; ok && i < c.test.threads.n; i++) {
        const tp_thread *t = &c.test.threads.items[i];
        visit(t->model->path, strlen(t->model->path));
        visit(t->backend->path, strlen(t->backend->path));
        visit(t->context->name, strlen(t->context->name));
    }
    qrn_arena_destroy(arena);
    return ok;
}

// Also writes what was read, which can be read again.
static bool read_encodings(const given *g) {
    qz_encodings *e, *again = NULL;
    if (qz_encodings_parse(g->path, g->data, g->size, &e) != QRN_OK)
        return false;
    for (uint32_t i = 0; i < e->n; i++) {
        const qz_encoding *q = &e->items[i];
        visit(q->name, strlen(q->name));
        visit(q->scales, q->n * sizeof *q->scales);
        visit(q->offsets, q->n * sizeof *q->offsets);
        if (qz_encodings_find(e, q->name) != q)
            broken("an encoding that is not found by its name");
    }
    for (int v = QZ_ENCODINGS_0_6_1; v <= QZ_ENCODINGS_2_0_0; v++) {
        qrn_text text = {0};
        FILE *to = qrn_text_open(&text);
        bool written = to && qz_encodings_print(e, (qz_encodings_version)v, to) == QRN_OK;
        if (!to || !qrn_text_close(to, &text))
            broken("out of memory");
        if (written && qz_encodings_parse("written", text.data, text.n, &again) != QRN_OK)
            broken("what was written cannot be read");
        if (written && again->n != e->n)
            broken("not as many encodings as were written");
        if (written)
            qz_encodings_free(again);
        free(text.data);
    }
    qz_encodings_free(e);
    return true;
}

static struct {
    const char *name, *ending;
    bool (*read)(const given *g);
    bool names; // failures are messages that begin with the file's name
    unsigned n, n_read;
} readers[] = {
    {"npy", "npy", read_npy, true, 0, 0},
    {"npz", "npz", read_npz, true, 0, 0},
    {"png", "png", read_picture, true, 0, 0},
    {"jpg", "jpg", read_picture, true, 0, 0},
    {"labels", "txt", read_labels, true, 0, 0},
    {"json", "json", read_json, true, 0, 0},
    {"yaml", "yaml", read_yaml, true, 0, 0},
    {"custom_io", "yaml", read_custom_io, true, 0, 0},
    {"io_config", "yaml", read_io_config, true, 0, 0},
    {"conversion", "json", read_conversion, true, 0, 0},
    {"socs", "txt", read_socs, false, 0, 0},
    {"dump", "json", read_dump, false, 0, 0},
    {"profile", "log", read_profile, false, 0, 0},
    {"list", "txt", read_list, false, 0, 0},
    {"lines", "txt", read_lines, false, 0, 0},
    {"tensors", "safetensors", read_npz, true, 0, 0},
    {"opdef", "xml", read_opdef, true, 0, 0},
    {"run_config", "json", read_run_config, true, 0, 0},
    {"htp_config", "json", read_htp_config, true, 0, 0},
    {"throughput", "json", read_throughput, true, 0, 0},
    {"optrace", "bin", read_optrace, false, 0, 0},
    {"encodings", "json", read_encodings, true, 0, 0},
};
enum { N_READERS = sizeof readers / sizeof readers[0] };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    char path[64];
    real_stderr = stderr;
    said = fopen("/dev/null", "w");
    if (!mkdtemp(folder) || !said)
        broken("no folder");
    // A tensor for dumps to name.
    snprintf(path, sizeof path, "%s/t.npy", folder);
    qt_array a;
    if (qt_array_create("t", OX_F32, 2, (const uint64_t[]){2, 3}, &a) != QRN_OK ||
        !qt_npy_write(path, &a))
        broken("no tensor");
    qt_array_free(&a);
    return 0;
}

static void run_reader(unsigned k, const uint8_t *data, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "%s/input.%s", folder, readers[k].ending);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        broken("the file cannot be written");
    // Of exactly its size, for the sanitizer.
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        broken("out of memory");
    memcpy(copy, data, size);
    qrn_message_clear();
    stderr = said; // readers of lists and logs print what is wrong
    bool ok = readers[k].read(&(given){path, copy, size});
    stderr = real_stderr;
    if (!ok && readers[k].names && !strstr(qrn_message(), path))
        broken("a refusal that does not name the file");
    readers[k].n++;
    readers[k].n_read += ok;
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t live = qrn_alloc_live(), n = line ? (size_t)(line - data) : 0;
    for (unsigned k = 0; k < N_READERS && line; k++)
        if (strlen(readers[k].name) == n && memcmp(readers[k].name, data, n) == 0)
            run_reader(k, line + 1, size - n - 1);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    return 0;
}

// The first line stays.
size_t fuzz_change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other) {
    const uint8_t *line = memchr(buf, '\n', n), *end = memchr(other, '\n', n_other);
    size_t head = line ? (size_t)(line - buf) + 1 : 0, skip = end ? (size_t)(end - other) + 1 : 0;
    return head + mutate(s, buf + head, n - head, cap - head, other + skip, n_other - skip);
}

size_t fuzz_generate(source *s, uint8_t *buf, size_t cap) {
    int head = snprintf((char *)buf, cap, "%s\n", readers[draw_below(s, N_READERS)].name);
    size_t n = (size_t)head + draw_u32(s) % 400;
    for (size_t i = (size_t)head; i < n; i++)
        buf[i] = draw_u8(s);
    return n;
}

bool fuzz_end(void) {
    bool all = true;
    for (unsigned k = 0; k < N_READERS; k++) {
        char path[64];
        printf("%s %u read of %u%s", readers[k].name, readers[k].n_read, readers[k].n,
               k + 1 < N_READERS ? ", " : "\n");
        all = all && readers[k].n_read > 0;
        snprintf(path, sizeof path, "%s/input.%s", folder, readers[k].ending);
        unlink(path);
        snprintf(path, sizeof path, "%s/t.npy", folder);
        unlink(path);
    }
    rmdir(folder);
    fclose(said);
    return all;
}
