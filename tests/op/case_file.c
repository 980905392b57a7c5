// SPDX-License-Identifier: MIT
//
// Reader of op case files: header, blob, and one function per kind of index record. Encodings and
// numbers are read in case_words.c. Guarantees that a case handed out is consistent: tensor numbers
// exist, data have the size their shape asks for.

#include "case_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_words.h"

static bool bad(qrn_case_file *f, const char *fmt, ...) {
    va_list args;
    int n = snprintf(f->error, sizeof f->error, "line %" PRIu32 ": ", f->line);
    va_start(args, fmt);
    vsnprintf(f->error + n, sizeof f->error - (size_t)n, fmt, args);
    va_end(args);
    return false;
}

// First line: qcase 1 INDEX_BYTES BLOB_BYTES SEED.
static bool read_header(FILE *in, uint64_t *index_size, uint64_t *blob_size, uint64_t *seed) {
    uint64_t *const numbers[] = {index_size, blob_size, seed};
    char line[128], *rest = line;
    if (!fgets(line, sizeof line, in) || strncmp(line, "qcase 1 ", 8) != 0)
        return false;
    rest += 8;
    for (int i = 0; i < 3; i++) {
        char *word = strsep(&rest, i < 2 ? " " : "\n");
        if (!rest || !qrn_read_u64(word, numbers[i]))
            return false;
    }
    return true;
}

bool qrn_case_file_open(qrn_case_file *f, const char *path) {
    uint64_t index_size = 0, blob_size = 0, seed = 0;
    *f = (qrn_case_file){.line = 1};
    FILE *in = fopen(path, "rb");
    if (!in)
        return bad(f, "cannot open %s", path);
    bool ok = read_header(in, &index_size, &blob_size, &seed);
    // The sizes must be those of the file, so a wrong header cannot ask for memory.
    long start = ok ? ftell(in) : -1;
    ok = ok && start > 0 && fseek(in, 0, SEEK_END) == 0;
    uint64_t rest = ok ? (uint64_t)(ftell(in) - start) : 0;
    ok = ok && index_size <= rest && blob_size == rest - index_size &&
         fseek(in, start, SEEK_SET) == 0;
    if (ok) {
        f->index = malloc(index_size + 1);
        f->blob = malloc(blob_size + 1);
        ok = f->index && f->blob && fread(f->index, 1, index_size, in) == index_size &&
             fread(f->blob, 1, blob_size, in) == blob_size;
    }
    fclose(in);
    if (!ok)
        return bad(f, "%s is not a complete case file", path);
    f->cursor = f->index;
    f->end = f->index + index_size;
    *f->end = '\0';
    f->blob_size = blob_size;
    f->seed = seed;
    return true;
}

void qrn_case_file_close(qrn_case_file *f) {
    free(f->index);
    free(f->blob);
    f->index = f->cursor = f->end = NULL;
    f->blob = NULL;
}

enum { MAX_WORDS = 9 };

// Cuts the next line into words; returns how many, 0 at the end of the index.
static uint32_t next_line(qrn_case_file *f, char *word[MAX_WORDS]) {
    if (f->cursor >= f->end)
        return 0;
    char *line = f->cursor;
    char *stop = memchr(line, '\n', (size_t)(f->end - line));
    if (!stop)
        stop = f->end;
    *stop = '\0';
    f->cursor = stop + 1;
    f->line++;
    uint32_t n = 0;
    char *save = NULL;
    for (char *w = strtok_r(line, " ", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &save))
        word[n++] = w;
    return n;
}

static bool read_tensor(qrn_case_file *f, qrn_case *c, char **word) {
    static const struct {
        const char *name;
        Qnn_TensorType_t type;
    } kinds[] = {
        {"input", QNN_TENSOR_TYPE_APP_WRITE}, {"output", QNN_TENSOR_TYPE_APP_READ},
        {"native", QNN_TENSOR_TYPE_NATIVE},   {"static", QNN_TENSOR_TYPE_STATIC},
        {"null", QNN_TENSOR_TYPE_NULL},
    };
    if (c->n_tensors == QRN_CASE_TENSORS)
        return bad(f, "too many tensors");
    qrn_case_tensor *t = &c->tensors[c->n_tensors++];
    *t = (qrn_case_tensor){.name = word[1], .type = QNN_TENSOR_TYPE_UNDEFINED};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(word[2], kinds[i].name) == 0)
            t->type = kinds[i].type;
    uint64_t dtype = 0;
    if (t->type == QNN_TENSOR_TYPE_UNDEFINED || !qrn_read_hex(word[3], &dtype) ||
        qrn_dtype_bits((Qnn_DataType_t)dtype) == 0 || !qrn_read_shape(word[4], &t->shape))
        return bad(f, "bad kind, type or dimensions");
    t->dtype = (Qnn_DataType_t)dtype;
    if (strcmp(word[5], "-") != 0) {
        if (strlen(word[5]) != t->shape.rank)
            return bad(f, "one dynamic flag per dimension");
        t->is_dynamic = true;
        for (uint32_t i = 0; i < t->shape.rank; i++)
            t->dynamic[i] = word[5][i] == '1';
    }
    if (!qrn_read_encoding(f, word[6], t))
        return bad(f, "bad encoding %s", word[6]);
    if (!qrn_read_bytes(f, word[7], &t->data))
        return bad(f, "data outside the blob");
    bool is_static = t->type == QNN_TENSOR_TYPE_STATIC;
    if (is_static != (t->data.data != NULL) ||
        (is_static && t->data.size != qrn_shape_bytes(&t->shape, t->dtype)))
        return bad(f, "static tensors need data of their size, others none");
    return true;
}

