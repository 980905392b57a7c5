// SPDX-License-Identifier: MIT
//
// The source of a model library: tables of tensors and nodes for Quern/ModelBuilder.h.
#include "tools/onnx_converter/convert.h"

#include <inttypes.h>
#include <math.h>

// A text in quotes, as C++ reads it back.
static void put_text(FILE *to, const char *s) {
    fputc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f || c == '?')
            fprintf(to, "\\%03o", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void put_blob(FILE *to, mc_blob b) {
    fprintf(to, "{%" PRIu64 ", %" PRIu64 "}", b.offset, b.size);
}

// Bits of a float, exactly.
static void put_float(FILE *to, double v) {
    if (isfinite(v))
        fprintf(to, "%af", v);
    else
        fputs(isnan(v) ? "__builtin_nanf(\"\")"
              : v > 0  ? "__builtin_inff()"
                       : "-__builtin_inff()",
              to);
}

static void put_encoding(FILE *to, const mc_tensor *t) {
    const Qnn_QuantizeParams_t *q = &t->t.quantizeParams;
    uint32_t bits = 0;
    int32_t axis = 0, offset = 0;
    float scale = 0;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        scale = q->scaleOffsetEncoding.scale;
        offset = q->scaleOffsetEncoding.offset;
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        bits = q->bwScaleOffsetEncoding.bitwidth;
        scale = q->bwScaleOffsetEncoding.scale;
        offset = q->bwScaleOffsetEncoding.offset;
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        axis = q->axisScaleOffsetEncoding.axis;
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        bits = q->bwAxisScaleOffsetEncoding.bitwidth;
        axis = q->bwAxisScaleOffsetEncoding.axis;
        break;
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
        bits = q->bwFloatBlockEncoding.bitwidth;
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        axis = q->blockwiseExpansion->axis;
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCK:
        break;
    default:
        fputs("quern_model::none", to);
        return;
    }
    fprintf(to, "{static_cast<Qnn_QuantizationEncoding_t>(%d), %u, %d, ",
            (int)q->quantizationEncoding, bits, axis);
    put_float(to, (double)scale);
    fprintf(to, ", %d, ", offset);
    put_blob(to, t->scales);
    fputs(", ", to);
    put_blob(to, t->offsets);
    fputs(", ", to);
    put_blob(to, t->blocks);
    fprintf(to, ", %u, %u, %u}", t->blocks_per_axis, t->storage, t->block_bits);
}

static const char *type_name(Qnn_TensorType_t t) {
    return t == QNN_TENSOR_TYPE_APP_WRITE  ? "QNN_TENSOR_TYPE_APP_WRITE"
           : t == QNN_TENSOR_TYPE_APP_READ ? "QNN_TENSOR_TYPE_APP_READ"
           : t == QNN_TENSOR_TYPE_STATIC   ? "QNN_TENSOR_TYPE_STATIC"
                                           : "QNN_TENSOR_TYPE_NATIVE";
}

static void put_tensors(FILE *to, const mc_record *r) {
    fputs("// Name, type, data type, rank, dimensions, encoding, data.\n"
          "static const quern_model::Tensor tensors[] = {\n",
          to);
    for (uint32_t i = 0; i < r->n_tensors; i++) {
        const mc_tensor *t = &r->tensors[i];
        fprintf(to, "    /* %u */ {\"%s\", %s, static_cast<Qnn_DataType_t>(0x%x), %u, {", i,
                t->name, type_name(t->t.type), (unsigned)t->t.dataType, t->t.rank);
        for (uint32_t k = 0; k < t->t.rank; k++)
            fprintf(to, "%s%u", k ? ", " : "", t->dims[k]);
        fputs("}, ", to);
        put_encoding(to, t);
        fputs(", ", to);
        put_blob(to, t->data);
        fputs("},\n", to);
    }
    fputs("};\n\n", to);
}

