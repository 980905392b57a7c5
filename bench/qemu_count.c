// SPDX-License-Identifier: MIT
//
// A plugin of qemu that counts executed instructions, for scripts/count_arm.py, which compiles it.
// The declarations are those of qemu-plugin.h, version 1, which Debian does not install.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
#define ADD_U64 0 // of enum qemu_plugin_op

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*fn)(plugin_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *to,
                                              uint64_t imm);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*fn)(plugin_id id, void *p), void *p);

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

int qemu_plugin_version = 1;
static uint64_t count;

static void translated(plugin_id id, struct qemu_plugin_tb *tb) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &count, qemu_plugin_tb_n_insns(tb));
}

static void ended(plugin_id id, void *p) {
    (void)id, (void)p;
    fprintf(stderr, "instructions %" PRIu64 "\n", count);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
