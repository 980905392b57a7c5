// SPDX-License-Identifier: MIT
//
// ExecuTorch programs from hostile bytes: read, and every method loaded, given inputs and executed
// twice, with bounds on memory and steps. Delegates run on the HTP backend of $QUERN_LIB_DIR,
// whatever library they name; without that folder they are only read. Whatever the bytes are, the
// answer is a result or an error with a message that names the file; a method that is loaded again
// gives the same bytes; afterwards no memory is held.
// The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"
#include "mutate.h"

#include "base/crc32.h"
#include "base/mem.h"
#include "frontend/executorch/delegate.h"
#include "frontend/executorch/method.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 18, MOST_STEPS = 64, MOST_METHODS = 8 };

static char backend[4096];                                             // or ""
static unsigned n_programs, n_read, n_loaded, n_executed, n_delegated; // n_programs: inputs

static void broken(const char *what) {
    fprintf(stderr, "%s: %s\n", what, qrn_message());
    abort();
}

// A failure has words that begin with the name of the file.
static bool good(qrn_status s) {
    if (s != QRN_OK && strncmp(qrn_message(), "input: ", 7) != 0)
        broken("a refusal that does not name the file");
    return s == QRN_OK;
}

static void read_payloads(const et_method_def *d) {
    for (uint32_t i = 0; i < d->n_delegates; i++) {
        et_qnn_blob b;
        et_qnn_options o;
        const et_delegate_def *def = &d->delegates[i];
        if (et_qnn_blob_parse(def->data, def->bytes, &b) == QRN_OK && b.n_bytes) {
            const volatile uint8_t *p = b.bytes;
            (void)p[0];
            (void)p[b.n_bytes - 1];
        }
        for (uint32_t k = 0; k < def->n_specs; k++)
            if (et_qnn_options_parse(def->specs[k].data, def->specs[k].bytes, &o) == QRN_OK &&
                strlen(o.library) > def->specs[k].bytes)
                broken("a text outside its bytes");
    }
}

// All bytes of the outputs, as a number.
static uint32_t read_outputs(const et_method *m) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < m->def->n_outputs; i++) {
        const et_item *v = et_method_output(m, i);
        if (v->kind == ET_KIND_TENSOR && v->tensor->data)
            sum = qrn_crc32(sum, v->tensor->data, et_tensor_bytes(v->tensor));
    }
    return sum;
}

static bool run(et_method *m, const uint8_t *zeros, uint32_t *sum) {
    bool ready = true;
    for (uint32_t i = 0; i < m->def->n_inputs && ready; i++) {
        const et_item *v = et_method_input(m, i);
        if (v->kind == ET_KIND_TENSOR)
            ready = v->tensor->def->bytes <= MOST_BYTES &&
                    good(et_method_set_input(m, i, zeros, v->tensor->def->bytes, NULL));
    }
    if (!ready || !good(et_method_execute(m)))
        return false;
    *sum = read_outputs(m);
    return true;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *libs = getenv("QUERN_LIB_DIR");
    if (libs)
        snprintf(backend, sizeof backend, "%s/libQnnHtp.so", libs);
    // Kept open, so that not every program loads it anew.
    if (libs && !dlopen(backend, RTLD_NOW | RTLD_LOCAL))
        backend[0] = '\0';
    return 0;
}

size_t fuzz_change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other) {
    return mutate_flat(s, buf, n, cap, other, n_other);
}

bool fuzz_end(void) {
    printf("%u programs: %u read, %u methods loaded, %u executed, %u of them with delegates\n",
           n_programs, n_read, n_loaded, n_executed, n_delegated);
    return !backend[0] || n_delegated > 0;
}

// Loads a method and executes it twice, the second time on what the first left behind. Returns all
// results as a number; 0: none.
static uint32_t try_method(const et_program *p, uint32_t i, const uint8_t *zeros) {
    const et_options options = {.max_bytes = MOST_BYTES,
                                .max_steps = MOST_STEPS,
                                .backend = backend,
                                .n_threads = 1,
                                .no_delegates = !backend[0]};
    et_method *m = NULL;
    uint32_t sum = 0, second = 0;
    if (!good(et_method_load(p, i, &options, &m)))
        return 0;
    n_loaded++;
    bool ok = run(m, zeros, &sum);
    n_executed += ok;
    n_delegated += ok && m->def->n_delegates;
    run(m, zeros, &second);
    et_method_free(m);
    return sum * 31 + second + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t live = qrn_alloc_live();
    et_program *p = NULL;
    qrn_message_clear();
    n_programs++;
    if (good(et_program_parse(data, size, "input", &p))) {
        n_read++;
        uint8_t *zeros = calloc(MOST_BYTES, 1);
        if (!zeros)
            broken("out of memory");
        for (uint32_t i = 0; i < p->n_methods && i < MOST_METHODS; i++) {
            read_payloads(&p->methods[i]);
            if (try_method(p, i, zeros) != try_method(p, i, zeros))
                broken("two executions differ");
        }
        free(zeros);
    }
    et_program_close(p);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    return 0;
}
