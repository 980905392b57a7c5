// SPDX-License-Identifier: MIT
//
// config.json: sizes and numbers of a model under the keys that Hugging Face has for them.
#include "frontend/llm/folder.h"

#include <stdio.h>

// An id of a token under a key of Hugging Face, where the file has one.
static qrn_status put_id(const ql_llama *m, const char *from, const char *to, FILE *f) {
    uint64_t id = 0;
    if (!ql_gguf_find(m->file, from))
        return QRN_OK;
    QRN_TRY(ql_gguf_uint(m->file, from, m->vocab - 1, &id));
    fprintf(f, "  \"%s\": %llu,\n", to, (unsigned long long)id);
    return QRN_OK;
}

// Chats end with another token than texts in some models; both stop the generation.
static qrn_status put_end(const ql_llama *m, FILE *f) {
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.eot_token_id"};
    uint64_t ids[2] = {0};
    unsigned n = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (!ql_gguf_find(m->file, keys[i]))
            continue;
        QRN_TRY(ql_gguf_uint(m->file, keys[i], m->vocab - 1, &ids[n]));
        n += !n || ids[n] != ids[0];
    }
    if (n == 1)
        fprintf(f, "  \"eos_token_id\": %llu,\n", (unsigned long long)ids[0]);
    else if (n)
        fprintf(f, "  \"eos_token_id\": [%llu, %llu],\n", (unsigned long long)ids[0],
                (unsigned long long)ids[1]);
    return QRN_OK;
}

static void put_number(FILE *f, const char *key, double v) {
    fprintf(f, "  \"%s\": ", key);
    qrn_json_number(f, v);
    fputs(",\n", f);
}

static qrn_status put_config(const ql_llama *m, FILE *f) {
    fprintf(f, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n", m->class_name,
            m->arch);
    fprintf(f, "  \"hidden_size\": %u,\n  \"intermediate_size\": %u,\n", m->hidden, m->ff);
    fprintf(f, "  \"num_hidden_layers\": %u,\n  \"num_attention_heads\": %u,\n", m->layers,
            m->heads);
    fprintf(f, "  \"num_key_value_heads\": %u,\n  \"head_dim\": %u,\n", m->kv_heads, m->head_dim);
    fprintf(f, "  \"hidden_act\": \"silu\",\n");
    put_number(f, "rms_norm_eps", m->eps);
    put_number(f, "rope_theta", m->rope_theta);
    if (m->rope_factor > 0)
        fprintf(f,
                "  \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": %g, "
                "\"low_freq_factor\": 1, \"high_freq_factor\": 4, "
                "\"original_max_position_embeddings\": 8192},\n",
                m->rope_factor);
    QRN_TRY(put_id(m, "tokenizer.ggml.bos_token_id", "bos_token_id", f));
    QRN_TRY(put_end(m, f));
    QRN_TRY(put_id(m, "tokenizer.ggml.padding_token_id", "pad_token_id", f));
    fprintf(f, "  \"max_position_embeddings\": %u,\n  \"tie_word_embeddings\": %s,\n", m->context,
            m->head.weight == m->embedding.weight ? "true" : "false");
    fprintf(f, "  \"torch_dtype\": \"float32\",\n  \"vocab_size\": %u\n}\n", m->vocab);
    return QRN_OK;
}

qrn_status ql_config_json(const ql_llama *m, qrn_text *out) {
    FILE *f = qrn_text_open(out);
    if (!f)
        return QRN_FAIL(QRN_E_MEM, "config.json: no memory");
    qrn_status s = put_config(m, f);
    bool whole = qrn_text_close(f, out);
    if (s == QRN_OK && !whole)
        s = QRN_FAIL(QRN_E_MEM, "config.json: no memory");
    return s;
}