static void put_scalar(FILE *to, const Qnn_Scalar_t *s) {
    int64_t v = 0;
    double real = 0;
    switch (s->dataType) {
    case QNN_DATATYPE_FLOAT_32:
        real = (double)s->floatValue;
        break;
    case QNN_DATATYPE_FLOAT_64:
        real = s->doubleValue;
        break;
    case QNN_DATATYPE_INT_32:
        v = s->int32Value;
        break;
    case QNN_DATATYPE_UINT_32:
        v = s->uint32Value;
        break;
    case QNN_DATATYPE_BOOL_8:
        v = s->bool8Value;
        break;
    case QNN_DATATYPE_STRING:
        break;
    default:
        v = s->int64Value;
        break;
    }
    fprintf(to, "static_cast<Qnn_DataType_t>(0x%x), %" PRId64 ", ", (unsigned)s->dataType, v);
    put_float(to, real);
    fputs(", ", to);
    put_text(to, s->dataType == QNN_DATATYPE_STRING ? s->stringValue : "");
}

static void put_numbers(FILE *to, const char *what, uint32_t i, const int32_t *list, uint32_t n) {
    fprintf(to, "static const int32_t %s%u[] = {", what, i);
    for (uint32_t k = 0; k < n; k++)
        fprintf(to, "%s%d", k ? ", " : "", list[k]);
    fprintf(to, "%s};\n", n ? "" : "-1");
}

static void put_params(FILE *to, uint32_t i, const mc_node *n) {
    if (!n->n_params)
        return;
    fprintf(to, "static const quern_model::Param params%u[] = {\n", i);
    for (uint32_t k = 0; k < n->n_params; k++) {
        const mc_param *p = &n->params[k];
        fprintf(to, "    {\"%s\", %d, ", p->name, p->tensor);
        if (p->tensor < 0)
            put_scalar(to, &p->scalar);
        else
            fputs("QNN_DATATYPE_UNDEFINED, 0, 0, \"\"", to);
        fputs("},\n", to);
    }
    fputs("};\n", to);
}

static void put_nodes(FILE *to, const mc_record *r) {
    fputs("// Operands are rows of the tensors; parameters are rows, or values.\n", to);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        const mc_node *n = &r->nodes[i];
        put_numbers(to, "in", i, n->in, n->n_in);
        put_numbers(to, "out", i, n->out, n->n_out);
        put_params(to, i, n);
    }
    fputs("\nstatic const quern_model::Node nodes[] = {\n", to);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        const mc_node *n = &r->nodes[i];
        fprintf(to, "    {\"%s\", ", n->name);
        put_text(to, n->package);
        fprintf(to, ", \"%s\", in%u, %u, out%u, %u, ", n->type, i, n->n_in, i, n->n_out);
        if (n->n_params)
            fprintf(to, "params%u, %u},\n", i, n->n_params);
        else
            fputs("nullptr, 0},\n", to);
    }
    fputs("};\n\n", to);
}

// Lines of a comment; a backslash at an end would swallow the next line.
static void put_comment(FILE *to, const char *text) {
    bool start = true;
    for (; *text; text++) {
        if (start)
            fputs("// ", to);
        start = *text == '\n';
        fputc(*text == '\\' ? '/' : *text == '\r' ? ' ' : *text, to);
    }
    if (!start)
        fputc('\n', to);
}

void mc_write_cpp(FILE *to, const mc_model *m) {
    const mc_record *r = m->record;
    if (m->copyright)
        put_comment(to, m->copyright);
    fprintf(to, "// Model %s, made by qnn-onnx-converter of Quern " QUERN_VERSION ".\n",
            m->graph_name);
    put_comment(to, m->command);
    fputs("// A model library is built with\n"
          "//   qnn-model-lib-generator -c FILE.cpp -b FILE.bin\n"
          "#include \"Quern/ModelBuilder.h\"\n\n",
          to);
    fputs("// For people who look for what made a library.\n"
          "extern \"C\" __attribute__((visibility(\"default\"))) const char quern_model_build[];\n"
          "const char quern_model_build[] = \"quern-" QUERN_VERSION " qnn-onnx-converter\";\n\n",
          to);
    put_tensors(to, r);
    put_nodes(to, r);
    fprintf(to,
            "static const quern_model::Graph graphs[] = {{\"%s\", tensors, %u, nodes, %u}};\n\n"
            "QUERN_MODEL_LIBRARY(%s, graphs)\n",
            m->graph_name, r->n_tensors, r->n_nodes, m->prefix);
}
