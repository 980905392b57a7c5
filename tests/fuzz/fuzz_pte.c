// SPDX-License-Identifier: MIT
//
// ExecuTorch programs from hostile bytes: read, and every method without delegates loaded, given
// inputs and executed twice, with bounds on memory and steps. Payloads and options of delegates are
// read too. Whatever the bytes are, the answer is a result or an error with a message that names
// the file; afterwards no memory is held.
// The entry point is libFuzzer's; fuzz_main.c runs it without libFuzzer.
#include "base/mem.h"
#include "frontend/executorch/delegate.h"
#include "frontend/executorch/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 18, MOST_STEPS = 64, MOST_METHODS = 8 };

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

// Both ends of every output can be read.
static void read_outputs(const et_method *m) {
    for (uint32_t i = 0; i < m->def->n_outputs; i++) {
        const et_item *v = et_method_output(m, i);
        if (v->kind != ET_KIND_TENSOR || !v->tensor->data || !et_tensor_bytes(v->tensor))
            continue;
        const volatile uint8_t *p = v->tensor->data;
        (void)p[0];
        (void)p[et_tensor_bytes(v->tensor) - 1];
    }
}

static void run(et_method *m, const uint8_t *zeros) {
    bool ready = true;
    for (uint32_t i = 0; i < m->def->n_inputs && ready; i++) {
        const et_item *v = et_method_input(m, i);
        if (v->kind == ET_KIND_TENSOR)
            ready = v->tensor->def->bytes <= MOST_BYTES &&
                    good(et_method_set_input(m, i, zeros, v->tensor->def->bytes, NULL));
        else
            good(et_method_set_number(m, i, 1));
    }
    if (ready && good(et_method_execute(m)))
        read_outputs(m);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const et_options options = {
        .max_bytes = MOST_BYTES, .max_steps = MOST_STEPS, .no_delegates = true};
    size_t live = qrn_alloc_live();
    et_program *p = NULL;
    qrn_message_clear();
    if (good(et_program_parse(data, size, "input", &p))) {
        uint8_t *zeros = calloc(MOST_BYTES, 1);
        if (!zeros)
            broken("out of memory");
        for (uint32_t i = 0; i < p->n_methods && i < MOST_METHODS; i++) {
            et_method *m = NULL;
            read_payloads(&p->methods[i]);
            if (!good(et_method_load(p, i, &options, &m)))
                continue;
            run(m, zeros);
            run(m, zeros); // on what the first execution left behind
            et_method_free(m);
        }
        free(zeros);
    }
    et_program_close(p);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    return 0;
}
