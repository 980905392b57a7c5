// SPDX-License-Identifier: MIT
//
// The reader of ExecuTorch programs on files of the corpus that Python wrote: what it finds in
// them, and what it says when they are cut off or when one byte is another one.
#include "base/mem.h"
#include "frontend/executorch/delegate.h"
#include "frontend/executorch/method.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *folder;

static uint8_t *read_file(const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    qrn_file f = {0};
    assert_int_equal(qrn_file_map(path, &f), QRN_OK);
    uint8_t *copy = malloc(f.size); // of its own size, for the sanitizer
    assert_non_null(copy);
    memcpy(copy, f.data, f.size);
    *size = f.size;
    qrn_file_unmap(&f);
    return copy;
}

static void delegates_are_found(void **state) {
    (void)state;
    static const char *const names[] = {"delegates_segment.pte", "delegates_inline.pte"};
    for (int i = 0; i < 2; i++) {
        size_t size;
        uint8_t *data = read_file(names[i], &size);
        et_program *p = NULL;
        assert_int_equal(et_program_parse(data, size, "p", &p), QRN_OK);
        assert_int_equal(p->n_methods, 2);
        assert_string_equal(p->methods[1].name, "backward");
        const et_method_def *m = &p->methods[0];
        assert_int_equal(m->n_delegates, 1);
        assert_string_equal(m->delegates[0].id, "QnnBackend");
        et_qnn_blob blob;
        et_qnn_options options;
        assert_int_equal(et_qnn_blob_parse(m->delegates[0].data, m->delegates[0].bytes, &blob),
                         QRN_OK);
        assert_int_equal(blob.n_bytes, 16);
        assert_int_equal(blob.signature, 1234);
        assert_ptr_equal(blob.bytes, (const char *)m->delegates[0].data + (i ? 20 : 256));
        const et_spec *spec = &m->delegates[0].specs[0];
        assert_int_equal(et_qnn_options_parse(spec->data, spec->bytes, &options), QRN_OK);
        assert_int_equal(options.soc, 57);
        assert_int_equal(options.arch, 75);
        assert_int_equal(options.vtcm_mb, 8);
        assert_int_equal(options.backend, 2);
        assert_int_equal(options.performance_mode, 2);
        assert_string_equal(options.library, "lib");
        et_program_close(p);
        free(data);
    }
}

static void code_and_values_are_found(void **state) {
    (void)state;
    size_t size;
    uint8_t *data = read_file("control_32.pte", &size);
    et_program *p = NULL;
    assert_int_equal(et_program_parse(data, size, "p", &p), QRN_OK);
    const et_method_def *m = &p->methods[0];
    assert_int_equal(m->n_inputs, 1);
    assert_int_equal(m->n_outputs, 2);
    const et_tensor_def *x = m->values[m->inputs[0]].tensor;
    assert_int_equal(x->type, ET_FLOAT);
    assert_int_equal(x->rank, 2);
    assert_int_equal(x->sizes[1], 3);
    assert_int_equal(x->place, ET_GIVEN);
    assert_int_equal(x->bytes, 24);
    assert_int_equal(m->values[m->outputs[1]].kind, ET_KIND_INT);
    const et_chain *c = &m->chains[0];
    assert_int_equal(c->n, 9);
    assert_int_equal(c->instructions[0].code, ET_MOVE);
    assert_int_equal(c->instructions[6].code, ET_JUMP_FALSE);
    assert_int_equal(c->instructions[6].b, 1);
    const et_instruction *last = &c->instructions[8];
    assert_string_equal(m->operators[last->a].name, "aten::copy_");
    const et_tensor_def *kept = m->values[last->args[0]].tensor;
    assert_int_equal(kept->place, ET_PLANNED);
    float one;
    memcpy(&one, (const char *)kept->data + 20, sizeof one); // its last element
    assert_true(one == 1.0f);
    et_program_close(p);
    free(data);
}

