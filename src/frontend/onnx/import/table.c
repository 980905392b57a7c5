// SPDX-License-Identifier: MIT
//
// Looking up importers, and how many inputs an op has at least.
#include "frontend/onnx/import/table.h"

#include "frontend/onnx/driver/internal.h"

#include <string.h>

const ox_importer *ox_find_importer(const char *op, const char *domain) {
    static const ox_importer *const groups[] = {
#define X(group) ox_import_##group,
        OX_GROUPS(X)
#undef X
    };
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (const ox_importer *r = groups[g]; r->op; r++)
            if (strcmp(r->op, op) == 0 && strcmp(r->domain, domain) == 0)
                return r;
    return NULL;
}

// Ops with another number than 1, in whichever version asks for fewest.
// clang-format off
static const struct {
    uint32_t least;
    const char *ops; // each between spaces
} inputs[] = {
    {0, " Constant Loop Optional OptionalHasElement RandomNormal RandomUniform Scan "
        "SequenceEmpty "},
    {2, " Add AffineGrid And Attention BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike "
        "CausalConvWithState CenterCropPad Compress Conv ConvInteger ConvTranspose CumProd CumSum "
        "DequantizeLinear Div Equal Expand ExpandDims FusedMatMul Gather GatherElements GatherND "
        "Gemm Greater GreaterOrEqual GridSample LayerNormalization Less LessOrEqual MatMul "
        "MatMulInteger MaxRoiPool MaxUnpool Mod Mul NonMaxSuppression Or PRelu Pow QuantizeLinear "
        "RMSNormalization ReverseSequence STFT SequenceAt SequenceInsert "
        "SimplifiedLayerNormalization Sub SwiGLU TensorScatter Tile Xor "},
    {3, " Col2Im DeformConv DynamicQuantizeLSTM DynamicQuantizeMatMul GRU GatherBlockQuantized "
        "GroupNorm GroupNormalization InstanceNormalization LSTM LinearAttention MatMulNBits "
        "OneHot RNN Range RoiAlign RotaryEmbedding Scatter ScatterElements ScatterND Where "},
    {5, " BatchNormalization MelWeightMatrix "},
    {8, " QLinearConv QLinearMatMul "},
};
// clang-format on

uint32_t ox_least_inputs(const char *op) {
    size_t length = strlen(op);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        for (const char *at = strstr(inputs[i].ops, op); at && length; at = strstr(at + 1, op))
            if (at > inputs[i].ops && at[-1] == ' ' && at[length] == ' ')
                return inputs[i].least;
    return 1;
}
