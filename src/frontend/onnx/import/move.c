// SPDX-License-Identifier: MIT
//
// Importers: shapes, joining, cutting, gathering, scattering, generating. The table; the functions
// are in move_*.c.
#include "frontend/onnx/import/move.h"

// What could only be computed while importing, and was not: its inputs come at run time.
static qrn_status refuse_dynamic(ox_import *im, const ox_node *n) {
    return ox_fail(im, n, QRN_E_UNSUPPORTED,
                   "the shape of its result depends on values that come at run time; make its "
                   "inputs constant");
}

// clang-format off
const ox_importer ox_import_move[] = {
    {"Reshape",          "",              move_import_reshape},
    {"Flatten",          "",              move_import_flatten},
    {"Squeeze",          "",              move_import_squeeze},
    {"Unsqueeze",        "",              move_import_unsqueeze},
    {"ExpandDims",       "com.microsoft", move_import_unsqueeze},
    {"Transpose",        "",              move_import_transpose},
    {"Concat",           "",              move_import_concat},
    {"Split",            "",              move_import_split},
    {"Slice",            "",              move_import_slice},
    {"Expand",           "",              move_import_expand},
    {"Tile",             "",              move_import_tile},
    {"Pad",              "",              move_import_pad},
    {"Pad",              "com.microsoft", move_import_pad},
    {"CenterCropPad",    "",              move_import_center_crop_pad},
    {"Gather",           "",              move_import_gather},
    {"GatherElements",   "",              move_import_gather_elements},
    {"GatherND",         "",              move_import_gather_nd},
    {"GatherND",         "com.microsoft", move_import_gather_nd},
    {"Compress",         "",              move_import_compress},
    {"ReverseSequence",  "",              move_import_reverse_sequence},
    {"Scatter",          "",              move_import_scatter_elements},
    {"ScatterElements",  "",              move_import_scatter_elements},
    {"ScatterND",        "",              move_import_scatter_nd},
    {"TensorScatter",    "",              move_import_tensor_scatter},
    {"DepthToSpace",     "",              move_import_depth_to_space},
    {"SpaceToDepth",     "",              move_import_space_to_depth},
    {"Rearrange",        "quern",         move_import_rearrange},
    {"OneHot",           "",              move_import_one_hot},
    {"Trilu",            "",              move_import_trilu},
    {"Trilu",            "com.microsoft", move_import_trilu},
    {"ConstantOfShape",  "",              refuse_dynamic},
    {"Range",            "",              refuse_dynamic},
    {"NonZero",          "",              refuse_dynamic},
    {"Unique",           "",              refuse_dynamic},
    {0},
};
