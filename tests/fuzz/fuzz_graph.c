// SPDX-License-Identifier: MIT
//
// The public API under hostile calls: the bytes of an input choose a sequence of calls, with good
// and bad arguments. The library must answer each with a documented code, and when everything has
// been freed it must hold no memory. Sanitizers watch the rest.
// The entry point is libFuzzer's; fuzz_main.c runs it without libFuzzer.
#include "documented.h"
#include "world.h"

#include "base/mem.h"

#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ACTIONS = 40 };

static const struct {
    uint32_t weight;
    void (*act)(world *w);
} actions[] = {
    {24, act_op},    {10, act_chain}, {16, act_finalize}, {10, act_tensor}, {6, act_execute},
    {4, act_free},   {5, act_graph},  {3, act_context},   {3, act_profile}, {2, act_signal},
    {2, act_update}, {2, act_memory}, {2, act_error},     {2, act_backend}, {1, act_log},
    {1, act_device}, {1, act_binary},
};

static void act_once(world *w) {
    uint32_t total = 0, i = 0;
    for (size_t k = 0; k < sizeof actions / sizeof actions[0]; k++)
        total += actions[k].weight;
    uint32_t at = draw_below(w->s, total);
    while (at >= actions[i].weight)
        at -= actions[i++].weight;
    actions[i].act(w);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    if (!documented_read(QUERN_ERROR_TABLE))
        world_fail("the table of documented errors cannot be read");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const QnnInterface_t **list;
    uint32_t n;
    source s = source_from_bytes(data, size);
    world *w = calloc(1, sizeof *w);
    if (!w || QnnInterface_getProviders(&list, &n) != QNN_SUCCESS)
        abort();
    size_t live = qrn_alloc_live();
    w->qnn = list[0]->QNN_INTERFACE_VER_NAME;
    w->s = &s;
    if (!draw_chance(&s, 2))
        world_begin(w);
    for (int i = 0; i < MAX_ACTIONS && !source_is_empty(&s); i++)
        act_once(w);
    world_end(w);
    free(w);
    if (qrn_alloc_live() != live) {
        fprintf(stderr, "%zu allocations are kept\n", qrn_alloc_live() - live);
        abort();
    }
    return 0;
}
