// SPDX-License-Identifier: MIT
//
// Files around a language model. A folder stands for model.bin in it, or for prefill.onnx and
// decode.onnx.
#include "tools/quern/llm_files.h"

#include "base/file.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int failed(int code) {
    qt_error("%s", qrn_message());
    return code;
}

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
    static const char *const names[] = {"model.bin", "prefill.onnx", "decode.onnx"};
    size_t before = f->graphs.n;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = beside(f, folder, false, names[i]);
        if (!path)
            return no_memory();
        if (access(path, F_OK) != 0)
            continue;
        if (!qt_list_add(&f->graphs, path))
            return no_memory();
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
        if (is_folder(models->items[i]))
            code = add_folder(f, models->items[i]);
        else if (!qt_list_add(&f->graphs, models->items[i]))
            code = no_memory();
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
        return failed(QT_EXIT_INPUT);
    if (more && ql_config_read(more, &f->config) != QRN_OK)
        return failed(QT_EXIT_INPUT);
    if (opt->rope_theta < 0) {
        qt_error("--rope-theta %g: expected a number above 0", opt->rope_theta);
        return QT_EXIT_USAGE;
    }
    if (opt->rope_theta > 0)
        f->config.rope.theta = opt->rope_theta;
    if (f->config.rope.theta > 0)
        return QT_EXIT_OK;
    qt_error("rope_theta, by which positions are rotated, is not known: %s; give it with "
             "--rope-theta N, or config.json with --config FILE",
             config ? "config.json does not say it" : "there is no config.json beside the model");
    return QT_EXIT_USAGE;
}

static int read_tokenizer(qt_llm_files *f, const qt_llm_options *opt) {
    const char *path = opt->tokenizer ? opt->tokenizer : find_file(f, "tokenizer.json");
    if (!path) {
        qt_error("there is no tokenizer.json beside the model; name it with --tokenizer FILE");
        return QT_EXIT_USAGE;
    }
    if (access(path, R_OK) != 0 || ql_tokenizer_open(path, &f->tokenizer) != QRN_OK)
        return access(path, R_OK) != 0 ? (qt_error("%s: cannot be read", path), QT_EXIT_FAILURE)
                                       : failed(QT_EXIT_INPUT);
    return QT_EXIT_OK;
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
        return failed(QT_EXIT_FAILURE);
    char *text = qrn_arena_alloc(f->arena, file.size + 1);
    if (text)
        memcpy(text, file.data, file.size);
    qrn_file_unmap(&file);
    *out = text;
    return text ? QT_EXIT_OK : no_memory();
}

static int read_chat(qt_llm_files *f, const qt_llm_options *opt) {
    const char *config = NULL, *path = opt->chat;
    if (opt->tokenizer) {
        config = beside(f, opt->tokenizer, true, "tokenizer_config.json");
        config = config && access(config, F_OK) == 0 ? config : NULL;
    }
    config = config ? config : find_file(f, "tokenizer_config.json");
    if (config && ql_chat_read(config, f->arena, &f->chat) != QRN_OK)
        return failed(QT_EXIT_INPUT);
    f->chat_file = config;
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
    return out->arena ? find_graphs(out, models) : no_memory();
}

int qt_llm_files_open(const qt_list *models, const qt_llm_options *opt, qt_llm_files *out) {
    int code = qt_llm_graphs_find(models, out);
    if (code == QT_EXIT_OK)
        code = read_config(out, opt);
    if (code == QT_EXIT_OK)
        code = read_tokenizer(out, opt);
    if (code == QT_EXIT_OK)
        code = read_chat(out, opt);
    if (code == QT_EXIT_OK)
        find_ends(out);
    return code;
}

void qt_llm_files_close(qt_llm_files *f) {
    ql_tokenizer_close(f->tokenizer);
    free(f->graphs.items);
    qrn_arena_destroy(f->arena);
    *f = (qt_llm_files){0};
}
