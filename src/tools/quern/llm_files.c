// SPDX-License-Identifier: MIT
//
// Files around a language model. A folder stands for model.bin in it, or for prefill.onnx and
// decode.onnx, and chunk.onnx where it has one.
#include "tools/quern/llm_files.h"

#include "base/file.h"
#include "frontend/llm/llama.h"
#include "tools/quern/output.h"
#include "tools/quern/run_pte.h"
#include "tools/quern/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// "folder/name" in the arena; NULL when out of memory. of_file: the folder is that of a file.
static char *beside(qt_llm_files *f, const char *path, bool of_file, const char *name) {
    const char *slash = strrchr(path, '/');
    size_t n = !of_file ? strlen(path) : slash ? (size_t)(slash - path) : 0;
    char *to = qrn_arena_alloc(f->arena, n + strlen(name) + 2);
    if (to && n)
        sprintf(to, "%.*s/%s", (int)n, path, name);
    else if (to)
        strcpy(to, slash && of_file ? "/" : ""), strcat(to, name);
    return to;
}

static int add_folder(qt_llm_files *f, const char *folder) {
    static const char *const names[] = {"model.bin", "prefill.onnx", "chunk.onnx", "decode.onnx"};
    size_t before = f->graphs.n;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = beside(f, folder, false, names[i]);
        if (!path)
            return qt_no_memory();
        if (access(path, F_OK) != 0)
            continue;
        if (!qt_list_add(&f->graphs, path))
            return qt_no_memory();
        if (i == 0)
            break;
    }
    if (f->graphs.n > before)
        return QT_EXIT_OK;
    qt_error("%s: the folder has neither model.bin nor prefill.onnx and decode.onnx", folder);
    return QT_EXIT_FAILURE;
}

