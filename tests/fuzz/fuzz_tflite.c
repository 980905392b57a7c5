// SPDX-License-Identifier: MIT
//
// .tflite models from hostile bytes: read, and those that can be are imported, finalized and
// executed twice on one backend, as fuzz_onnx_run does (onnx_exec.h). The options of DISPATCH_OP
// are read, too. The backend is named by $QUERN_FUZZ_BACKEND (cpu unless it is htp).
// The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"
#include "mutate.h"
#include "onnx_exec.h"

#include "base/crc32.h"
#include "frontend/tflite/tflite.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *backend = getenv("QUERN_FUZZ_BACKEND");
    onnx_exec_open(backend ? backend : "cpu");
    return 0;
}

size_t fuzz_change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other) {
    return mutate_flat(s, buf, n, cap, other, n_other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ox_model *m = NULL;
    tl_compiled c;
    if (!tl_is_model(data, size)) // of another format
        return 0;
    if (tl_model_parse(data, size, "input", &m) == QRN_OK &&
        tl_compiled_of(m, data, size, &c) == QRN_OK && !c.n_bytes)
        abort();
    ox_model_close(m);
    onnx_exec_run(data, size, qrn_crc32(0, data, size));
    return 0;
}

bool fuzz_end(void) {
    printf("%u not read, %u rejected, %u executed\n", onnx_exec_count(EXEC_UNREAD),
           onnx_exec_count(EXEC_REJECTED), onnx_exec_count(EXEC_DONE));
    bool enough = onnx_exec_count(EXEC_DONE) > 0;
    onnx_exec_close();
    return enough;
}