static bool read_sparse(qrn_case_file *f, qrn_case *c, char **word) {
    uint64_t n = 0, dims = 0;
    qrn_case_tensor *t = c->n_tensors ? &c->tensors[c->n_tensors - 1] : NULL;
    if (!t || t->type != QNN_TENSOR_TYPE_NATIVE || !qrn_read_u64(word[1], &n) ||
        !qrn_read_u64(word[2], &dims) || n == 0 || n > UINT32_MAX || dims > UINT32_MAX)
        return bad(f, "only a native tensor may be sparse, with a number of elements");
    t->n_sparse = (uint32_t)n;
    t->n_sparse_dims = (uint32_t)dims;
    return true;
}

static bool read_links(qrn_case_file *f, qrn_case *c, char *text, uint32_t *first, uint32_t *n) {
    *first = c->n_links;
    *n = 0;
    if (strcmp(text, "-") == 0)
        return true;
    char *save = NULL;
    for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        uint64_t number = 0;
        if (!qrn_read_u64(w, &number) || number >= c->n_tensors)
            return bad(f, "no tensor %s", w);
        if (c->n_links == QRN_CASE_LINKS)
            return bad(f, "too many inputs and outputs");
        c->links[c->n_links++] = (uint32_t)number;
        (*n)++;
    }
    return true;
}

static bool read_node(qrn_case_file *f, qrn_case *c, char **word) {
    if (c->n_nodes == QRN_CASE_NODES)
        return bad(f, "too many nodes");
    qrn_case_node *n = &c->nodes[c->n_nodes++];
    *n = (qrn_case_node){.op = word[1], .name = word[2], .package = word[3]};
    n->first_param = c->n_params;
    return read_links(f, c, word[4], &n->first_input, &n->n_inputs) &&
           read_links(f, c, word[5], &n->first_output, &n->n_outputs);
}

static bool read_param(qrn_case_file *f, qrn_case *c, char **word, bool is_tensor) {
    if (c->n_nodes == 0)
        return bad(f, "parameter without a node");
    if (c->n_params == QRN_CASE_PARAMS)
        return bad(f, "too many parameters");
    qrn_case_param *p = &c->params[c->n_params++];
    *p = (qrn_case_param){.name = word[1], .is_tensor = is_tensor};
    c->nodes[c->n_nodes - 1].n_params++;
    if (!is_tensor) {
        if (!qrn_read_scalar(word[2], word[3], &p->scalar))
            return bad(f, "bad scalar");
        return true;
    }
    uint64_t number = 0;
    if (!qrn_read_u64(word[2], &number) || number >= c->n_tensors)
        return bad(f, "no tensor %s", word[2]);
    p->tensor = (uint32_t)number;
    return true;
}

static bool read_error(qrn_case_file *f, qrn_case *c, char **word) {
    static const char *const names[] = {"create", "validate", "add", "finalize", "execute"};
    for (int i = 0; i < QRN_STAGE_NONE; i++)
        if (strcmp(word[1], names[i]) == 0)
            c->error_stage = (qrn_stage)i;
    if (c->error_stage == QRN_STAGE_NONE || !qrn_read_u64(word[2], &c->error_code))
        return bad(f, "bad stage or code");
    return true;
}

static bool read_round(qrn_case_file *f, qrn_case *c) {
    if (c->n_rounds == QRN_CASE_ROUNDS)
        return bad(f, "too many rounds");
    c->rounds[c->n_rounds++] = (qrn_round){.first_feed = c->n_feeds, .first_want = c->n_wants};
    return true;
}

static bool read_early(qrn_case_file *f, qrn_case *c) {
    if (c->n_rounds == 0)
        return bad(f, "early before the first round");
    c->rounds[c->n_rounds - 1].early = true;
    return true;
}

// The common part of feed and want lines.
static bool read_target(qrn_case_file *f, qrn_case *c, char **word, Qnn_TensorType_t type,
                        uint32_t *tensor, qrn_shape *shape) {
    uint64_t number = 0;
    if (c->n_rounds == 0)
        return bad(f, "data before the first round");
    if (!qrn_read_u64(word[1], &number) || number >= c->n_tensors ||
        c->tensors[number].type != type)
        return bad(f, "tensor %s is not there or of another kind", word[1]);
    if (!qrn_read_shape(word[2], shape))
        return bad(f, "bad dimensions %s", word[2]);
    *tensor = (uint32_t)number;
    return true;
}

