// SPDX-License-Identifier: MIT
//
// Files of built GPU programs (src/opencl/store.h). Whatever a file holds, the reader finds a
// program whose length and SHA-256 are those of the header, or none; it reads no byte behind the
// end. The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"

#include "opencl/store.h"

#include <stdlib.h>
#include <string.h>

static unsigned n_found;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t key[QRN_SHA256_BYTES] = {0}, digest[QRN_SHA256_BYTES];
    const void *binary;
    size_t n;
    if (size >= 40) // its own: a wrong one is rejected at once
        memcpy(key, data + 8, sizeof key);
    uint8_t *exact = malloc(size ? size : 1); // so that the sanitizer sees a step too far
    if (size)
        memcpy(exact, data, size);
    if (qrn_cl_store_parse(exact, size, key, &binary, &n)) {
        qrn_sha256 h;
        qrn_sha256_begin(&h);
        qrn_sha256_add(&h, binary, n);
        qrn_sha256_end(&h, digest);
        if ((const uint8_t *)binary != exact + QRN_CL_STORE_HEADER ||
            n != size - QRN_CL_STORE_HEADER || memcmp(digest, exact + 48, sizeof digest) != 0)
            abort();
        n_found++;
    }
    free(exact);
    return 0;
}

bool fuzz_end(void) { return n_found > 0; }
