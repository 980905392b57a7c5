// SPDX-License-Identifier: MIT
//
// A composed QNN graph as JSON, in the form that the public provider writes and viewers of QNN
// graphs read: enumerations are the API's numbers. Written before the graph is finalized, so that
// it is there when that fails.
#include "frontend/ort/record.h"

#include "base/report_text.h"
#include "base/strmap.h"

#include <inttypes.h>
#include <string.h>

typedef struct dump {
    FILE *f;
    qrn_strmap seen; // names of tensors and types of ops that are written
    uint64_t n_parameters;
    bool first, no_memory;
} dump;

static void separate(dump *d) {
    if (!d->first)
        fputs(",\n", d->f);
    d->first = false;
}

static bool is_new(dump *d, const char *name) {
    static const char mark;
    if (qrn_strmap_get(&d->seen, name))
        return false;
    d->no_memory |= !qrn_strmap_put(&d->seen, name, (void *)(uintptr_t)&mark);
    return true;
}

static void write_pair(FILE *f, const Qnn_ScaleOffset_t *p) {
    fputs("{\"scale\": ", f);
    qrn_json_number(f, (double)p->scale);
    fprintf(f, ", \"offset\": %" PRId32 "}", p->offset);
}

static void write_encoding(FILE *f, const Qnn_QuantizeParams_t *q) {
    fprintf(f, "{\"definition\": %u, \"encoding\": %u", (unsigned)q->encodingDefinition,
            (unsigned)q->quantizationEncoding);
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED) {
        fputc('}', f);
        return;
    }
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        fputs(", \"scale_offset\": ", f);
        write_pair(f, &q->scaleOffsetEncoding);
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        fprintf(f, ", \"axis_scale_offset\": {\"axis\": %" PRId32 ", \"scale_offsets\": [",
                q->axisScaleOffsetEncoding.axis);
        for (uint32_t i = 0; i < q->axisScaleOffsetEncoding.numScaleOffsets; i++) {
            fputs(i ? ", " : "", f);
            write_pair(f, &q->axisScaleOffsetEncoding.scaleOffset[i]);
        }
        fputs("]}", f);
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        fprintf(f, ", \"bitwidth\": %u, \"scale_offset\": ", q->bwScaleOffsetEncoding.bitwidth);
        write_pair(f, &(Qnn_ScaleOffset_t){q->bwScaleOffsetEncoding.scale,
                                           q->bwScaleOffsetEncoding.offset});
        break;
    default: // by its number alone
        break;
    }
    fputc('}', f);
}

static void write_dims(FILE *f, const Qnn_TensorV1_t *t) {
    fputc('[', f);
    for (uint32_t i = 0; i < t->rank; i++)
        fprintf(f, "%s%" PRIu32, i ? ", " : "", t->dimensions[i]);
    fputc(']', f);
}

static void write_tensor(FILE *f, const Qnn_TensorV1_t *t) {
    qrn_json_text(f, t->name);
    fprintf(f, ": {\"id\": %" PRIu32 ", \"type\": %u, \"dataFormat\": %u, \"data_type\": %u, ",
            t->id, (unsigned)t->type, (unsigned)t->dataFormat, (unsigned)t->dataType);
    fputs("\"src_axis_format\": \"NOT_YET_DEFINED\", \"axis_format\": \"NOT_YET_DEFINED\", ", f);
    fputs("\"dims\": ", f);
    write_dims(f, t);
    fputs(", \"quant_params\": ", f);
    write_encoding(f, &t->quantizeParams);
}

static uint64_t count_of(const Qnn_TensorV1_t *t) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dimensions[i];
    return n;
}

static void add_tensors(dump *d, const Qnn_Tensor_t *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *t = &list[i].v1;
        if (t->type == QNN_TENSOR_TYPE_NULL || !is_new(d, t->name))
            continue;
        separate(d);
        write_tensor(d->f, t);
        fputc('}', d->f);
        if (t->type == QNN_TENSOR_TYPE_STATIC)
            d->n_parameters += count_of(t);
    }
}

