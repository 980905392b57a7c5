// SPDX-License-Identifier: MIT
//
// Float matmuls with weights of 4 and 8 bits in blocks: results against sums in double precision,
// and context binaries that hold the weights and their scales once, for two graphs, and are used
// where they lie. Damaged ones are rejected.
#include "binary_model.h"

#include "../binary/refile.h"
#include "backend/htp/binary/binary.h"
#include "base/fp16.h"
#include "binary/binary.h"
#include "core/own.h"

#include <math.h>
#include <sys/mman.h>

#define DEPTH 512u
#define COLS 300u
#define BLOCK 32u
#define RUNS (DEPTH / BLOCK)
#define ROWS_MOST 20u
#define OVERHEAD 40960u // what is no weight: ten sections of whole pages

static const QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                               .isPersistentBinary = 1};

// Weights [COLS, DEPTH] for FullyConnected, or [DEPTH, COLS] for MatMul.
typedef struct layer {
    const char *op;
    unsigned bits;
    bool offsets;
    int8_t w[DEPTH * COLS];
    Qnn_FloatScaleOffset_t float_pairs[RUNS * COLS];
    Qnn_ScaleOffset_t pairs[RUNS * COLS];
    uint16_t x[ROWS_MOST * DEPTH], y[ROWS_MOST * COLS];
} layer;

static bool by_rows(const layer *l) { return strcmp(l->op, "FullyConnected") == 0; }

static uint32_t random_state = 5;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static layer *make_layer(const char *op, unsigned bits, bool offsets) {
    layer *l = calloc(1, sizeof *l);
    assert_non_null(l);
    *l = (layer){.op = op, .bits = bits, .offsets = offsets};
    for (size_t i = 0; i < DEPTH * COLS; i++)
        l->w[i] = (int8_t)((int)random_below(1u << bits) - (1 << (bits - 1)));
    for (size_t i = 0; i < RUNS * COLS; i++) {
        float scale = (float)(64 + random_below(64)) * 0x1p-14f; // exact in fp16
        int32_t offset = offsets ? (int32_t)random_below(9) - 4 : 0;
        l->pairs[i] = (Qnn_ScaleOffset_t){scale, offset};
        l->float_pairs[i] = (Qnn_FloatScaleOffset_t){scale, 0.0f};
    }
    for (size_t i = 0; i < ROWS_MOST * DEPTH; i++)
        l->x[i] = qrn_f16_from_f64((double)random_below(2000) / 1000.0 - 1.0);
    return l;
}

static double weight_at(const layer *l, size_t k, size_t j) {
    size_t at = by_rows(l) ? j * DEPTH + k : k * COLS + j;
    size_t group = by_rows(l) ? j * RUNS + k / BLOCK : k / BLOCK * COLS + j;
    return (double)l->pairs[group].scale * (double)(l->w[at] + l->pairs[group].offset);
}

static void encode(layer *l, Qnn_Tensor_t *t) {
    static uint32_t block_rows[] = {1, BLOCK}, block_columns[] = {BLOCK, 1};
    Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    uint32_t *block = by_rows(l) ? block_rows : block_columns;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    if (l->bits == 4) {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK;
        q->bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){4, block, l->float_pairs};
    } else {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
        q->blockEncoding = (Qnn_BlockEncoding_t){block, l->pairs};
    }
}

static void build(const htp_world *w, layer *l, const char *name, uint32_t rows) {
    uint32_t x_dims[] = {rows, DEPTH}, y_dims[] = {rows, COLS};
    uint32_t w_dims[] = {by_rows(l) ? COLS : DEPTH, by_rows(l) ? DEPTH : COLS};
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w->qnn.graphCreate(w->context, name, NULL, &g));
    const Qnn_DataType_t f16 = QNN_DATATYPE_FLOAT_16;
    Qnn_Tensor_t in[2], y;
    in[0] = net_add(&w->qnn, g, htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, f16, 2, x_dims));
    y = net_add(&w->qnn, g, htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, f16, 2, y_dims));
    in[1] = net_static("w", QNN_DATATYPE_SFIXED_POINT_8, 2, w_dims, l->w, sizeof l->w);
    encode(l, &in[1]);
    in[1] = net_add(&w->qnn, g, in[1]);
    HTP_OK(w->qnn.graphAddNode(g, htp_op("matmul", l->op, in, 2, &y, 1)));
    HTP_OK(w->qnn.graphFinalize(g, NULL, NULL));
}

