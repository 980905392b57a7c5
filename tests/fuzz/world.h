// SPDX-License-Identifier: MIT
//
// Everything one fuzz input has made so far: handles of all kinds, dead ones too, tensors, and the
// client's memory. The actions of the fuzz program draw from it and add to it.
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include "op_client.h"

typedef enum kind {
    KIND_LOG,
    KIND_BACKEND,
    KIND_DEVICE,
    KIND_CONTEXT,
    KIND_GRAPH,
    KIND_PROFILE,
    KIND_SIGNAL,
    KIND_MEM,
    KIND_COUNT
} kind;

enum { WORLD_HANDLES = 24, WORLD_TENSORS = 160, WORLD_BYTES = 1 << 20 };

typedef struct handle {
    void *value;
    const void *parent; // goes with it; NULL: none
    bool dead;          // freed, or gone with its parent
} handle;

// A tensor that the library has taken.
typedef struct made_tensor {
    Qnn_Tensor_t tensor;     // as it was described, with its id
    Qnn_GraphHandle_t graph; // NULL: of a context
    size_t size_bytes;
} made_tensor;

typedef struct world {
    qnn_table qnn;
    source *s;
    scrap mem;
    handle handles[KIND_COUNT][WORLD_HANDLES];
    uint32_t n_handles[KIND_COUNT];
    made_tensor tensors[WORLD_TENSORS];
    uint32_t n_tensors;
    size_t bytes; // of all tensors so far; the client keeps below WORLD_BYTES
    uint32_t n_names;
} world;

// The result of a call: ends the program when the code is not documented for the function.
bool world_ok(const char *function, Qnn_ErrorHandle_t rc);
// The last error of this thread.
Qnn_ErrorHandle_t world_last_error(void);
// Ends the program with a message.
void world_fail(const char *what) __attribute__((noreturn));

// Is there a place for a new handle?
bool world_has_room(const world *w, kind k);
void world_add(world *w, kind k, void *value, const void *parent);
// The handle is dead, and so are its children.
void world_kill(world *w, const void *value);
// Mostly the youngest living handle; now and then an older one, a dead one, one of another kind,
// NULL or nonsense.
void *world_pick(world *w, kind k);
// A living handle or NULL, without tricks.
void *world_living(const world *w, kind k);
// NULL or a handle: mostly NULL.
void *world_maybe(world *w, kind k);

void world_keep_tensor(world *w, const Qnn_Tensor_t *t, Qnn_GraphHandle_t graph, size_t size_bytes);

// A name: mostly new, sometimes one of a few that recur, empty, very long or NULL.
const char *world_name(world *w);

// Keeps a shape small, or makes it so large that the library must refuse it: nothing in between,
// which would only use up memory. Returns the bytes of a small one, 0 for a large one.
size_t world_bound(world *w, uint32_t bits, uint32_t rank, uint32_t *dims);

// --- actions: each makes a few calls

void act_log(world *w);
void act_backend(world *w);
void act_device(world *w);
void act_context(world *w);
void act_binary(world *w);
void act_graph(world *w);
void act_profile(world *w);
void act_signal(world *w);
void act_error(world *w);
void act_memory(world *w);
void act_tensor(world *w); // a tensor with anything in it
void act_update(world *w); // tensors of a finalized graph, or of a context
void act_op(world *w);     // a drawn op, often spoiled
void act_chain(world *w);  // an op on a tensor that is there
void act_finalize(world *w);
void act_execute(world *w);
void act_free(world *w); // any handle

// A backend, a context and a graph, so that most inputs come to the point.
void world_begin(world *w);
// Frees everything that lives.
void world_end(world *w);

#endif
