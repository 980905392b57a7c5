// SPDX-License-Identifier: MIT
//
// What a user can do about a node that a backend rejects, by words of the reason. Reasons that name
// their own way out have no row.
#include "tools/quern/check_fix.h"

#include <string.h>

static const struct {
    const char *words, *fix;
} fixes[] = {
    {"must be constant", "fold constants before exporting (onnxsim, or ONNX Runtime's "
                         "optimized_model_filepath), so that this input becomes an initializer"},
    {"dynamic", "fix the size of the dynamic dimension with --dim NAME=N"},
    {"shape of its result is not known",
     "fix the sizes of the inputs with --dim NAME=N, so that all "
     "shapes are known before the model runs"},
    {"16-bit form", "allow float16 for it with --allow-fp16, or give the layer 8 bits "
                    "(quern quantize --mixed)"},
    {"would come from a quotient in float16", "put QuantizeLinear before this op, so that it reads "
                                              "quantized values, or allow it with --allow-fp16"},
    {"HTP supports signed types without offsets",
     "quantize the weights to signed integers with zero points of 0 (ONNX Runtime: "
     "weight_type=QuantType.QInt8), or with one scale per tensor"},
    {"has no fp16", "quantize the model: 'quern quantize MODEL -o OUT.onnx'"},
    {"has no float", "quantize the model: 'quern quantize MODEL -o OUT.onnx'"},
    {"float64", "export the model in float32"},
    {"type double", "export the model in float32"},
    {"string", "do this outside of the model: the NPU has no strings"},
    {"rank", "reshape to fewer dimensions around this op, by merging those that belong together"},
    {"dimensions", "reshape to fewer dimensions around this op"},
    {"is not supported",
     "replace the op by ones that are supported (docs/onnx.md lists them), or let "
     "it run on the CPU: ONNX Runtime does so by itself"},
    {"is not known", "export the model with another opset or mode of this op (docs/onnx.md)"},
    {"quantized", "leave this layer in float or in 16 bits (quern quantize --float NAME, --bits "
                  "NAME=16)"},
};

const char *qt_check_fix(const char *why) {
    for (size_t i = 0; i < sizeof fixes / sizeof fixes[0]; i++)
        if (strstr(why, fixes[i].words) && !strstr(why, "; "))
            return fixes[i].fix;
    return NULL;
}
