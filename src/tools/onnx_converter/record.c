// SPDX-License-Identifier: MIT
//
// The recorder stands between the client and the library's function table, which the client holds
// by value. The functions of the API have no place for a context, so the record is in one variable.
#include "tools/onnx_converter/record.h"

#include "tools/converter/dlc_write.h"
#include "tools/quern/output.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512u // of a tar archive

static struct {
    mc_record *record;
    Qnn_ErrorHandle_t (*create)(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor);
    Qnn_ErrorHandle_t (*add)(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op);
} now;

static void give_up(mc_record *r, const char *what, const char *name) {
    if (r->failed != QRN_OK)
        return;
    r->failed = QRN_E_MEM;
    snprintf(r->why, sizeof r->why, "%s '%s'", what, name);
}

// A name of C, unlike any other of these names.
static const char *unique_name(const mc_record *r, qrn_strmap *names, const char *given) {
    char *name = cv_identifier(r->arena, given);
    for (uint32_t i = 2; name && qrn_strmap_get(names, name); i++) {
        size_t room = strlen(given) + 16;
        char *next = qrn_arena_alloc(r->arena, room), *plain = cv_identifier(r->arena, given);
        if (!next || !plain)
            return NULL;
        snprintf(next, room, "%s_%u", plain, i);
        name = next;
    }
    return name && qrn_strmap_put(names, name, (void *)(uintptr_t)name) ? name : NULL;
}

// --- the data file

// An octal number that fills its field up to the zero at the end.
static void header_field(char *to, size_t size, uint64_t v) {
    to[--size] = 0;
    for (; size; v >>= 3)
        to[--size] = (char)('0' + (v & 7));
}

// A member of the archive: name, size and a sum over the header.
static bool put_header(const char *name, uint64_t size) {
    char h[BLOCK] = {0};
    unsigned sum = 0;
    snprintf(h, 100, "%.99s", name);
    header_field(h + 100, 8, 0644);
    header_field(h + 108, 8, 0);
    header_field(h + 116, 8, 0);
    header_field(h + 124, 12, size);
    header_field(h + 136, 12, 0);
    memset(h + 148, ' ', 8);
    h[156] = '0';
    memcpy(h + 257, "ustar", 6);
    memcpy(h + 263, "00", 2);
    for (size_t i = 0; i < sizeof h; i++)
        sum += (unsigned char)h[i];
    header_field(h + 148, 7, sum);
    return qt_file_put(h, sizeof h);
}

static mc_blob put_blob(mc_record *r, const mc_tensor *t, const char *what, const void *data,
                        uint64_t size) {
    static const char zeros[BLOCK];
    char name[100];
    if (!size || r->failed != QRN_OK)
        return (mc_blob){0};
    if (!r->has_data && !qt_file_begin(r->data_path)) {
        give_up(r, "writing the data of tensor", t->name);
        return (mc_blob){0};
    }
    r->has_data = true;
    snprintf(name, sizeof name, "%u_%.70s.%s", r->n_tensors, t->name, what);
    size_t pad = (size_t)(-size % BLOCK);
    mc_blob b = {r->data_size + BLOCK, size};
    if (!put_header(name, size) || !qt_file_put(data, (size_t)size) || !qt_file_put(zeros, pad))
        give_up(r, "writing the data of tensor", t->name);
    r->data_size += BLOCK + size + pad;
    return b;
}

// --- tensors

static size_t n_blocks(const mc_tensor *t, const uint32_t *block) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->t.rank; i++)
        n *= block[i] ? (t->dims[i] + (size_t)block[i] - 1) / block[i] : 1;
    return n;
}

static void put_expansion(mc_record *r, mc_tensor *t, const Qnn_BlockwiseExpansion_t *e) {
    size_t n = t->dims[e->axis];
    t->blocks_per_axis = e->numBlocksPerAxis;
    t->storage = (uint32_t)e->blockScaleStorageType;
    t->block_bits = e->blockScaleBitwidth;
    t->scales = put_blob(r, t, "scales", e->scaleOffsets, n * sizeof *e->scaleOffsets);
    n *= e->numBlocksPerAxis;
    t->blocks = e->blockScaleStorageType == QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16
                    ? put_blob(r, t, "blocks", e->blocksScale16, n * sizeof *e->blocksScale16)
                    : put_blob(r, t, "blocks", e->blocksScale8, n);
}

