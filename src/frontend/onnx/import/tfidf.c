// SPDX-License-Identifier: MIT
//
// Importer: TfIdfVectorizer on integers. All places of the input are compared with all n-grams of
// one length at once, the hits are summed, and a matmul with a constant matrix puts the counts
// where they belong. Counts are exact in f32.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

#define MAX_COMPARISONS (1u << 26) // elements of one comparison, and of the matrix

typedef struct tfidf {
    const ox_attr *pool, *starts, *indexes;
    uint32_t rows, columns, width; // of the input; elements of an output row
    int64_t shortest, longest, skips;
    bool once, weighted; // count at most 1; multiply by the weights
} tfidf;

// The n-grams of one length.
typedef struct grams {
    const int64_t *at;
    uint32_t size, count, first; // first: position of its index in ngram_indexes
} grams;

static const ox_attr *list_of(const ox_node *n, const char *name, int type) {
    const ox_attr *a = ox_attr_find(n, name);
    return a && a->type == type ? a : NULL;
}

static qrn_status read_grams(const ox_import *im, const ox_node *n, tfidf *t) {
    const ox_attr *weights = list_of(n, "weights", OX_ATTR_FLOATS);
    const char *mode = ox_attr_string(n, "mode", "");
    t->pool = list_of(n, "pool_int64s", OX_ATTR_INTS);
    t->starts = list_of(n, "ngram_counts", OX_ATTR_INTS);
    t->indexes = list_of(n, "ngram_indexes", OX_ATTR_INTS);
    if (!t->pool || !t->starts || !t->indexes || !t->indexes->n)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "pool_int64s, ngram_counts or ngram_indexes miss");
    t->shortest = ox_attr_int(n, "min_gram_length", 1);
    t->longest = ox_attr_int(n, "max_gram_length", 1);
    t->skips = ox_attr_int(n, "max_skip_count", 0);
    t->once = strcmp(mode, "IDF") == 0;
    if (!t->once && strcmp(mode, "TF") != 0 && strcmp(mode, "TFIDF") != 0)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "mode '%s'", mode);
    for (uint32_t i = 0; i < t->pool->n; i++)
        if (t->pool->ints[i] != (int32_t)t->pool->ints[i])
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "an n-gram has numbers of more than 32 bits");
    for (uint32_t i = 0; i < t->indexes->n; i++) {
        if (t->indexes->ints[i] < 0 || t->indexes->ints[i] >= INT32_MAX)
            return ox_fail(im, n, QRN_E_OP_CONFIG, "an entry of ngram_indexes is out of range");
        if (t->indexes->ints[i] >= t->width)
            t->width = (uint32_t)t->indexes->ints[i] + 1;
    }
    t->weighted = strcmp(mode, "TF") != 0 && weights && weights->n;
    if (t->weighted && weights->n != t->indexes->n)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "%u weights for %u n-grams", weights->n,
                       t->indexes->n);
    return QRN_OK;
}

static qrn_status read_tfidf(ox_import *im, const ox_node *n, tfidf *t) {
    const ox_val *x = ox_input(im, n, 0);
    if (!x || (x->type != OX_I32 && x->type != OX_I64))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "strings; number the words outside of the model");
    if (x->rank != 1 && x->rank != 2)
        return ox_fail(im, n, QRN_E_SHAPE, "an input of rank %u", x->rank);
    t->rows = x->rank == 2 ? x->dims[0] : 1;
    t->columns = x->dims[x->rank - 1];
    QRN_TRY(read_grams(im, n, t));
    uint32_t dims[] = {t->rows, t->width};
    if ((uint64_t)t->indexes->n * t->width > MAX_COMPARISONS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%u n-grams for %u results are too many",
                       t->indexes->n, t->width);
    return ox_set_output(im, n, 0, OX_F32, x->rank, x->rank == 2 ? dims : dims + 1);
}

// Of equal n-grams the last one counts.
static bool repeated(const grams *g, uint32_t i) {
    for (uint32_t j = i + 1; j < g->count; j++)
        if (memcmp(g->at + (size_t)i * g->size, g->at + (size_t)j * g->size,
                   g->size * sizeof *g->at) == 0)
            return true;
    return false;
}

// How often each n-gram is found with `distance` from element to element: [rows, count].
static qc_tensor *found(ox_expr *e, const tfidf *t, const grams *g, qc_tensor *x,
                        uint32_t distance) {
    uint32_t places = t->columns - distance * (g->size - 1), axis = 1;
    uint32_t dims[] = {t->rows, places, 1}, row[] = {g->count};
    qc_tensor *hit = NULL;
    int32_t *values = ox_alloc(e->im, g->count * sizeof *values);
    if (!values || (uint64_t)t->rows * places * g->count > MAX_COMPARISONS) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "%u n-grams at %u places are too many",
                       g->count, places);
        return NULL;
    }
    for (uint32_t k = 0; k < g->size; k++) {
        for (uint32_t i = 0; i < g->count; i++)
            values[i] = (int32_t)g->at[(size_t)i * g->size + k];
        qc_tensor *part = ox_slice(e, x, 1, k * distance, places, 1);
        qc_tensor *same = ox_compare(e, QNN_OP_ELEMENT_WISE_EQUAL, ox_reshape(e, part, 3, dims),
                                     ox_ints(e, 1, row, values));
        hit = hit ? ox_compare(e, QNN_OP_ELEMENT_WISE_AND, hit, same) : same;
    }
    return ox_reduce(e, QNN_OP_REDUCE_SUM, ox_as(e, hit, QNN_DATATYPE_FLOAT_32), &axis, 1, false);
}