static int find_graphs(qt_llm_files *f, const qt_list *models) {
    for (size_t i = 0; i < models->n; i++) {
        int code = QT_EXIT_OK;
        if (is_folder(models->items[i])) {
            code = add_folder(f, models->items[i]);
        } else if (access(models->items[i], R_OK) != 0) {
            qt_error("%s: %s", models->items[i], strerror(errno));
            code = QT_EXIT_FAILURE;
        } else if (!qt_list_add(&f->graphs, models->items[i])) {
            code = qt_no_memory();
        }
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

// A file beside the first model, or NULL where there is none.
static const char *find_file(qt_llm_files *f, const char *name) {
    const char *path = beside(f, f->graphs.items[0], true, name);
    return path && access(path, F_OK) == 0 ? path : NULL;
}

static int read_config(qt_llm_files *f, const qt_llm_options *opt) {
    const char *config = opt->config ? opt->config : find_file(f, "config.json");
    const char *more = find_file(f, "generation_config.json");
    if (config && ql_config_read(config, &f->config) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_INPUT);
    if (more && ql_config_read(more, &f->config) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_INPUT);
    return QT_EXIT_OK;
}

// Whether the base of the rotated positions is needed, the graphs say (cache.c).
static int check_rope(qt_llm_files *f, const qt_llm_options *opt) {
    if (opt->rope_theta < 0) {
        qt_error("--rope-theta %g: expected a number above 0", opt->rope_theta);
        return QT_EXIT_USAGE;
    }
    if (opt->rope_theta > 0)
        f->config.rope.theta = opt->rope_theta;
    return QT_EXIT_OK;
}

// --- GGUF files

// The word of a token whose number is under a key; NULL: there is none.
static const char *word_of(qt_llm_files *f, const ql_gguf *g, const char *key) {
    ql_text *words;
    uint32_t n;
    uint64_t id;
    if (!ql_gguf_find(g, key) ||
        ql_gguf_texts(g, "tokenizer.ggml.tokens", f->arena, &words, &n) != QRN_OK ||
        ql_gguf_uint(g, key, n - 1, &id) != QRN_OK)
        return NULL;
    char *word = qrn_arena_alloc(f->arena, words[id].n + 1);
    return word ? memcpy(word, words[id].data, words[id].n) : NULL;
}

// What such a file says besides its tokenizer; other files come first.
static int take_gguf(qt_llm_files *f, const char *path, const ql_gguf *g) {
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.eot_token_id"};
    ql_llama m;
    ql_text text;
    uint64_t id;
    f->chat.bos = word_of(f, g, "tokenizer.ggml.bos_token_id");
    f->chat.eos = word_of(f, g, "tokenizer.ggml.eos_token_id");
    for (size_t i = 0; i < 2; i++)
        if (ql_gguf_find(g, ends[i]) && f->config.n_ends < QL_MAX_ENDS) {
            if (ql_gguf_uint(g, ends[i], UINT32_MAX - 1, &id) != QRN_OK)
                return qt_failed(NULL, QT_EXIT_INPUT);
            f->config.ends[f->config.n_ends++] = (uint32_t)id;
        }
    if (ql_gguf_find(g, "tokenizer.chat_template")) {
        if (ql_gguf_text(g, "tokenizer.chat_template", &text) != QRN_OK)
            return qt_failed(NULL, QT_EXIT_INPUT);
        char *copy = qrn_arena_alloc(f->arena, text.n + 1);
        if (!copy)
            return qt_no_memory();
        f->chat.chat_template = memcpy(copy, text.data, text.n);
        f->chat_file = path;
    }
    // A file of tokens alone, or of another family, does not say how positions are rotated.
    if (f->config.rope.theta > 0 || ql_llama_read(g, 0, f->arena, &m) != QRN_OK)
        return QT_EXIT_OK;
    f->config.rope.theta = m.rope_theta;
    if (m.rope_factor > 0)
        f->config.rope = (ql_rope){.theta = m.rope_theta,
                                   .scaling = QL_ROPE_LLAMA3,
                                   .factor = m.rope_factor,
                                   .low_freq = 1,
                                   .high_freq = 4,
                                   .original_positions = 8192};
    return QT_EXIT_OK;
}

static int read_gguf(qt_llm_files *f, const char *path) {
    ql_gguf *g = NULL;
    int code = QT_EXIT_OK;
    if (ql_gguf_open(path, &g) != QRN_OK || ql_tokenizer_of_gguf(g, &f->tokenizer) != QRN_OK)
        code = qt_failed(NULL, QT_EXIT_INPUT);
    else
        code = take_gguf(f, path, g);
    ql_gguf_close(g);
    return code;
}

static int read_tokenizer(qt_llm_files *f, const qt_llm_options *opt) {
    const char *path = opt->tokenizer ? opt->tokenizer : find_file(f, "tokenizer.json");
    if (!path) {
        qt_error("there is no tokenizer.json beside the model; name it with --tokenizer FILE");
        return QT_EXIT_USAGE;
    }
    if (access(path, R_OK) != 0) {
        qt_error("%s: %s", path, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    if (ql_gguf_is_file(path))
        return read_gguf(f, path);
    return ql_tokenizer_open(path, &f->tokenizer) == QRN_OK ? QT_EXIT_OK
                                                            : qt_failed(NULL, QT_EXIT_INPUT);
}

// --- chats

static const char chatml[] =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' "
    "}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// The whole of a file as text in the arena.
static int read_text(qt_llm_files *f, const char *path, const char **out) {
    qrn_file file;
    if (qrn_file_map(path, &file) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_FAILURE);
    char *text = qrn_arena_alloc(f->arena, file.size + 1);
    if (text)
        memcpy(text, file.data, file.size);
    qrn_file_unmap(&file);
    *out = text;
    return text ? QT_EXIT_OK : qt_no_memory();
}

static int read_chat(qt_llm_files *f, const qt_llm_options *opt) {
    const char *config = NULL, *path = opt->chat;
    if (opt->tokenizer) {
        config = beside(f, opt->tokenizer, true, "tokenizer_config.json");
        config = config && access(config, F_OK) == 0 ? config : NULL;
    }
    config = config ? config : find_file(f, "tokenizer_config.json");
    ql_chat chat = {0};
    if (config && ql_chat_read(config, f->arena, &chat) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_INPUT);
    f->chat.bos = chat.bos ? chat.bos : f->chat.bos;
    f->chat.eos = chat.eos ? chat.eos : f->chat.eos;
    if (chat.chat_template) {
        f->chat.chat_template = chat.chat_template;
        f->chat_file = config;
    }
    path = path || f->chat.chat_template ? path : find_file(f, "chat_template.jinja");
    if (path) {
        f->chat_file = path;
        return read_text(f, path, &f->chat.chat_template);
    }
    if (!f->chat.chat_template && ql_tokenizer_find(f->tokenizer, "<|im_start|>") != QL_NO_TOKEN &&
        ql_tokenizer_find(f->tokenizer, "<|im_end|>") != QL_NO_TOKEN) {
        f->chat.chat_template = chatml;
        f->chat_file = "ChatML";
        f->chat_guessed = true;
    }
    return QT_EXIT_OK;
}

static void add_end(qt_llm_files *f, const char *word) {
    uint32_t id = word ? ql_tokenizer_find(f->tokenizer, word) : QL_NO_TOKEN;
    for (uint32_t i = 0; i < f->config.n_ends; i++)
        if (f->config.ends[i] == id)
            return;
    if (id != QL_NO_TOKEN && f->config.n_ends < QL_MAX_ENDS)
        f->config.ends[f->config.n_ends++] = id;
}

// Tokens that end a text: those of the files, or the usual ones where no file says.
static void find_ends(qt_llm_files *f) {
    static const char *const usual[] = {"</s>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>",
                                        "<|end_of_text|>"};
    add_end(f, f->chat.eos);
    f->ends_guessed = f->config.n_ends == 0;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0] && f->ends_guessed; i++)
        add_end(f, usual[i]);
}

int qt_llm_graphs_find(const qt_list *models, qt_llm_files *out) {
    *out = (qt_llm_files){.arena = qrn_arena_create()};
    return out->arena ? find_graphs(out, models) : qt_no_memory();
}

static int read_tools(qt_llm_files *f, const qt_llm_options *opt) {
    if (!opt->tools)
        return QT_EXIT_OK;
    qrn_status s = qrn_json_read_file(opt->tools, f->arena, &f->tools);
    if (s == QRN_OK && f->tools->kind != QRN_JSON_ARRAY)
        s = QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: %s, expected a list of tools", opt->tools,
                     f->tools->line, qrn_json_kind_text(f->tools->kind));
    if (s == QRN_OK && f->chat.chat_template && !strstr(f->chat.chat_template, "tools"))
        qt_warn("%s has no effect: the chat template does not mention tools", opt->tools);
    return s == QRN_OK ? QT_EXIT_OK
                       : qt_failed(NULL, s == QRN_E_NOT_FOUND ? QT_EXIT_FAILURE : QT_EXIT_INPUT);
}

int qt_llm_files_open(const qt_list *models, const qt_llm_options *opt, qt_llm_files *out) {
    for (size_t i = 0; i < models->n; i++)
        if (ql_gguf_is_file(models->items[i])) {
            qt_error("%s: a GGUF file; convert it with 'quern import %s -o DIR' and generate with "
                     "DIR",
                     models->items[i], models->items[i]);
            return QT_EXIT_REFUSED;
        }
    int code = qt_llm_graphs_find(models, out);
    if (code == QT_EXIT_OK)
        code = read_config(out, opt);
    if (code == QT_EXIT_OK)
        code = read_tokenizer(out, opt);
    if (code == QT_EXIT_OK)
        code = check_rope(out, opt);
    if (code == QT_EXIT_OK)
        code = read_chat(out, opt);
    if (code == QT_EXIT_OK)
        code = read_tools(out, opt);
    if (code == QT_EXIT_OK)
        find_ends(out);
    return code;
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int copy_file(const char *from, const char *to) {
    qrn_file file;
    if (qrn_file_map(from, &file) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_FAILURE);
    const qt_part whole = {file.data, file.size};
    bool written = qt_write_file(to, &whole, 1);
    qrn_file_unmap(&file);
    return written ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

int qt_llm_files_copy(const char *model, const char *folder) {
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json", "config.json",
                                        "generation_config.json", "chat_template.jinja"};
    qt_llm_files f = {.arena = qrn_arena_create()};
    int code = f.arena ? QT_EXIT_OK : qt_no_memory();
    for (size_t i = 0; code == QT_EXIT_OK && i < sizeof names / sizeof names[0]; i++) {
        const char *from = beside(&f, model, true, names[i]);
        const char *to = beside(&f, folder, false, names[i]);
        if (!from || !to)
            code = qt_no_memory();
        else if (access(from, F_OK) == 0 && !same_file(from, to))
            code = copy_file(from, to);
        else if (i == 0 && access(from, F_OK) != 0)
            break; // no language model
    }
    qt_llm_files_close(&f);
    return code;
}

void qt_llm_files_close(qt_llm_files *f) {
    ql_tokenizer_close(f->tokenizer);
    free(f->graphs.items);
    qrn_arena_destroy(f->arena);
    *f = (qt_llm_files){0};
}
