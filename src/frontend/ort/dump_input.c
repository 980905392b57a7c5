// SPDX-License-Identifier: MIT
//
// The graph that the host offers, as JSON in the form of dump_graph.c: ONNX ops with their domains
// for packages, dimensions that are not known are -1.
#include "frontend/ort/record.h"

#include "base/report_text.h"
#include "base/strmap.h"

#include <inttypes.h>

typedef struct dump {
    FILE *f;
    qrn_strmap seen;
    uint32_t n;
    bool no_memory;
} dump;

// A type as QNN counts it.
static unsigned qnn_type(int type) {
    static const unsigned numbers[] = {
        [OX_F32] = QNN_DATATYPE_FLOAT_32, [OX_U8] = QNN_DATATYPE_UINT_8,
        [OX_I8] = QNN_DATATYPE_INT_8,     [OX_U16] = QNN_DATATYPE_UINT_16,
        [OX_I16] = QNN_DATATYPE_INT_16,   [OX_I32] = QNN_DATATYPE_INT_32,
        [OX_I64] = QNN_DATATYPE_INT_64,   [OX_STRING] = QNN_DATATYPE_STRING,
        [OX_BOOL] = QNN_DATATYPE_BOOL_8,  [OX_F16] = QNN_DATATYPE_FLOAT_16,
        [OX_F64] = QNN_DATATYPE_FLOAT_64, [OX_U32] = QNN_DATATYPE_UINT_32,
        [OX_U64] = QNN_DATATYPE_UINT_64,  [OX_BF16] = QNN_DATATYPE_BFLOAT_16,
    };
    size_t n = sizeof numbers / sizeof numbers[0];
    bool known = type > 0 && (size_t)type < n && (numbers[type] || type == OX_I8);
    return known ? numbers[type] : QNN_DATATYPE_UNDEFINED;
}

// Begins a tensor unless it is there already.
static bool begin(dump *d, const char *name, Qnn_TensorType_t role, int type) {
    static const char mark;
    if (!name[0] || qrn_strmap_get(&d->seen, name))
        return false;
    d->no_memory |= !qrn_strmap_put(&d->seen, name, (void *)(uintptr_t)&mark);
    fputs(d->n ? ",\n" : "", d->f);
    qrn_json_text(d->f, name);
    fprintf(d->f, ": {\"id\": %" PRIu32 ", \"type\": %u, \"dataFormat\": 0, \"data_type\": %u, ",
            ++d->n, (unsigned)role, qnn_type(type));
    fputs("\"src_axis_format\": \"NOT_YET_DEFINED\", \"axis_format\": \"NOT_YET_DEFINED\", "
          "\"quant_params\": {\"definition\": 2147483647, \"encoding\": 2147483647}, \"dims\": [",
          d->f);
    return true;
}

static void add_infos(dump *d, const ox_info *list, uint32_t n, Qnn_TensorType_t role) {
    for (uint32_t i = 0; i < n; i++) {
        if (!begin(d, list[i].name, role, list[i].type))
            continue;
        for (uint32_t k = 0; list[i].has_shape && k < list[i].rank; k++)
            fprintf(d->f, "%s%" PRId64, k ? ", " : "", list[i].dims[k]);
        fputs("]}", d->f);
    }
}

static void add_constants(dump *d, const ox_tensor *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!begin(d, list[i].name, QNN_TENSOR_TYPE_STATIC, list[i].type))
            continue;
        for (uint32_t k = 0; k < list[i].rank; k++)
            fprintf(d->f, "%s%" PRIu64, k ? ", " : "", list[i].dims[k]);
        fputs("]}", d->f);
    }
}

static void write_names(FILE *f, const char *key, const char *const *list, uint32_t n) {
    fprintf(f, "\"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", f);
        qrn_json_text(f, list[i]);
    }
    fputs("], ", f);
}

static void write_attr(FILE *f, const ox_attr *a) {
    qrn_json_text(f, a->name);
    fputs(": ", f);
    if (a->type == OX_ATTR_FLOAT) {
        qrn_json_number(f, (double)a->f);
    } else if (a->type == OX_ATTR_INT) {
        fprintf(f, "%" PRId64, a->i);
    } else if (a->type == OX_ATTR_FLOATS || a->type == OX_ATTR_INTS) {
        fputc('[', f);
        for (uint32_t i = 0; i < a->n; i++) {
            fputs(i ? ", " : "", f);
            if (a->type == OX_ATTR_FLOATS)
                qrn_json_number(f, (double)a->floats[i]);
            else
                fprintf(f, "%" PRId64, a->ints[i]);
        }
        fputc(']', f);
    } else {
        qrn_json_text(f, a->type == OX_ATTR_STRING && a->s_len < 1024 ? a->s : NULL);
    }
}

static void write_node(FILE *f, const ox_node *n) {
    qrn_json_text(f, n->name);
    fputs(": {\"package\": ", f);
    qrn_json_text(f, n->domain[0] ? n->domain : "ai.onnx");
    fputs(", \"type\": ", f);
    qrn_json_text(f, n->op);
    fputs(", ", f);
    write_names(f, "input_names", n->in, n->n_in);
    write_names(f, "output_names", n->out, n->n_out);
    fputs("\"tensor_params\": {}, \"scalar_params\": {", f);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        fputs(i ? ", " : "", f);
        write_attr(f, &n->attrs[i]);
    }
    fputs("}, \"macs_per_inference\": \"\"}", f);
}

qrn_status qe_dump_input(qe_ep *ep, const ox_graph *g) {
    char suffix[64];
    dump d = {0};
    qrn_outfile file;
    snprintf(suffix, sizeof suffix, ".%u_qnn_ep_input_graph.json", ep->n_dumped++);
    QRN_TRY(qe_file_open(ep->opt.input_dir, g->name[0] ? g->name : "graph", suffix, &file, &d.f));
    fputs("{\"model.cpp\": \"N/A\", \"model.bin\": \"N/A\", \"converter_command\": \"N/A\", "
          "\"copyright_str\": \"N/A\", \"op_types\": [], \"Total parameters\": \"\", "
          "\"Total MACs per inference\": \"\",\n\"graph\": {\"tensors\": {\n",
          d.f);
    add_constants(&d, g->constants, g->n_constants);
    add_infos(&d, g->inputs, g->n_inputs, QNN_TENSOR_TYPE_APP_WRITE);
    add_infos(&d, g->outputs, g->n_outputs, QNN_TENSOR_TYPE_APP_READ);
    add_infos(&d, g->infos, g->n_infos, QNN_TENSOR_TYPE_NATIVE);
    qrn_strmap_clear(&d.seen);
    fputs("},\n\"nodes\": {\n", d.f);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        fputs(i ? ",\n" : "", d.f);
        write_node(d.f, &g->nodes[i]);
    }
    fputs("}}}\n", d.f);
    if (!d.no_memory)
        return qrn_outfile_commit(&file);
    qrn_outfile_abort(&file);
    return QRN_FAIL(QRN_E_MEM, "dump of a graph: no memory");
}