// Arrays of encodings go into the data file; client/encoding.c lists the kinds that clients have.
static void put_encoding(mc_record *r, mc_tensor *t, const Qnn_QuantizeParams_t *q) {
    size_t rank_bytes = t->t.rank * sizeof(uint32_t);
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET: {
        const Qnn_AxisScaleOffset_t *e = &q->axisScaleOffsetEncoding;
        t->scales =
            put_blob(r, t, "scales", e->scaleOffset, e->numScaleOffsets * sizeof *e->scaleOffset);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET: {
        const Qnn_BwAxisScaleOffset_t *e = &q->bwAxisScaleOffsetEncoding;
        t->scales = put_blob(r, t, "scales", e->scales, e->numElements * sizeof *e->scales);
        if (e->offsets)
            t->offsets = put_blob(r, t, "offsets", e->offsets, e->numElements * sizeof *e->offsets);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BLOCK: {
        const Qnn_BlockEncoding_t *e = &q->blockEncoding;
        size_t n = n_blocks(t, e->blockSize);
        t->blocks = put_blob(r, t, "blocks", e->blockSize, rank_bytes);
        t->scales = put_blob(r, t, "scales", e->scaleOffset, n * sizeof *e->scaleOffset);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK: {
        const Qnn_BwFloatBlockEncoding_t *e = &q->bwFloatBlockEncoding;
        size_t n = n_blocks(t, e->blockSize);
        t->blocks = put_blob(r, t, "blocks", e->blockSize, rank_bytes);
        t->scales = put_blob(r, t, "scales", e->floatScaleOffset, n * sizeof *e->floatScaleOffset);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        put_expansion(r, t, q->blockwiseExpansion);
        break;
    default:
        break;
    }
}

// Makes room for one more.
static bool grow(qrn_arena *a, void **items, uint32_t n, uint32_t *cap, size_t item_bytes) {
    if (n < *cap)
        return true;
    uint32_t more = *cap ? 2 * *cap : 256;
    void *grown = qrn_arena_alloc(a, more * item_bytes);
    if (grown && n)
        memcpy(grown, *items, n * item_bytes);
    *items = grown;
    *cap = grown ? more : 0;
    return grown != NULL;
}

static bool note_id(mc_record *r, uint32_t id, uint32_t number) {
    while (id >= r->cap_ids) {
        void *ids = r->by_id;
        uint32_t n = r->cap_ids;
        if (!grow(r->arena, &ids, n, &r->cap_ids, sizeof *r->by_id))
            return false;
        r->by_id = ids;
    }
    r->by_id[id] = number + 1;
    return true;
}

static bool is_border(const Qnn_TensorV1_t *t) {
    return t->type == QNN_TENSOR_TYPE_APP_WRITE || t->type == QNN_TENSOR_TYPE_APP_READ;
}

static void note_tensor(mc_record *r, const Qnn_TensorV1_t *given) {
    void *list = r->tensors;
    char number[24];
    if (!grow(r->arena, &list, r->n_tensors, &r->cap_tensors, sizeof *r->tensors)) {
        give_up(r, "out of memory for tensor", given->name);
        return;
    }
    r->tensors = list;
    mc_tensor *t = &r->tensors[r->n_tensors];
    snprintf(number, sizeof number, "t%u", r->n_tensors);
    *t = (mc_tensor){.t = *given};
    t->given = qrn_arena_strdup(r->arena, given->name);
    t->name = unique_name(r, &r->tensor_names,
                          r->count_names && !is_border(given) ? number : given->name);
    if (!t->given || !t->name || given->rank > 8 || !note_id(r, given->id, r->n_tensors)) {
        give_up(r, "out of memory for tensor", given->name);
        return;
    }
    memcpy(t->dims, given->dimensions, given->rank * sizeof *t->dims);
    put_encoding(r, t, &given->quantizeParams);
    if (given->type == QNN_TENSOR_TYPE_STATIC)
        t->data = put_blob(r, t, "raw", given->clientBuf.data, given->clientBuf.dataSize);
    r->n_tensors++;
}

// --- nodes

static int32_t number_of(const mc_record *r, const Qnn_TensorV1_t *t) {
    if (t->type == QNN_TENSOR_TYPE_NULL || t->id >= r->cap_ids || !r->by_id[t->id])
        return -1;
    return (int32_t)(r->by_id[t->id] - 1);
}

static const int32_t *numbers_of(const mc_record *r, const Qnn_Tensor_t *list, uint32_t n) {
    int32_t *out = qrn_arena_alloc(r->arena, (n + 1u) * sizeof *out);
    for (uint32_t i = 0; out && i < n; i++)
        out[i] = number_of(r, &list[i].v1);
    return out;
}

static bool note_param(const mc_record *r, const Qnn_Param_t *from, mc_param *to) {
    *to = (mc_param){.name = qrn_arena_strdup(r->arena, from->name), .tensor = -1};
    if (from->paramType == QNN_PARAMTYPE_SCALAR) {
        to->scalar = from->scalarParam;
        if (to->scalar.dataType == QNN_DATATYPE_STRING)
            to->scalar.stringValue = qrn_arena_strdup(r->arena, from->scalarParam.stringValue);
        return to->name != NULL;
    }
    const Qnn_TensorV1_t *t = &from->tensorParam.v1;
    to->tensor = number_of(r, t);
    if (to->tensor < 0)
        return false;
    mc_tensor *tensor = &r->tensors[to->tensor];
    tensor->inline_data = qrn_arena_copy(r->arena, t->clientBuf.data, t->clientBuf.dataSize);
    return to->name && tensor->inline_data;
}

static void note_node(mc_record *r, const Qnn_OpConfigV1_t *op) {
    void *list = r->nodes;
    mc_param *params = qrn_arena_alloc(r->arena, (op->numOfParams + 1u) * sizeof *params);
    if (!params || !grow(r->arena, &list, r->n_nodes, &r->cap_nodes, sizeof *r->nodes)) {
        give_up(r, "out of memory for node", op->name);
        return;
    }
    r->nodes = list;
    bool own = strcmp(op->packageName, QNN_OP_PACKAGE_NAME_QTI_AISW) == 0;
    mc_node n = {.name = unique_name(r, &r->node_names, op->name),
                 .package =
                     own && r->package ? r->package : qrn_arena_strdup(r->arena, op->packageName),
                 .type = qrn_arena_strdup(r->arena, op->typeName),
                 .in = numbers_of(r, op->inputTensors, op->numOfInputs),
                 .out = numbers_of(r, op->outputTensors, op->numOfOutputs),
                 .n_in = op->numOfInputs,
                 .n_out = op->numOfOutputs,
                 .params = params};
    for (uint32_t i = 0; i < op->numOfParams; i++)
        if (!note_param(r, &op->params[i], &params[n.n_params++]))
            give_up(r, "the parameters of node", op->name);
    if (!n.name || !n.package || !n.type || !n.in || !n.out)
        give_up(r, "out of memory for node", op->name);
    r->nodes[r->n_nodes++] = n;
}

// --- the calls

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor) {
    Qnn_ErrorHandle_t e = now.create(graph, tensor);
    if (e == QNN_SUCCESS && now.record->failed == QRN_OK)
        note_tensor(now.record, &tensor->v1);
    return e;
}

static Qnn_ErrorHandle_t add_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    Qnn_ErrorHandle_t e = now.add(graph, op);
    if (e == QNN_SUCCESS && now.record->failed == QRN_OK)
        note_node(now.record, &op.v1);
    return e;
}

void mc_record_begin(mc_record *r, qc_client *c) {
    now.record = r;
    now.create = c->qnn.tensorCreateGraphTensor;
    now.add = c->qnn.graphAddNode;
    c->qnn.tensorCreateGraphTensor = create_tensor;
    c->qnn.graphAddNode = add_node;
}

bool mc_record_end(mc_record *r) {
    static const char zeros[2 * BLOCK];
    if (r->failed == QRN_OK && r->has_data && !qt_file_put(zeros, sizeof zeros))
        give_up(r, "writing", r->data_path);
    qrn_strmap_clear(&r->tensor_names);
    qrn_strmap_clear(&r->node_names);
    if (r->failed != QRN_OK)
        qt_error("%s: it cannot be recorded: %s", r->data_path, r->why);
    return r->failed == QRN_OK;
}