static void add_ports(dump *d, qc_tensor *const *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        add_tensors(d, &list[i]->t, 1);
}

// --- nodes

static void write_names(FILE *f, const char *key, const Qnn_Tensor_t *list, uint32_t n) {
    bool first = true;
    fprintf(f, "\"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].v1.type == QNN_TENSOR_TYPE_NULL)
            continue;
        fputs(first ? "" : ", ", f);
        first = false;
        qrn_json_text(f, list[i].v1.name);
    }
    fputs("], ", f);
}

static void write_scalar(FILE *f, const Qnn_Scalar_t *s) {
    switch (s->dataType) {
    case QNN_DATATYPE_FLOAT_32:
        qrn_json_number(f, (double)s->floatValue);
        break;
    case QNN_DATATYPE_INT_32:
        fprintf(f, "%" PRId32, s->int32Value);
        break;
    case QNN_DATATYPE_BOOL_8:
        fputs(s->bool8Value ? "true" : "false", f);
        break;
    case QNN_DATATYPE_STRING:
        qrn_json_text(f, s->stringValue);
        break;
    default:
        fprintf(f, "%" PRIu32, s->uint32Value);
    }
}

// Tensors of parameters have 4-byte elements: the client makes no others.
static void write_data(FILE *f, const Qnn_TensorV1_t *t) {
    const void *data = t->clientBuf.data;
    uint64_t n = data ? count_of(t) : 0;
    fputs(", \"data\": [", f);
    for (uint64_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", f);
        if (t->dataType == QNN_DATATYPE_FLOAT_32)
            qrn_json_number(f, (double)((const float *)data)[i]);
        else if (t->dataType == QNN_DATATYPE_INT_32)
            fprintf(f, "%" PRId32, ((const int32_t *)data)[i]);
        else
            fprintf(f, "%" PRIu32, ((const uint32_t *)data)[i]);
    }
    fputs("]}", f);
}

static void write_params(FILE *f, const qe_op *op, Qnn_ParamType_t type) {
    bool first = true;
    for (uint32_t i = 0; i < op->n_params; i++) {
        const Qnn_Param_t *p = &op->params[i];
        if (p->paramType != type)
            continue;
        fputs(first ? "" : ", ", f);
        first = false;
        qrn_json_text(f, p->name);
        fputs(": {", f);
        if (type == QNN_PARAMTYPE_TENSOR) {
            write_tensor(f, &p->tensorParam.v1);
            write_data(f, &p->tensorParam.v1);
        } else {
            fprintf(f, "\"%u\": ", (unsigned)p->scalarParam.dataType);
            write_scalar(f, &p->scalarParam);
        }
        fputc('}', f);
    }
}

static void write_node(FILE *f, const qe_op *op) {
    qrn_json_text(f, op->name);
    fputs(": {\"package\": ", f);
    qrn_json_text(f, op->package);
    fputs(", \"type\": ", f);
    qrn_json_text(f, op->type);
    fputs(", ", f);
    write_names(f, "input_names", op->in, op->n_in);
    write_names(f, "output_names", op->out, op->n_out);
    fputs("\"tensor_params\": {", f);
    write_params(f, op, QNN_PARAMTYPE_TENSOR);
    fputs("}, \"scalar_params\": {", f);
    write_params(f, op, QNN_PARAMTYPE_SCALAR);
    fputs("}, \"macs_per_inference\": \"\"}", f);
}

