// SPDX-License-Identifier: MIT
//
// A Llama as an ONNX graph of static shapes. T tokens come in, P positions of the past are given:
//
//   ids [1,T] int32   cos, sin [1,1,T,head_dim]   mask [1,1,1,T,P+T] (0, or -1e4 where not to look)
//   past_k_i, past_v_i [1,kv_heads,P,head_dim] for each layer i, where P > 0: float16, or float32
//   where the matrices are; uint8 with the encodings of `states`, and new_k_i, new_v_i as well
//   last [1] int32, where one row of logits is asked for: the token that they follow (0 .. T-1)
//   logits [1,T,vocab], or [1,1,vocab]   new_k_i, new_v_i [1,kv_heads,T,head_dim]: the caller
//   appends them
//
// Pairs that rotate together are half a head apart.
#ifndef QRN_FRONTEND_LLM_LLAMA_GRAPH_H
#define QRN_FRONTEND_LLM_LLAMA_GRAPH_H

#include "frontend/llm/weights.h"
#include "frontend/onnx/writer/wire_write.h"

// real = scale * (value - zero), for values 0 .. 255
typedef struct ql_state {
    float scale;
    uint8_t zero;
} ql_state;

typedef struct ql_graph_form {
    const char *name;         // of the graph
    uint32_t tokens, past;    // T and P
    bool last_logits;         // of one token, which an input `last` chooses; T must be more than 1
    const char *weights_file; // beside the model
    const ql_state *states;   // of k and v of each layer, 2 * layers; NULL: caches are floats
} ql_graph_form;

// The model's bytes; the caller frees the writer.
qrn_status ql_llama_graph(const ql_llama *m, const ql_weights *w, const ql_graph_form *f,
                          ox_writer *out);

#endif
