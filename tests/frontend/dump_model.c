// SPDX-License-Identifier: MIT
//
// dump_model MODEL: prints what the ONNX reader sees as JSON, in the form that check_model.py makes
// from the onnx package. Numbers of lists and bytes of tensors are printed as they are; floats as
// the hexadecimal of their bits, text as the hexadecimal of its bytes.
#include "base/mem.h"
#include "frontend/onnx/reader/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void hex(const void *data, size_t n) {
    printf("\"");
    for (size_t i = 0; i < n; i++)
        printf("%02x", ((const unsigned char *)data)[i]);
    printf("\"");
}

static void text(const char *s) { hex(s, strlen(s)); }

static void key(const char *name) { printf("\"%s\":", name); }

static void comma(uint32_t i) {
    if (i)
        printf(",");
}

static void names(const char *label, const char *const *list, uint32_t n) {
    key(label);
    printf("[");
    for (uint32_t i = 0; i < n; i++) {
        comma(i);
        text(list[i]);
    }
    printf("],");
}

static void dump_tensor(const ox_tensor *t) {
    printf("{\"type\":%d,\"dims\":[", t->type);
    for (uint32_t d = 0; d < t->rank; d++) {
        comma(d);
        printf("%" PRIu64, t->dims[d]);
    }
    printf("],\"data\":");
    hex(t->data, t->bytes);
    printf(",\"name\":");
    text(t->name);
    printf("}");
}

static void dump_graph(const ox_graph *g);

static void dump_value(const ox_attr *a) {
    switch (a->type) {
    case 1:
        hex(&a->f, sizeof a->f);
        return;
    case 2:
        printf("%" PRId64, a->i);
        return;
    case 3:
        hex(a->s, a->s_len);
        return;
    case 4:
        dump_tensor(a->t);
        return;
    case 5:
        dump_graph(a->g);
        return;
    case 6:
    case 7:
    case 8:
        printf("[");
        for (uint32_t i = 0; i < a->n; i++) {
            comma(i);
            if (a->type == 6)
                hex(&a->floats[i], sizeof a->floats[i]);
            else if (a->type == 7)
                printf("%" PRId64, a->ints[i]);
            else
                text(a->strings[i]);
        }
        printf("]");
        return;
    default:
        printf("null");
    }
}

static void dump_attrs(const char *label, const ox_attr *attrs, uint32_t n) {
    key(label);
    printf("[");
    for (uint32_t i = 0; i < n; i++) {
        const ox_attr *a = &attrs[i];
        comma(i);
        printf("{\"name\":");
        text(a->name);
        printf(",\"type\":%d,", a->type);
        key("ref");
        text(a->ref ? a->ref : "");
        printf(",\"value\":");
        if (a->ref)
            printf("null");
        else
            dump_value(a);
        printf("}");
    }
    printf("],");
}

static void dump_nodes(const ox_node *nodes, uint32_t n) {
    key("nodes");
    printf("[");
    for (uint32_t i = 0; i < n; i++) {
        const ox_node *x = &nodes[i];
        comma(i);
        printf("{");
        names("in", x->in, x->n_in);
        names("out", x->out, x->n_out);
        dump_attrs("attrs", x->attrs, x->n_attrs);
        key("name");
        text(x->name);
        printf(",\"op\":");
        text(x->op);
        printf(",\"domain\":");
        text(x->domain);
        printf("}");
    }
    printf("]");
}

static void dump_infos(const char *label, const ox_info *list, uint32_t n) {
    key(label);
    printf("[");
    for (uint32_t i = 0; i < n; i++) {
        const ox_info *v = &list[i];
        comma(i);
        printf("{\"type\":%d,\"dims\":", v->type);
        printf(v->has_shape ? "[" : "null");
        for (uint32_t d = 0; d < v->rank; d++) {
            comma(d);
            if (v->symbols[d])
                text(v->symbols[d]);
            else
                printf("%" PRId64, v->dims[d]);
        }
        printf(v->has_shape ? "],\"name\":" : ",\"name\":");
        text(v->name);
        printf("}");
    }
    printf("],");
}

static void dump_graph(const ox_graph *g) {
    printf("{\"name\":");
    text(g->name);
    printf(",\"constants\":[");
    for (uint32_t i = 0; i < g->n_constants; i++) {
        comma(i);
        dump_tensor(&g->constants[i]);
    }
    printf("],");
    dump_infos("inputs", g->inputs, g->n_inputs);
    dump_infos("outputs", g->outputs, g->n_outputs);
    dump_infos("infos", g->infos, g->n_infos);
    dump_nodes(g->nodes, g->n_nodes);
    printf("}");
}

static void dump_model(const ox_model *m) {
    printf("{\"ir_version\":%" PRId64 ",\"producer\":", m->ir_version);
    text(m->producer);
    printf(",\"opsets\":[");
    for (uint32_t i = 0; i < m->n_opsets; i++) {
        comma(i);
        printf("[");
        text(m->opsets[i].domain);
        printf(",%" PRId64 "]", m->opsets[i].version);
    }
    printf("],\"functions\":[");
    for (uint32_t i = 0; i < m->n_functions; i++) {
        const ox_function *f = &m->functions[i];
        comma(i);
        printf("{");
        names("in", f->in, f->n_in);
        names("out", f->out, f->n_out);
        names("attrs", f->attrs, f->n_attrs);
        dump_attrs("defaults", f->defaults, f->n_defaults);
        key("name");
        text(f->name);
        printf(",\"domain\":");
        text(f->domain);
        printf(",");
        dump_nodes(f->nodes, f->n_nodes);
        printf("}");
    }
    printf("],\"graph\":");
    dump_graph(m->graph);
    printf("}\n");
}

int main(int argc, char **argv) {
    ox_model *m;
    if (argc != 2) {
        fprintf(stderr, "usage: dump_model MODEL\n");
        return 2;
    }
    if (ox_model_open(argv[1], &m) != QRN_OK) {
        fprintf(stderr, "%s\n", qrn_message());
        return 1;
    }
    dump_model(m);
    ox_model_close(m);
    return qrn_alloc_live() == 0 ? 0 : 3;
}
