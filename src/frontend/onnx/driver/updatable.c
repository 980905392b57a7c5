// SPDX-License-Identifier: MIT
//
// Constants that may change after compilation, such as the matrices of a LoRA adapter: updateable
// tensors of the graph. They keep name, shape and layout, so that who makes new values need not
// know how the graph was imported.
#include "frontend/onnx/driver/internal.h"

#include <fnmatch.h>

static bool fits(const char *pattern, const char *name) { return fnmatch(pattern, name, 0) == 0; }

bool ox_is_updatable(const ox_import *im, const char *name) {
    for (uint32_t i = 0; im->depth == 0 && i < im->opt->n_updatable; i++)
        if (fits(im->opt->updatable[i], name))
            return true;
    return false;
}

static qrn_status create(ox_import *im, const ox_tensor *t, qc_tensor **out) {
    ox_val *v = ox_scope_find(im->scope, t->name);
    if (ox_type_bits(t->type) > 32)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "constant '%s': %s cannot be updateable; 32 bits are the most", t->name,
                        ox_type_name(t->type));
    QRN_TRY(ox_fit_encoding(im, v));
    QRN_TRY(ox_tensor_create(im, v, OX_ONNX, QNN_TENSOR_TYPE_UPDATEABLE_STATIC, t->data, t->bytes,
                             out));
    v->at[OX_ONNX] = *out;
    return QRN_OK;
}

// A pattern that matches nothing is a mistake: the graph would be compiled without the adapter.
static qrn_status check_patterns(const ox_import *im, const ox_graph *g) {
    for (uint32_t i = 0; i < im->opt->n_updatable; i++) {
        bool found = false;
        for (uint32_t k = 0; k < g->n_constants && !found; k++)
            found = fits(im->opt->updatable[i], g->constants[k].name);
        if (!found)
            return QRN_FAIL(QRN_E_NOT_FOUND,
                            "no constant of graph '%s' matches '%s', which should be updateable",
                            g->name, im->opt->updatable[i]);
    }
    return QRN_OK;
}

qrn_status ox_create_updatable(ox_import *im, const ox_graph *g, ox_result *r) {
    if (im->opt->n_updatable == 0)
        return QRN_OK;
    QRN_TRY(check_patterns(im, g));
    qc_tensor **list = qrn_arena_alloc(im->arena, g->n_constants * sizeof(qc_tensor *));
    if (!list)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (ox_is_updatable(im, g->constants[i].name))
            QRN_TRY(create(im, &g->constants[i], &list[r->n_updatable++]));
    r->updatable = list;
    return QRN_OK;
}
