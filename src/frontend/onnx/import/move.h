// SPDX-License-Identifier: MIT
//
// What the files of the group `move` share: the types that QNN's ops take, and ops that more than
// one importer emits. Tensors given to the emitters are in one layout, and so are axes.
#ifndef QRN_FRONTEND_ONNX_IMPORT_MOVE_H
#define QRN_FRONTEND_ONNX_IMPORT_MOVE_H

#include "frontend/onnx/emit/carry.h"
#include "frontend/onnx/import/table.h"

enum {
    MOVE_RESHAPE = OX_T_ACT | OX_T_SQ16 | OX_T_I32 | OX_T_U32 | OX_T_B8,
    MOVE_TRANSPOSE = MOVE_RESHAPE,
    MOVE_CONCAT = OX_T_ACT | OX_T_SQ16 | OX_T_I32 | OX_T_U32,
    MOVE_SPLIT = OX_T_ACT | OX_T_I32 | OX_T_SQ32,
    MOVE_SLICE = OX_T_ACT | OX_T_I32 | OX_T_U32,
    MOVE_TILE = OX_T_ACT | OX_T_I32,
    MOVE_PAD = OX_T_ACT | OX_T_I32,
    MOVE_DEPTH = OX_T_ACT,
    MOVE_GATHER = OX_T_ACT | OX_T_I32 | OX_T_U32 | OX_T_B8,
    MOVE_GATHER_ELEMENTS = OX_T_FLOAT | OX_T_UQ8 | OX_T_UQ16 | OX_T_I32,
    MOVE_GATHER_ND = OX_T_ACT | OX_T_I32,
    MOVE_SCATTER_ELEMENTS = MOVE_GATHER_ELEMENTS,
    MOVE_SCATTER_ND = MOVE_GATHER_ELEMENTS | OX_T_U32 | OX_T_B8,
    MOVE_SELECT = OX_T_ACT | OX_T_SQ16 | OX_T_I32,
};

// Range of one axis: `count` elements from `begin` on, every `step`th (which may be negative).
typedef struct move_range {
    int64_t begin, step;
    uint32_t count;
} move_range;

qrn_status move_emit_slice(ox_import *im, const ox_node *n, const qc_tensor *x,
                           const move_range *ranges, const qc_tensor *y);
qrn_status move_emit_tile(ox_import *im, const ox_node *n, const qc_tensor *x,
                          const uint32_t *multiples, const qc_tensor *y);
// y = x with the elements `indices` (i32) of an axis.
qrn_status move_emit_gather(ox_import *im, const ox_node *n, const qc_tensor *x,
                            const qc_tensor *indices, uint32_t axis, const qc_tensor *y);
// The same with constant indices that replace the axis.
qrn_status move_emit_pick(ox_import *im, const ox_node *n, const qc_tensor *x,
                          const int32_t *indices, uint32_t count, uint32_t axis,
                          const qc_tensor *y);

// Lists that are made here have at most so many elements, whatever the model claims.
#define MOVE_LONGEST (1 << 24)
// The numbers first, first + 1, ... (i32) along one axis of a value of this rank.
qrn_status move_count_up(ox_import *im, const ox_node *n, uint32_t rank, uint32_t axis,
                         uint32_t length, int32_t first, qc_tensor **out);

size_t move_count(uint32_t rank, const uint32_t *dims);

// x in another shape: a new tensor.
qrn_status move_reshaped(ox_import *im, const ox_node *n, const qc_tensor *x, uint32_t rank,
                         const uint32_t *dims, const qc_tensor **out);
// y = op(a, b) in a new tensor of this shape and type.
qrn_status move_binary(ox_import *im, const ox_node *n, const char *op, const qc_tensor *a,
                       const qc_tensor *b, Qnn_DataType_t dtype, uint32_t rank,
                       const uint32_t *dims, const qc_tensor **out);
// y = cond ? a : b in a new tensor like a, of this shape.
qrn_status move_select(ox_import *im, const ox_node *n, const qc_tensor *cond, const qc_tensor *a,
                       const qc_tensor *b, uint32_t rank, const uint32_t *dims,
                       const qc_tensor **out);

// move_shape.c
qrn_status move_import_reshape(ox_import *im, const ox_node *n);
qrn_status move_import_flatten(ox_import *im, const ox_node *n);
qrn_status move_import_squeeze(ox_import *im, const ox_node *n);
qrn_status move_import_unsqueeze(ox_import *im, const ox_node *n);
qrn_status move_import_transpose(ox_import *im, const ox_node *n);
// Output 0 is input 0 in this shape.
qrn_status move_reshape_to(ox_import *im, const ox_node *n, uint32_t rank, const uint32_t *dims);

// move_cut.c
qrn_status move_import_concat(ox_import *im, const ox_node *n);
qrn_status move_import_split(ox_import *im, const ox_node *n);
qrn_status move_import_slice(ox_import *im, const ox_node *n);
qrn_status move_import_expand(ox_import *im, const ox_node *n);
qrn_status move_import_tile(ox_import *im, const ox_node *n);

// move_pad.c
qrn_status move_import_pad(ox_import *im, const ox_node *n);
qrn_status move_import_center_crop_pad(ox_import *im, const ox_node *n);

// move_gather.c
qrn_status move_import_gather(ox_import *im, const ox_node *n);
qrn_status move_import_gather_elements(ox_import *im, const ox_node *n);
qrn_status move_import_gather_nd(ox_import *im, const ox_node *n);
qrn_status move_import_compress(ox_import *im, const ox_node *n);
qrn_status move_import_reverse_sequence(ox_import *im, const ox_node *n);
// Input i as i32 indices in ONNX's shape; constant ones below 0 are made positive, where element k
// belongs to an axis of dims[k % n_dims] elements.
qrn_status move_indices(ox_import *im, const ox_node *n, uint32_t i, const uint32_t *dims,
                        uint32_t n_dims, qc_tensor **out);

// move_scatter.c
qrn_status move_import_scatter_elements(ox_import *im, const ox_node *n);
qrn_status move_import_scatter_nd(ox_import *im, const ox_node *n);
qrn_status move_import_tensor_scatter(ox_import *im, const ox_node *n);

// move_make.c
qrn_status move_import_depth_to_space(ox_import *im, const ox_node *n);
qrn_status move_import_space_to_depth(ox_import *im, const ox_node *n);
qrn_status move_import_one_hot(ox_import *im, const ox_node *n);
qrn_status move_import_rearrange(ox_import *im, const ox_node *n);
qrn_status move_import_trilu(ox_import *im, const ox_node *n);

#endif
