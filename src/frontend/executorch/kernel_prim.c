// SPDX-License-Identifier: MIT
//
// Operators on numbers of the program itself, and views that share memory.
#include "frontend/executorch/kernel.h"

#include "reference/integer.h"

typedef enum how { ADD, SUB, MUL, FLOORDIV, MOD, EQ, LT, LE, GT, GE, NEG } how;

static qrn_status on_ints(et_call *c, int h) {
    int64_t a = et_int(c, 0), b = h == NEG ? 0 : et_int(c, 1), r = 0;
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    et_item *out = &c->method->values[c->args[h == NEG ? 1 : 2]];
    if (c->status != QRN_OK)
        return c->status;
    if (b == 0 && (h == FLOORDIV || h == MOD))
        return et_refuse(c, "division by zero");
    switch (h) {
    case ADD:
        r = (int64_t)(x + y);
        break;
    case SUB:
        r = (int64_t)(x - y);
        break;
    case MUL:
        r = (int64_t)(x * y);
        break;
    case FLOORDIV:
        r = qrn_int_floor_div(a, b);
        break;
    case MOD:
        r = qrn_int_mod(a, b);
        break;
    case NEG:
        r = (int64_t)(0 - x);
        break;
    default:
        r = h == EQ ? a == b : h == LT ? a < b : h == LE ? a <= b : h == GT ? a > b : a >= b;
    }
    *out = (et_item){.kind = h >= EQ && h <= GE ? ET_KIND_BOOL : ET_KIND_INT, .i = r};
    return QRN_OK;
}

static qrn_status sym_size(et_call *c, int h) {
    qrn_nd a = et_in(c, 0);
    (void)h;
    uint32_t dim = et_dim(c, 1, a.rank);
    if (c->status != QRN_OK || a.rank == 0)
        return et_refuse(c, "a tensor of rank 0 has no dimensions");
    c->method->values[c->args[2]] = (et_item){.kind = ET_KIND_INT, .i = (int64_t)a.dims[dim]};
    return QRN_OK;
}

// et_view(self, sizes, out): out is another shape of the same memory.
static qrn_status view(et_call *c, int h) {
    qrn_nd a = et_in(c, 0);
    const et_item *from = &c->method->values[c->args[0]], *o = &c->method->values[c->args[2]];
    size_t dims[ET_MAX_RANK];
    int64_t sizes[ET_MAX_RANK];
    uint32_t rank = et_view_dims(c, &a, 1, dims);
    (void)h;
    if (c->status != QRN_OK || o->kind != ET_KIND_TENSOR)
        return et_refuse(c, "argument 2 is not a tensor");
    et_tensor *out = o->tensor;
    if (out->def->type != from->tensor->def->type)
        return et_refuse(c, "tensors of types %s and %s", et_type_name((unsigned)a.type),
                         et_type_name(out->def->type));
    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = (int64_t)dims[d];
    size_t room = out->room;
    out->room = out->def->bytes; // an earlier view may have been smaller
    c->status = et_tensor_resize(out, rank, sizes);
    if (c->status != QRN_OK) {
        out->room = room;
        return c->status;
    }
    out->data = a.data;
    out->room = et_tensor_bytes(from->tensor);
    out->fixed = from->tensor->fixed;
    return QRN_OK;
}

// clang-format off
#define INTS(name, how) {"executorch_prim::" name ".Scalar", 3, on_ints, how}

const et_kernel et_kernels_prim[] = {
    INTS("add", ADD), INTS("sub", SUB), INTS("mul", MUL), INTS("floordiv", FLOORDIV),
    INTS("mod", MOD),
    INTS("eq", EQ), INTS("lt", LT), INTS("le", LE), INTS("gt", GT), INTS("ge", GE),
    {"executorch_prim::neg.Scalar", 2, on_ints, NEG},
    {"aten::sym_size.int", 3, sym_size, 0},
    {"executorch_prim::et_view", 3, view, 0},
    {0},
};
