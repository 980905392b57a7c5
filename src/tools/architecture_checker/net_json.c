// SPDX-License-Identifier: MIT
#include "tools/architecture_checker/net_json.h"

#include "base/file.h"
#include "base/strmap.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include "QnnTypes.h"

#include <string.h>

#define NONE UINT32_MAX
#define MAX_OPERANDS 1024u

static int wrong(const char *path, const char *what, const char *name, const char *why) {
    qt_error("%s: %s '%s': %s; expected the JSON of a converted model (NAME_net.json)", path, what,
             name, why);
    return QT_EXIT_INPUT;
}

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

bool ac_is_constant(const ac_tensor *t) { return t->type == QNN_TENSOR_TYPE_STATIC; }

static bool take_u32(const json_t *o, const char *key, uint32_t *out) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT32_MAX)
        return false;
    *out = (uint32_t)json_integer_value(v);
    return true;
}

static const char *read_tensor(const char *name, const json_t *o, ac_tensor *t) {
    *t = (ac_tensor){.name = name, .maker = NONE};
    const json_t *dims = json_object_get(o, "dims");
    if (!dims)
        dims = json_object_get(o, "current_dims");
    if (!take_u32(o, "type", &t->type) || !take_u32(o, "data_type", &t->data_type))
        return "'type' and 'data_type' are numbers";
    if (!json_is_array(dims) || json_array_size(dims) > 8)
        return "'dims' or 'current_dims' is a list of at most 8 numbers";
    for (t->rank = 0; t->rank < json_array_size(dims); t->rank++) {
        const json_t *d = json_array_get(dims, t->rank);
        if (!json_is_integer(d) || json_integer_value(d) < 0 || json_integer_value(d) > INT32_MAX)
            return "a dimension is not a number from 0 to 2147483647";
        t->dims[t->rank] = (uint32_t)json_integer_value(d);
    }
    return NULL;
}

static int read_tensors(const char *path, const json_t *list, ac_net *n, qrn_strmap *names) {
    const char *name;
    json_t *o;
    n->tensors = qrn_arena_alloc(n->arena, (json_object_size(list) + 1) * sizeof *n->tensors);
    if (!n->tensors)
        return no_memory();
    json_object_foreach((json_t *)(uintptr_t)list, name, o) {
        ac_tensor *t = &n->tensors[n->n_tensors++];
        const char *why = read_tensor(name, o, t);
        if (why)
            return wrong(path, "tensor", name, why);
        if (!qrn_strmap_put(names, name, t))
            return no_memory();
    }
    return QT_EXIT_OK;
}

// Names of operands to tensors; NULL, or what is wrong.
static const char *read_operands(const json_t *list, const ac_net *n, const qrn_strmap *names,
                                 uint32_t **out, uint32_t *count) {
    if (!json_is_array(list) || json_array_size(list) > MAX_OPERANDS)
        return "'input_names' and 'output_names' are lists of at most 1024 names";
    *out = qrn_arena_alloc(n->arena, (json_array_size(list) + 1) * sizeof **out);
    if (!*out)
        return "out of memory";
    for (*count = 0; *count < json_array_size(list); (*count)++) {
        const char *name = json_string_value(json_array_get(list, *count));
        const ac_tensor *t = name ? qrn_strmap_get(names, name) : NULL;
        if (!t)
            return "an operand is not in 'tensors'";
        (*out)[*count] = (uint32_t)(t - n->tensors);
    }
    return NULL;
}

static const char *read_node(const char *name, const json_t *o, ac_net *n, const qrn_strmap *names,
                             ac_node *node) {
    const json_t *tensors = json_object_get(o, "tensor_params");
    const json_t *scalars = json_object_get(o, "scalar_params");
    *node = (ac_node){.name = name,
                      .type = json_string_value(json_object_get(o, "type")),
                      .params = {tensors, scalars}};
    if (!node->type || (tensors && !json_is_object(tensors)) ||
        (scalars && !json_is_object(scalars)))
        return "'type' is a text, 'tensor_params' and 'scalar_params' are objects";
    const char *why =
        read_operands(json_object_get(o, "input_names"), n, names, &node->in, &node->n_in);
    return why ? why
               : read_operands(json_object_get(o, "output_names"), n, names, &node->out,
                               &node->n_out);
}

static int read_nodes(const char *path, const json_t *list, ac_net *n, const qrn_strmap *names) {
    const char *name;
    json_t *o;
    n->nodes = qrn_arena_alloc(n->arena, (json_object_size(list) + 1) * sizeof *n->nodes);
    if (!n->nodes)
        return no_memory();
    json_object_foreach((json_t *)(uintptr_t)list, name, o) {
        ac_node *node = &n->nodes[n->n_nodes];
        const char *why = read_node(name, o, n, names, node);
        if (why)
            return wrong(path, "node", name, why);
        for (uint32_t i = 0; i < node->n_out; i++)
            n->tensors[node->out[i]].maker = n->n_nodes;
        n->n_nodes++;
    }
    return QT_EXIT_OK;
}