static Qnn_GraphHandle_t run(const htp_world *w, layer *l, const char *name, uint32_t rows) {
    uint32_t x_dims[] = {rows, DEPTH}, y_dims[] = {rows, COLS};
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w->qnn.graphRetrieve(w->context, name, &g));
    Qnn_Tensor_t x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_16, 2, x_dims);
    Qnn_Tensor_t y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_16, 2, y_dims);
    const qrn_api_graph *own = qrn_handle_get(QRN_KIND_GRAPH, g);
    x.v1.id = own->ir->tensors[0]->id;
    y.v1.id = own->ir->tensors[1]->id;
    memset(l->y, 0xAA, sizeof l->y);
    htp_buffer(&x, l->x, (size_t)rows * DEPTH * 2);
    htp_buffer(&y, l->y, (size_t)rows * COLS * 2);
    HTP_OK(w->qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL));
    return g;
}

// The nearest fp16 number, but for what sums in single precision are off by.
static void compare(const layer *l, uint32_t rows) {
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < COLS; j++) {
            double want = 0, terms = 0;
            for (uint32_t k = 0; k < DEPTH; k++) {
                double x = (double)qrn_f16_to_f32(l->x[i * DEPTH + k]), w = weight_at(l, k, j);
                want += x * w;
                terms += fabs(x * w);
            }
            double got = (double)qrn_f16_to_f32(l->y[i * COLS + j]);
            double most = 0x1p-11 * fabs(want) + DEPTH * 0x1p-24 * terms + 0x1p-25;
            if (!(fabs(got - want) <= most))
                fail_msg("%s [%u,%u]: %.9g, expected %.9g +- %.3g", l->op, i, j, got, want, most);
        }
}

// A context with a graph for one row and one for many, which share the weights.
static blob make_blob(layer *l, uint32_t soc) {
    htp_world w = htp_begin(soc);
    build(&w, l, "decode", 1);
    build(&w, l, "prefill", ROWS_MOST);
    run(&w, l, "decode", 1);
    compare(l, 1);
    run(&w, l, "prefill", ROWS_MOST);
    compare(l, ROWS_MOST);
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    return b;
}

static bool is_inside(const blob *b, const void *p) {
    return (const uint8_t *)p >= b->data && (const uint8_t *)p < b->data + b->size;
}

// Everything that is packed lies in the file, which is not copied.
static void check_in_place(const blob *b, Qnn_GraphHandle_t g, uint32_t n_packings) {
    const qrn_plan *p =
        qrn_runner_plan(((qrn_api_graph *)qrn_handle_get(QRN_KIND_GRAPH, g))->runner);
    assert_int_equal(p->n_packings, n_packings);
    for (uint32_t i = 0; i < p->n_packings; i++)
        assert_true(is_inside(b, p->packings[i].dst));
    assert_true(p->const_bytes < 64);
}

// The encoding reads as it was given, and the nodes are valid with it.
static void check_encoding(const layer *l, Qnn_GraphHandle_t g) {
    const qrn_api_graph *own = qrn_handle_get(QRN_KIND_GRAPH, g);
    const qrn_quant *q = &own->ir->tensors[2]->quant;
    assert_non_null(q->packed);
    assert_int_equal(q->n_groups, RUNS * COLS);
    for (uint32_t i = 0; i < q->n_groups; i++) {
        assert_true(qrn_quant_scale(q, i) == l->pairs[i].scale);
        assert_int_equal(qrn_quant_offset(q, i), l->pairs[i].offset);
    }
    assert_int_equal(qrn_htp_check_nodes(own), QRN_OK);
}