// The header says how long the file is, so that no part can be missing unnoticed.
static void every_cut_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"control_32.pte", "delegates_segment.pte", "lists.pte"};
    for (int i = 0; i < 3; i++) {
        size_t size;
        uint8_t *data = read_file(names[i], &size);
        for (size_t n = 0; n < size; n++) {
            uint8_t *part = malloc(n ? n : 1);
            assert_non_null(part);
            memcpy(part, data, n);
            et_program *p = NULL;
            qrn_message_clear();
            assert_int_not_equal(et_program_parse(part, n, "cut", &p), QRN_OK);
            assert_null(p);
            assert_memory_equal(qrn_message(), "cut: ", 5);
            free(part);
        }
        free(data);
    }
}

static void every_changed_byte_is_survived(void **state) {
    (void)state;
    static const char *const names[] = {"control_24.pte", "delegates_inline.pte", "lists.pte"};
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    const et_options options = {.max_bytes = 1 << 18, .max_steps = 64, .no_delegates = true};
    for (int i = 0; i < 3; i++) {
        size_t size, refused = 0;
        uint8_t *data = read_file(names[i], &size);
        for (size_t at = 0; at < size * sizeof changes; at++) {
            data[at / sizeof changes] ^= changes[at % sizeof changes];
            et_program *p = NULL;
            et_method *m = NULL;
            qrn_status s = et_program_parse(data, size, "changed", &p);
            refused += s != QRN_OK;
            if (s == QRN_OK && et_method_load(p, 0, &options, &m) == QRN_OK)
                et_method_execute(m); // inputs that are not given are refused
            et_method_free(m);
            et_program_close(p);
            data[at / sizeof changes] ^= changes[at % sizeof changes];
        }
        assert_true(refused > size / 8); // most of the structure is checked
        free(data);
    }
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    size_t size, live = qrn_alloc_live();
    uint8_t *data = read_file("lists.pte", &size);
    for (unsigned n = 1;; n++) {
        et_program *p = NULL;
        et_method *m = NULL;
        qrn_alloc_fail_at(n, true);
        qrn_status s = et_program_parse(data, size, "p", &p);
        if (s == QRN_OK)
            s = et_method_load(p, 0, NULL, &m);
        qrn_alloc_fail_at(0, false);
        assert_true(s == QRN_OK || s == QRN_E_MEM);
        et_method_free(m);
        et_program_close(p);
        assert_int_equal(qrn_alloc_live(), live);
        if (s == QRN_OK) {
            assert_true(n > 2);
            break;
        }
    }
    free(data);
}

// Recording goes on when memory runs out; writing tells it.
static void every_failed_allocation_of_a_trace_is_told(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    const uint32_t dims[2] = {2, 3};
    const float data[6] = {0};
    for (unsigned n = 1;; n++) {
        qrn_alloc_fail_at(n, true);
        et_trace *t = et_trace_create(4096);
        qrn_status s = t ? QRN_OK : QRN_E_MEM;
        for (int i = 0; t && i < 100; i++) {
            char name[32];
            snprintf(name, sizeof name, "event %d", i);
            et_trace_begin(t, "Execute");
            et_trace_end(t, name, et_trace_now());
            qrn_status kept = et_trace_output(t, -1, name, ET_FLOAT, 2, dims, data, sizeof data);
            assert_true(kept == QRN_OK || kept == QRN_E_MEM);
        }
        size_t size = 0;
        if (t)
            s = et_trace_write(t, "/dev/null", &size);
        qrn_alloc_fail_at(0, false);
        assert_true(s == QRN_OK || s == QRN_E_MEM);
        et_trace_destroy(t);
        assert_int_equal(qrn_alloc_live(), live);
        if (s == QRN_OK) {
            assert_true(n > 10 && size > 100 * 100);
            break;
        }
    }
}

int main(int argc, char **argv) {
    assert_true(argc == 2);
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delegates_are_found),
        cmocka_unit_test(code_and_values_are_found),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(every_failed_allocation_of_a_trace_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