static int load(const char *path, json_t **out) {
    qrn_file f;
    json_error_t e;
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    *out = json_loadb(f.data, f.size, JSON_REJECT_DUPLICATES, &e);
    qrn_file_unmap(&f);
    if (*out)
        return QT_EXIT_OK;
    qt_error("%s:%d: not JSON: %s", path, e.line, e.text);
    return QT_EXIT_INPUT;
}

int ac_net_read(const char *path, ac_net *out) {
    qrn_strmap names = {0};
    *out = (ac_net){.arena = qrn_arena_create()};
    if (!out->arena)
        return no_memory();
    int code = load(path, &out->top);
    if (code != QT_EXIT_OK)
        return code;
    const json_t *graph = json_object_get(out->top, "graph");
    const json_t *tensors = json_object_get(graph, "tensors");
    const json_t *nodes = json_object_get(graph, "nodes");
    if (!json_is_object(tensors) || !json_is_object(nodes))
        return wrong(path, "member", "graph", "it has no objects 'tensors' and 'nodes'");
    code = read_tensors(path, tensors, out, &names);
    if (code == QT_EXIT_OK)
        code = read_nodes(path, nodes, out, &names);
    qrn_strmap_clear(&names);
    return code;
}

void ac_net_close(ac_net *n) {
    json_decref(n->top);
    qrn_arena_destroy(n->arena);
    *n = (ac_net){0};
}

// --- the device model's graph

// The number of a scalar parameter, {"<data type>": value}; `absent` where there is none.
static uint32_t scalar(const ac_node *n, const char *name, uint32_t absent) {
    const json_t *p = json_object_get(n->params[1], name);
    const json_t *v = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)p));
    return json_is_integer(v) ? (uint32_t)json_integer_value(v) : absent;
}

// The numbers of a tensor parameter, {"<tensor>": {"data": [..]}}; NULL: none.
static const json_t *numbers(const ac_node *n, const char *name) {
    const json_t *p = json_object_get(n->params[0], name);
    const json_t *t = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)p));
    const json_t *data = json_object_get(t, "data");
    return json_is_array(data) ? data : NULL;
}

static void read_params(const ac_node *n, qd_op *out) {
    const json_t *perm = numbers(n, "perm"), *window = numbers(n, "filter_size");
    size_t rank = json_array_size(perm);
    out->groups = scalar(n, "group", 0);
    out->kind = scalar(n, "operation", 0);
    out->swaps = rank >= 2;
    for (size_t i = 0; i < rank; i++)
        out->swaps &= (size_t)json_integer_value(json_array_get(perm, i)) ==
                      (i + 2 < rank ? i : 2 * rank - 3 - i);
    for (size_t i = 0; i < json_array_size(window); i++)
        out->window =
            (i ? out->window : 1) * (uint32_t)json_integer_value(json_array_get(window, i));
}

static uint32_t fixed_bits(uint32_t data_type) {
    switch ((Qnn_DataType_t)data_type) {
    case QNN_DATATYPE_SFIXED_POINT_4:
    case QNN_DATATYPE_UFIXED_POINT_4:
        return 4;
    case QNN_DATATYPE_SFIXED_POINT_8:
    case QNN_DATATYPE_UFIXED_POINT_8:
        return 8;
    case QNN_DATATYPE_SFIXED_POINT_16:
    case QNN_DATATYPE_UFIXED_POINT_16:
        return 16;
    default:
        return 0;
    }
}

qrn_status ac_net_graph(ac_net *n, qd_graph *out) {
    uint32_t in[MAX_OPERANDS], made[MAX_OPERANDS];
    *out = (qd_graph){.arena = n->arena};
    for (uint32_t i = 0; i < n->n_tensors; i++) {
        ac_tensor *t = &n->tensors[i];
        uint32_t bits = fixed_bits(t->data_type);
        qd_value v = {.rank = t->rank < QD_MAX_RANK ? t->rank : QD_MAX_RANK,
                      .constant = ac_is_constant(t),
                      .input = t->type == QNN_TENSOR_TYPE_APP_WRITE,
                      .output = t->type == QNN_TENSOR_TYPE_APP_READ,
                      .bits = ac_is_constant(t) ? bits : 0,
                      .active_bits = ac_is_constant(t) ? 0 : bits};
        memcpy(v.dims, t->dims, v.rank * sizeof *v.dims);
        QRN_TRY(qd_add_value(out, &v, &t->value));
    }
    for (uint32_t i = 0; i < n->n_nodes; i++) {
        const ac_node *node = &n->nodes[i];
        qd_op op = {.name = node->name, .type = node->type, .in = in, .out = made};
        for (; op.n_in < node->n_in; op.n_in++)
            in[op.n_in] = n->tensors[node->in[op.n_in]].value;
        for (; op.n_out < node->n_out; op.n_out++)
            made[op.n_out] = n->tensors[node->out[op.n_out]].value;
        read_params(node, &op);
        QRN_TRY(qd_add_op(out, &op));
    }
    return QRN_OK;
}