static void check_form(const char *op, unsigned bits, bool offsets, double bytes_a_weight) {
    layer *l = make_layer(op, bits, offsets);
    blob b = make_blob(l, 69);
    double columns = (COLS + 31) / 32 * 32; // panels are whole
    assert_true((double)b.size <= bytes_a_weight * DEPTH * columns + OVERHEAD);
    qrn_bin_weights at;
    assert_int_equal(qrn_bin_find_weights(b.data, b.size, &at), QRN_OK);
    assert_int_equal(at.weights_bytes, 0); // both graphs use them
    blob file = {mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                 b.size};
    assert_ptr_not_equal(file.data, MAP_FAILED);
    memcpy(file.data, b.data, b.size);
    // Loading reads no weight and no scale of them.
    size_t hidden = at.shared_bytes / 4096 * 4096;
    assert_int_equal(
        mprotect(file.data + (at.shared_offset + 4095) / 4096 * 4096, hidden - 4096, PROT_NONE), 0);
    htp_world w = htp_bare(69);
    HTP_OK(blob_load(&w, &persistent, NULL, &file));
    assert_int_equal(mprotect(file.data, file.size, PROT_READ), 0);
    Qnn_GraphHandle_t g = run(&w, l, "decode", 1);
    check_in_place(&file, g, offsets ? 3 : 2);
    check_encoding(l, g);
    compare(l, 1);
    check_in_place(&file, run(&w, l, "prefill", ROWS_MOST), offsets ? 3 : 2);
    compare(l, ROWS_MOST);
    htp_end(&w);
    munmap(file.data, file.size);
    free(b.data);
    free(l);
}

static void four_bits_take_at_most_six_tenths_of_a_byte(void **state) {
    (void)state;
    check_form("FullyConnected", 4, false, 0.5 + 2.0 / BLOCK);
    check_form("MatMul", 4, false, 0.5 + 2.0 / BLOCK);
}

static void eight_bits_with_offsets_take_a_byte_and_three_a_block(void **state) {
    (void)state;
    check_form("FullyConnected", 8, true, 1 + 3.0 / BLOCK);
    check_form("MatMul", 8, true, 1 + 3.0 / BLOCK);
}

// Loads it, and whatever comes of it frees it.
static bool loads(const htp_world *w, const uint8_t *data, size_t size) {
    Qnn_ContextHandle_t c = NULL;
    Qnn_ErrorHandle_t code =
        w->qnn.contextCreateFromBinary(w->backend, w->device, NULL, data, size, &c, NULL);
    if (c)
        HTP_OK(w->qnn.contextFree(c, NULL));
    assert_int_equal(code == QNN_SUCCESS, c != NULL);
    return code == QNN_SUCCESS;
}

static bool loads_changed(const htp_world *w, refile *r, uint8_t *word, uint32_t value) {
    uint32_t before = refile_get(word);
    size_t size;
    refile_put(word, value);
    uint8_t *file = refile_join(r, &size);
    bool ok = loads(w, file, size);
    free(file);
    refile_put(word, before);
    return ok;
}

// Is the word the packing of scales in a packed form, followed by their type?
static bool begins_scales(const uint8_t *word) {
    return refile_get(word) == 10 && refile_get(word + 4) == 0x0216;
}

// Words of the records of a graph changed, one at a time: no crash, and no scales out of nowhere.
static void records_with_scales_in_packed_forms_may_be_hostile(void **state) {
    (void)state;
    layer *l = make_layer("MatMul", 8, true);
    blob b = make_blob(l, 69);
    htp_world w = htp_bare(69);
    refile r;
    unsigned rejected = 0, forms = 0;
    assert_true(refile_split(b.data, b.size, &r));
    uint32_t s = 0;
    while (r.sections[s].type != 2)
        s++;
    for (size_t at = 0; at + 8 <= r.sections[s].size; at += 4) {
        uint8_t *word = r.sections[s].data + at;
        rejected += !loads_changed(&w, &r, word, refile_get(word) ^ 4);
        if (begins_scales(word)) {
            forms++;
            assert_false(loads_changed(&w, &r, word, 12));
            assert_false(loads_changed(&w, &r, word + 4, 0x0116)); // u16
        }
    }
    assert_int_equal(forms, 1);
    assert_true(rejected > 50);
    refile_free(&r);
    htp_end(&w);
    free(b.data);
    free(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_bits_take_at_most_six_tenths_of_a_byte),
        cmocka_unit_test(eight_bits_with_offsets_take_a_byte_and_three_a_block),
        cmocka_unit_test(records_with_scales_in_packed_forms_may_be_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
