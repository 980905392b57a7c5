// SPDX-License-Identifier: MIT
//
// From drawn ops to the structs of the API.
#include "op_client.h"

#include "encoding.h"

#include <stdio.h>

static char *text(scrap *mem, const char *prefix, const char *kind, uint32_t i) {
    char buf[64];
    snprintf(buf, sizeof buf, "%s.%s%u", prefix, kind, (unsigned)i);
    return strcpy(scrap_new(mem, strlen(buf) + 1, 0), buf);
}

static float draw_real(source *s) {
    static const float wild[] = {3e38f, -3e38f, 1e-40f, 1e9f, -1e9f, -0.0f, 65504.0f, 1e5f};
    if (!draw_chance(s, 3))
        return ((float)draw_u8(s) - 128.0f) / 32.0f;
    uint32_t which = draw_below(s, 8);
    return which == 0   ? __builtin_nanf("")
           : which == 1 ? __builtin_inff()
           : which == 2 ? -__builtin_inff()
                        : DRAW_FROM(s, wild);
}

static uint16_t half_of(float f) { // near enough for test data
    static const uint16_t wild[] = {0x7C00, 0xFC00, 0x7E00, 0x7BFF, 0x0001, 0x8000};
    if (!(f > -1000.0f && f < 1000.0f))
        return wild[(unsigned)(f > 0.0f) + 2u * (unsigned)(f != f)];
    int quarter = (int)(f * 4.0f);
    uint16_t sign = quarter < 0 ? 0x8000 : 0, mag = (uint16_t)(quarter < 0 ? -quarter : quarter);
    uint16_t exponent = 13; // mag * 2^-2 with a leading one at bit 0
    while (mag > 1 && mag >> (exponent - 12))
        exponent++;
    return mag ? (uint16_t)(sign | exponent << 10 | ((mag << (10 - (exponent - 13))) & 0x3FF))
               : sign;
}

static uint64_t draw_integer(source *s, bool is_signed) {
    static const uint64_t wild[] = {UINT64_MAX, INT32_MAX, 1u << 31, INT64_MAX, 255, 65536};
    if (draw_chance(s, 2))
        return DRAW_FROM(s, wild);
    uint64_t v = draw_below(s, 5);
    return is_signed && draw_chance(s, 10) ? 0u - v : v;
}

void data_draw(source *s, qrn_dtype dtype, void *data, size_t size_bytes) {
    uint8_t *p = data;
    uint32_t bits = qrn_dtypes[dtype].bits;
    size_t step = bits < 8 ? 1 : bits / 8;
    bool codes = qrn_dtype_is_fixed(dtype);
    for (size_t i = 0; i + step <= size_bytes; i += step) {
        float f = draw_real(s);
        double d = f;
        uint64_t v = codes ? draw_u32(s) | (uint64_t)draw_u32(s) << 32
                           : draw_integer(s, qrn_dtypes[dtype].cls == QRN_CLASS_SINT);
        if (dtype == QRN_DTYPE_F16)
            v = half_of(f);
        if (dtype == QRN_DTYPE_B8 && !draw_chance(s, 3))
            v &= 1;
        memcpy(p + i,
               dtype == QRN_DTYPE_F32   ? (void *)&f
               : dtype == QRN_DTYPE_F64 ? (void *)&d
                                        : (void *)&v,
               step);
    }
}

void input_draw(source *s, const drawn_op *op, uint32_t i, void *data, size_t size_bytes) {
    const qrn_tensor *x = &op->in[i];
    const qrn_operand_def *d = &op->def->ins[i < op->def->n_ins ? i : op->def->n_ins - 1u];
    const qrn_shape *y = &op->out[0].shape;
    data_draw(s, x->dtype, data, size_bytes);
    if (draw_chance(s, 20))
        return;
    if (strcmp(d->name, "shape") == 0 && size_bytes == y->rank * sizeof *y->dims)
        memcpy(data, y->dims, size_bytes);
    uint32_t n = x->format == QRN_FORMAT_SPARSE ? x->n_sparse_elements * x->n_sparse_dims : 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t index = draw_below(s, x->shape.dims[k % x->n_sparse_dims]);
        memcpy((char *)data + k * sizeof index, &index, sizeof index);
    }
}

