// SPDX-License-Identifier: MIT
//
// ONNX models of all kinds through import, finalize and execute on one backend: those of the
// corpus, changed copies of them, and models drawn from a grammar of all ops that are imported.
// The backend is named by $QUERN_FUZZ_BACKEND (cpu unless it is htp).
// The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"
#include "mutate.h"
#include "onnx_case.h"
#include "onnx_draw.h"
#include "onnx_exec.h"
#include "onnx_tree.h"

#include "base/crc32.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHANGES = 3 };

static bool writing;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *backend = getenv("QUERN_FUZZ_BACKEND");
    onnx_exec_open(backend ? backend : "cpu");
    writing = onnx_case_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t choice = qrn_crc32(0, data, size);
    if (writing)
        onnx_case_run(data, size, choice);
    else
        onnx_exec_run(data, size, choice);
    return 0;
}

size_t fuzz_change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other) {
    if (draw_chance(s, 10))
        return mutate(s, buf, n, cap, other, n_other);
    uint8_t *from = malloc(n + 1);
    if (!from)
        abort();
    for (uint32_t i = 1 + draw_below(s, MOST_CHANGES); i > 0; i--) {
        memcpy(from, buf, n);
        size_t changed = onnx_tree_mutate(s, from, n, other, n_other, buf, cap);
        if (!changed)
            memcpy(buf, from, n);
        n = changed ? changed : n;
        uint8_t *grown = realloc(from, n + 1);
        if (!grown)
            abort();
        from = grown;
    }
    free(from);
    return n;
}

size_t fuzz_generate(source *s, uint8_t *buf, size_t cap) {
    ox_writer file = {0};
    onnx_draw(s, writing, &file);
    size_t n = !file.no_memory && file.n <= cap ? file.n : 0;
    if (n)
        memcpy(buf, file.data, n);
    ox_writer_free(&file);
    return n;
}

bool fuzz_end(void) {
    bool ok = onnx_exec_report(draw_knows);
    onnx_exec_close();
    return ok;
}