static bool read_feed(qrn_case_file *f, qrn_case *c, char **word) {
    if (c->n_feeds == QRN_CASE_DATA)
        return bad(f, "too many feeds");
    qrn_feed *d = &c->feeds[c->n_feeds++];
    if (!read_target(f, c, word, QNN_TENSOR_TYPE_APP_WRITE, &d->tensor, &d->shape))
        return false;
    c->rounds[c->n_rounds - 1].n_feeds++;
    if (!qrn_read_bytes(f, word[3], &d->data) || !d->data.data ||
        d->data.size != qrn_shape_bytes(&d->shape, c->tensors[d->tensor].dtype))
        return bad(f, "input data are missing or of the wrong size");
    return true;
}

static bool read_want(qrn_case_file *f, qrn_case *c, char **word) {
    if (c->n_wants == QRN_CASE_DATA)
        return bad(f, "too many wants");
    qrn_want *w = &c->wants[c->n_wants++];
    *w = (qrn_want){0};
    if (!read_target(f, c, word, QNN_TENSOR_TYPE_APP_READ, &w->tensor, &w->shape))
        return false;
    c->rounds[c->n_rounds - 1].n_wants++;
    const qrn_case_tensor *t = &c->tensors[w->tensor];
    if (!qrn_read_mode(word[3], w))
        return bad(f, "bad mode %s", word[3]);
    if (qrn_shape_bytes(&w->shape, t->dtype) > qrn_shape_bytes(&t->shape, t->dtype))
        return bad(f, "expectation larger than the tensor");
    if (!qrn_read_bytes(f, word[4], &w->data))
        return bad(f, "data outside the blob");
    size_t size = 0;
    if (w->mode == QRN_CMP_EXACT)
        size = qrn_shape_bytes(&w->shape, t->dtype);
    else if (w->mode != QRN_CMP_STATS)
        size = (size_t)qrn_shape_count(&w->shape) * sizeof(double);
    if (w->data.size != size)
        return bad(f, "expectation of the wrong size");
    return true;
}

// What must hold for the case as a whole, so that the runner can rely on it.
static bool check_case(qrn_case_file *f, const qrn_case *c) {
    uint32_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        n_in += c->tensors[i].type == QNN_TENSOR_TYPE_APP_WRITE;
        n_out += c->tensors[i].type == QNN_TENSOR_TYPE_APP_READ;
    }
    if (c->n_nodes == 0)
        return bad(f, "case %s has no node", c->name);
    bool executes = c->error_stage >= QRN_STAGE_EXECUTE;
    if (executes && c->n_rounds == 0)
        return bad(f, "case %s has no round", c->name);
    for (uint32_t i = 0; i < c->n_rounds; i++)
        if (c->rounds[i].n_feeds != n_in || c->rounds[i].n_wants != n_out)
            return bad(f, "case %s round %" PRIu32 ": inputs or outputs missing", c->name, i);
    return true;
}

static bool read_record(qrn_case_file *f, qrn_case *c, char **word, uint32_t n) {
    static const struct {
        const char *name;
        uint32_t words;
    } records[] = {{"tensor", 8}, {"node", 6}, {"scalar", 4}, {"tparam", 3}, {"fail", 3},
                   {"round", 1},  {"feed", 4}, {"want", 5},   {"sparse", 3}, {"early", 1}};
    const uint32_t n_records = sizeof records / sizeof records[0];
    uint32_t kind = 0;
    while (kind < n_records && strcmp(word[0], records[kind].name) != 0)
        kind++;
    if (kind == n_records)
        return bad(f, "unknown record %s", word[0]);
    if (n != records[kind].words)
        return bad(f, "%s record of %" PRIu32 " words", word[0], n);
    switch (kind) {
    case 0:
        return read_tensor(f, c, word);
    case 1:
        return read_node(f, c, word);
    case 2:
        return read_param(f, c, word, false);
    case 3:
        return read_param(f, c, word, true);
    case 4:
        return read_error(f, c, word);
    case 5:
        return read_round(f, c);
    case 6:
        return read_feed(f, c, word);
    case 7:
        return read_want(f, c, word);
    case 8:
        return read_sparse(f, c, word);
    default:
        return read_early(f, c);
    }
}

bool qrn_case_next(qrn_case_file *f, qrn_case *c) {
    char *word[MAX_WORDS];
    uint32_t n = next_line(f, word);
    if (n == 0) {
        if (f->cursor < f->end)
            return bad(f, "empty line");
        return false;
    }
    if (n != 3 || strcmp(word[0], "case") != 0)
        return bad(f, "a case is expected");
    c->name = word[1];
    c->index = f->n_read++;
    c->once = strcmp(word[2], "once") == 0;
    c->error_stage = QRN_STAGE_NONE;
    c->error_code = 0;
    c->n_tensors = c->n_nodes = c->n_params = c->n_links = 0;
    c->n_rounds = c->n_feeds = c->n_wants = 0;
    while ((n = next_line(f, word)) > 0) {
        if (n == 1 && strcmp(word[0], "end") == 0)
            return check_case(f, c);
        if (!read_record(f, c, word, n))
            return false;
    }
    return bad(f, "case %s does not end", c->name);
}