static Qnn_Tensor_t describe(source *s, scrap *mem, const qrn_tensor *x, const char *name,
                             Qnn_TensorType_t type, bool v2, uint32_t bad_percent) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    if (v2) {
        t.version = QNN_TENSOR_VERSION_2;
        t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    }
    Qnn_TensorV2_t *f = tensor_of(&t);
    f->name = name;
    f->type = type;
    if (type == QNN_TENSOR_TYPE_NULL)
        return t;
    f->dataType = (Qnn_DataType_t)qrn_dtypes[x->dtype].code;
    f->dataFormat = x->format;
    f->quantizeParams = encoding_draw(s, mem, x->dtype, &x->shape, bad_percent);
    f->rank = x->shape.rank;
    f->dimensions = x->shape.rank ? scrap_new(mem, x->shape.rank * sizeof(uint32_t), 0) : NULL;
    if (f->dimensions)
        memcpy(f->dimensions, x->shape.dims, x->shape.rank * sizeof(uint32_t));
    f->memType = QNN_TENSORMEMTYPE_RAW;
    if (v2 && x->has_dynamic) {
        f->isDynamicDimensions = scrap_new(mem, x->shape.rank, 0);
        memcpy(f->isDynamicDimensions, x->dynamic, x->shape.rank);
    }
    if (v2 && x->format == QRN_FORMAT_SPARSE) {
        f->sparseParams.type = QNN_SPARSE_LAYOUT_HYBRID_COO;
        f->sparseParams.hybridCoo =
            (Qnn_SparseLayoutHybridCoo_t){x->n_sparse_elements, x->n_sparse_dims};
    }
    return t;
}

static void set_data(source *s, scrap *mem, const drawn_op *op, uint32_t i, Qnn_Tensor_t *t) {
    size_t bytes = op->in[i].size_bytes;
    tensor_of(t)->clientBuf = (Qnn_ClientBuffer_t){scrap_new(mem, bytes, 0), (uint32_t)bytes};
    input_draw(s, op, i, tensor_of(t)->clientBuf.data, bytes);
}

static bool is_sparse(const drawn_op *op) {
    bool sparse = false;
    for (uint32_t i = 0; i < op->n_in; i++)
        sparse |= op->in[i].format == QRN_FORMAT_SPARSE;
    for (uint32_t i = 0; i < op->n_out; i++)
        sparse |= op->out[i].format == QRN_FORMAT_SPARSE;
    return sparse;
}

static void make_dynamic(source *s, qrn_tensor *x, bool all) {
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        x->dynamic[i] = all || draw_chance(s, 60);
        x->has_dynamic |= x->dynamic[i] != 0;
    }
}

static void make_operands(source *s, scrap *mem, drawn_op *op, const char *prefix,
                          const client_style *style, client_op *c) {
    bool may_vary = op->def->flags & (QRN_OP_DYNAMIC | QRN_OP_OUT_MAX);
    bool dynamic = may_vary && draw_chance(s, style->dynamic_percent);
    bool v2 = dynamic || is_sparse(op) || draw_chance(s, 50), all = draw_chance(s, 60);
    for (uint32_t i = 0; i < op->n_in; i++) {
        qrn_tensor *x = &op->in[i];
        bool absent = x->role == QRN_ROLE_NULL;
        if (!absent && draw_chance(s, style->static_percent))
            x->role = QRN_ROLE_STATIC;
        else if (!absent && dynamic && op->def->flags & QRN_OP_DYNAMIC)
            make_dynamic(s, x, all);
        c->in[i] = describe(s, mem, x, text(mem, prefix, "in", i),
                            absent                       ? QNN_TENSOR_TYPE_NULL
                            : x->role == QRN_ROLE_STATIC ? QNN_TENSOR_TYPE_STATIC
                                                         : QNN_TENSOR_TYPE_APP_WRITE,
                            v2, style->bad_percent);
        if (x->role == QRN_ROLE_STATIC)
            set_data(s, mem, op, i, &c->in[i]);
    }
    for (uint32_t i = 0; i < op->n_out; i++) {
        qrn_tensor *x = &op->out[i];
        bool absent = x->role == QRN_ROLE_NULL;
        if (!absent && dynamic)
            make_dynamic(s, x, all);
        c->out[i] = describe(s, mem, x, text(mem, prefix, "out", i),
                             absent ? QNN_TENSOR_TYPE_NULL : QNN_TENSOR_TYPE_APP_READ, v2,
                             style->bad_percent);
    }
}