static qrn_status write_graph(dump *d, const qc_graph *g, const qe_record *r) {
    d->first = true;
    fputs("{\"model.cpp\": \"N/A\", \"model.bin\": \"N/A\", \"converter_command\": \"N/A\", "
          "\"copyright_str\": \"N/A\",\n\"graph\": {\"tensors\": {\n",
          d->f);
    add_ports(d, g->inputs, g->n_inputs);
    add_ports(d, g->outputs, g->n_outputs);
    for (const qe_op *op = r->first; op; op = op->next) {
        add_tensors(d, op->in, op->n_in);
        add_tensors(d, op->out, op->n_out);
    }
    fputs("},\n\"nodes\": {\n", d->f);
    for (const qe_op *op = r->first; op; op = op->next) {
        fputs(op == r->first ? "" : ",\n", d->f);
        write_node(d->f, op);
    }
    fputs("}},\n\"op_types\": [", d->f);
    qrn_strmap_clear(&d->seen);
    d->first = true;
    for (const qe_op *op = r->first; op; op = op->next)
        if (is_new(d, op->type)) {
            fputs(d->first ? "" : ", ", d->f);
            d->first = false;
            qrn_json_text(d->f, op->type);
        }
    fprintf(d->f, "],\n\"Total parameters\": \"%" PRIu64 "\", ", d->n_parameters);
    fputs("\"Total MACs per inference\": \"\"}\n", d->f);
    return d->no_memory ? QRN_FAIL(QRN_E_MEM, "dump of a graph: no memory") : QRN_OK;
}

// --- the log of sizes

typedef struct sizes {
    uint64_t n, bytes;
} sizes;

static void log_tensor(dump *d, const Qnn_TensorV1_t *t, sizes *sum) {
    uint64_t bytes = (count_of(t) * qc_dtype_bits(t->dataType) + 7) / 8;
    separate(d);
    fputs("{\"name\": ", d->f);
    qrn_json_text(d->f, t->name);
    fprintf(d->f, ", \"data_type\": %u, \"dims\": ", (unsigned)t->dataType);
    write_dims(d->f, t);
    fprintf(d->f, ", \"bytes\": %" PRIu64 "}", bytes);
    sum->n++;
    sum->bytes += bytes;
}

static void write_log(dump *d, const char *name, const qc_graph *g, const qe_record *r) {
    sizes in = {0}, fixed = {0};
    fputs("{\"graph_name\": ", d->f);
    qrn_json_text(d->f, name);
    fputs(",\n\"inputs\": [", d->f);
    d->first = true;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        log_tensor(d, &g->inputs[i]->t.v1, &in);
    fputs("],\n\"initializers\": [", d->f);
    d->first = true;
    for (const qe_op *op = r->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i].v1.type == QNN_TENSOR_TYPE_STATIC && is_new(d, op->in[i].v1.name))
                log_tensor(d, &op->in[i].v1, &fixed);
    fprintf(d->f,
            "],\n\"summary\": {\"input_count\": %" PRIu64 ", \"initializer_count\": %" PRIu64
            ", \"total_input_bytes\": %" PRIu64 ", \"total_initializer_bytes\": %" PRIu64
            ", \"total_bytes\": %" PRIu64 ", \"total_mb\": ",
            in.n, fixed.n, in.bytes, fixed.bytes, in.bytes + fixed.bytes);
    qrn_json_number(d->f, (double)(in.bytes + fixed.bytes) / (1 << 20));
    fputs("}}\n", d->f);
}

qrn_status qe_dump_graph(const qe_ep *ep, const char *name, const qc_graph *g, const qe_record *r) {
    dump d = {0};
    qrn_outfile file;
    QRN_TRY(qe_file_open(ep->opt.json_dir, name, ".json", &file, &d.f));
    qrn_status s = write_graph(&d, g, r);
    qrn_strmap_clear(&d.seen);
    if (s != QRN_OK) {
        qrn_outfile_abort(&file);
        return s;
    }
    QRN_TRY(qrn_outfile_commit(&file));
    QRN_TRY(qe_file_open(ep->opt.json_dir, name, "_tensor_log.json", &file, &d.f));
    write_log(&d, name, g, r);
    qrn_strmap_clear(&d.seen);
    return qrn_outfile_commit(&file);
}