// Counts of the n-grams of one length, put into the columns of the output; NULL: none.
static qc_tensor *counts_of(ox_expr *e, const tfidf *t, const grams *g, qc_tensor *x) {
    qc_tensor *sum = NULL, *matrix = NULL;
    // An n-gram of one element is the same at every distance.
    int64_t skips = g->size == 1 ? 0 : t->skips;
    for (int64_t d = 1; e->s == QRN_OK && d - 1 <= skips; d++) {
        if (d * (g->size - 1) >= t->columns)
            break;
        qc_tensor *more = found(e, t, g, x, (uint32_t)d);
        sum = sum ? ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, sum, more) : more;
    }
    if (!sum || e->s != QRN_OK)
        return NULL;
    size_t bytes = (size_t)g->count * t->width * sizeof(float);
    float *where = ox_alloc(e->im, bytes);
    uint32_t dims[] = {g->count, t->width};
    if (!where) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < g->count; i++)
        if (!repeated(g, i))
            where[(size_t)i * t->width + (size_t)t->indexes->ints[g->first + i]] = 1;
    e->s = ox_static(e->im, QNN_DATATYPE_FLOAT_32, 2, dims, where, bytes, &matrix);
    return ox_matmul(e, sum, matrix, false, false);
}

static qc_tensor *all_counts(ox_expr *e, const tfidf *t, qc_tensor *x) {
    qc_tensor *sum = NULL;
    uint32_t first = 0;
    for (uint32_t i = 0; e->s == QRN_OK && i < t->starts->n; i++) {
        int64_t begin = t->starts->ints[i];
        int64_t end = i + 1 < t->starts->n ? t->starts->ints[i + 1] : t->pool->n;
        if (begin < 0 || begin > t->pool->n || end > t->pool->n) {
            e->s = ox_fail(e->im, e->n, QRN_E_OP_CONFIG, "ngram_counts are beyond the pool");
            return NULL;
        }
        grams g = {t->pool->ints + begin, i + 1, 0, first};
        g.count = end > begin ? (uint32_t)(end - begin) / g.size : 0;
        first += g.count;
        if (first > t->indexes->n) {
            e->s = ox_fail(e->im, e->n, QRN_E_OP_CONFIG, "more n-grams than ngram_indexes");
            return NULL;
        }
        if (!g.count || g.size < t->shortest || g.size > t->longest)
            continue;
        qc_tensor *counts = counts_of(e, t, &g, x);
        if (counts)
            sum = sum ? ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, sum, counts) : counts;
    }
    return sum;
}

static qrn_status import_tfidf(ox_import *im, const ox_node *n) {
    tfidf t = {0};
    QRN_TRY(read_tfidf(im, n, &t));
    ox_expr e = ox_begin(im, n);
    uint32_t dims[] = {t.rows, t.columns}, result[] = {t.rows, t.width};
    qc_tensor *x = ox_reshape(&e, ox_in_i32(&e, 0), 2, dims);
    qc_tensor *y = all_counts(&e, &t, x);
    QRN_TRY(e.s);
    if (!y) {
        // No n-gram fits into the input.
        float *zeros = ox_alloc(im, (size_t)t.rows * t.width * sizeof *zeros);
        if (!zeros)
            return ox_fail(im, n, QRN_E_MEM, "out of memory");
        bool batch = ox_input(im, n, 0)->rank == 2;
        return ox_set_const(im, n, 0, OX_F32, batch ? 2 : 1, batch ? result : result + 1, zeros);
    }
    if (t.once)
        y = ox_with(&e, QNN_OP_ELEMENT_WISE_MINIMUM, y, 1);
    if (t.weighted) {
        // They are in the order of the n-grams; results are where ngram_indexes puts them.
        qc_tensor *w = NULL;
        float *of_results = ox_alloc(im, t.width * sizeof *of_results);
        if (!of_results)
            return ox_fail(im, n, QRN_E_MEM, "out of memory");
        for (uint32_t i = 0; i < t.indexes->n; i++)
            of_results[t.indexes->ints[i]] = ox_attr_find(n, "weights")->floats[i];
        QRN_TRY(ox_static(im, QNN_DATATYPE_FLOAT_32, 1, &t.width, of_results,
                          t.width * sizeof *of_results, &w));
        y = ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, y, w);
    }
    ox_copy_out(&e, 0, y);
    return ox_done(&e);
}

const ox_importer ox_import_tfidf[] = {
    {"TfIdfVectorizer", "", import_tfidf},
    {0},
};