static Qnn_Scalar_t scalar_of(const qrn_param *p) {
    Qnn_Scalar_t s = QNN_SCALAR_INIT;
    s.dataType = (Qnn_DataType_t)qrn_dtypes[p->dtype].code;
    switch ((qrn_dtype_class)qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_FLOAT:
        if (p->dtype == QRN_DTYPE_F64)
            s.doubleValue = p->value.f;
        else
            s.floatValue = (float)p->value.f;
        break;
    case QRN_CLASS_STRING:
        s.stringValue = p->value.s;
        break;
    default:
        s.int64Value = p->value.i; // the smaller members are its low bytes
        break;
    }
    return s;
}

void client_op_make(source *s, scrap *mem, drawn_op *op, const char *prefix,
                    const client_style *style, client_op *c) {
    make_operands(s, mem, op, prefix, style, c);
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->def->n_params; i++) {
        const qrn_param *p = &op->params[i];
        if (!p->present)
            continue;
        Qnn_Param_t *out = &c->params[n++];
        *out = (Qnn_Param_t)QNN_PARAM_INIT;
        out->name = op->def->params[i].name;
        out->paramType = p->is_tensor ? QNN_PARAMTYPE_TENSOR : QNN_PARAMTYPE_SCALAR;
        if (!p->is_tensor) {
            out->scalarParam = scalar_of(p);
            continue;
        }
        out->tensorParam = describe(s, mem, p->tensor, text(mem, prefix, "param", i),
                                    QNN_TENSOR_TYPE_STATIC, draw_chance(s, 50), 0);
        void *copy = scrap_new(mem, p->tensor->size_bytes, 0);
        memcpy(copy, p->tensor->data, p->tensor->size_bytes);
        tensor_of(&out->tensorParam)->clientBuf =
            (Qnn_ClientBuffer_t){copy, (uint32_t)p->tensor->size_bytes};
    }
    c->config = (Qnn_OpConfig_t)QNN_OPCONFIG_INIT;
    c->config.v1 = (Qnn_OpConfigV1_t){.name = text(mem, prefix, "node", 0),
                                      .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                                      .typeName = op->def->name,
                                      .numOfParams = n,
                                      .params = c->params,
                                      .numOfInputs = op->n_in,
                                      .inputTensors = c->in,
                                      .numOfOutputs = op->n_out,
                                      .outputTensors = c->out};
}

Qnn_ErrorHandle_t client_op_create(const qnn_table *qnn, Qnn_GraphHandle_t graph, client_op *c) {
    const Qnn_OpConfigV1_t *v = &c->config.v1;
    for (uint32_t i = 0; i < v->numOfInputs + v->numOfOutputs + v->numOfParams; i++) {
        Qnn_Tensor_t *t = i < v->numOfInputs ? &c->in[i]
                          : i < v->numOfInputs + v->numOfOutputs
                              ? &c->out[i - v->numOfInputs]
                              : &c->params[i - v->numOfInputs - v->numOfOutputs].tensorParam;
        if (i >= v->numOfInputs + v->numOfOutputs &&
            c->params[i - v->numOfInputs - v->numOfOutputs].paramType != QNN_PARAMTYPE_TENSOR)
            continue;
        if (tensor_of(t)->type == QNN_TENSOR_TYPE_NULL)
            continue;
        Qnn_ErrorHandle_t rc = qnn->tensorCreateGraphTensor(graph, t);
        if (rc != QNN_SUCCESS)
            return rc;
    }
    return QNN_SUCCESS;
}
