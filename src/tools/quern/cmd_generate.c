// SPDX-License-Identifier: MIT
//
// quern generate: text from a language model.
#include "frontend/llm/generate.h"
#include "frontend/llm/template.h"
#include "tools/quern/commands.h"
#include "tools/quern/generate_estimate.h"
#include "tools/quern/generate_report.h"
#include "tools/quern/llm_files.h"
#include "tools/quern/llm_graphs.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct generate_options {
    qt_backend_options backend;
    qt_llm_options llm;
    const char *prompt, *prompt_file, *system;
    bool raw, interactive, estimate, json, events, quiet;
    double temperature, top_p, repeat_penalty;
    uint64_t top_k, seed, max_tokens;
    qt_list stops, adapters;
} generate_options;

#define AT(field) offsetof(generate_options, field)

static const qt_flag prompt_flags[] = {
    {"prompt", 'p', QT_TEXT, "TEXT", AT(prompt), NULL, "the prompt"},
    {"prompt-file", 0, QT_FILE, "FILE", AT(prompt_file), NULL,
     "read the prompt from a file; - is stdin"},
    {"system", 0, QT_TEXT, "TEXT", AT(system), NULL, "system message"},
    {"raw", 0, QT_BOOL, NULL, AT(raw), NULL,
     "continue the prompt unchanged, without a chat template"},
    {"interactive", 'i', QT_BOOL, NULL, AT(interactive), NULL,
     "chat: read one message per line from stdin"},
    {"tokenizer", 0, QT_FILE, "FILE", AT(llm.tokenizer), NULL,
     "tokenizer.json or .gguf (default: beside MODEL)"},
    {"config", 0, QT_FILE, "FILE", AT(llm.config), NULL, "config.json (default: beside MODEL)"},
    {"chat-template", 0, QT_FILE, "FILE", AT(llm.chat), NULL,
     "template in Jinja (default: that of tokenizer_config.json)"},
    {"tools", 0, QT_FILE, "FILE", AT(llm.tools), NULL,
     "JSON list of tools that the chat template describes"},
    {"lora", 0, QT_LIST, "FILE[:N]", AT(adapters), NULL,
     "apply a LoRA adapter to the context binary: at the start, or after N tokens of the answer"},
    {"rope-theta", 0, QT_NUMBER, "X", AT(llm.rope_theta), NULL,
     "override rope_theta of config.json"},
    {0},
};

static const qt_flag text_flags[] = {
    {"max-tokens", 'n', QT_COUNT1, "N", AT(max_tokens), NULL,
     "stop after N tokens (default: when the model ends)"},
    {"temperature", 0, QT_NUMBER, "X", AT(temperature), NULL,
     "sampling temperature; 0 (default): greedy"},
    {"top-k", 'k', QT_COUNT1, "N", AT(top_k), NULL, "sample from the N most probable tokens"},
    {"top-p", 0, QT_ABOVE0, "X", AT(top_p), NULL,
     "sample from the fewest tokens whose probabilities reach X"},
    {"repeat-penalty", 0, QT_ABOVE0, "X", AT(repeat_penalty), NULL,
     "penalty for tokens that already occurred"},
    {"seed", 0, QT_COUNT, "N", AT(seed), NULL, "seed of the sampling (default 0)"},
    {"stop", 0, QT_LIST, "TEXT", AT(stops), NULL, "stop before this text"},
    {"estimate", 0, QT_BOOL, NULL, AT(estimate), NULL,
     "estimate the tokens/s on the NPU of --soc, without running the model"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print text, tokens and statistics as JSON"},
    {"events", 0, QT_BOOL, NULL, AT(events), NULL,
     "like --json, with each piece of text as a JSON line before it"},
    {"quiet", 'q', QT_BOOL, NULL, AT(quiet), NULL, "print errors and the text only"},
    {0},
};

#define MOST_MESSAGES 1024

typedef struct job {
    const generate_options *opt;
    qt_llm_files files;
    qt_llm_graphs *graphs;
    ql_model *model;
    double load_ms;
    int failed;    // an exit code: an adapter could not be applied
    ql_ids fed;    // tokens whose keys and values the cache has, or had
    ql_ids prompt; // of this turn: the whole conversation
    ql_message messages[MOST_MESSAGES];
    char *owned[MOST_MESSAGES]; // texts of messages, from malloc
    uint32_t n_messages;
} job;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig) {
    (void)sig;
    interrupted = 1;
}

static bool is_over(void *ctx) { return interrupted || ((const job *)ctx)->failed; }

static int failed(qrn_status s, int code) {
    return qt_failed(NULL, s == QRN_E_MEM ? QT_EXIT_FAILURE : code);
}

// --- the model

// A tokenizer of another model is known by its size.
static int check_vocabulary(const job *j) {
    uint32_t have = ql_tokenizer_size(j->files.tokenizer),
             wanted = ql_model_describe(j->model).vocab;
    if (have > wanted) {
        qt_error("the tokenizer has %u tokens, but the model has logits for %u: they belong to "
                 "different models",
                 have, wanted);
        return QT_EXIT_INPUT;
    }
    if (have < wanted)
        qt_warn("the tokenizer has %u tokens, but the model has logits for %u: the other tokens "
                "have no text",
                have, wanted);
    for (uint32_t i = 0; i < j->files.config.n_ends; i++)
        if (j->files.config.ends[i] >= wanted)
            qt_warn("eos_token_id %u is outside of the vocabulary of %u", j->files.config.ends[i],
                    wanted);
    return QT_EXIT_OK;
}

static int open_model(job *j) {
    double t0 = qt_now_ms();
    uint32_t n;
    int code = qt_llm_graphs_open(&j->files.graphs, &j->opt->backend, &j->graphs);
    if (code != QT_EXIT_OK)
        return code;
    const ql_graph *list = qt_llm_graphs_list(j->graphs, &n);
    const ql_memory memory = qt_llm_graphs_memory(j->graphs);
    qrn_status s = ql_model_make(list, n, &j->files.config.rope, &memory, &j->model);
    if (s != QRN_OK)
        return failed(s, QT_EXIT_INPUT);
    j->load_ms = qt_now_ms() - t0;
    return check_vocabulary(j);
}

// Applies the adapters that are due when the answer has n tokens: "FILE:n", or "FILE" at the begin.
static int apply_adapters(job *j, uint32_t n) {
    for (size_t i = 0; i < j->opt->adapters.n; i++) {
        const char *text = j->opt->adapters.items[i], *colon = strrchr(text, ':');
        bool later = colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
        if ((later ? strtoull(colon + 1, NULL, 10) : 0) != n)
            continue;
        char *path = later ? strndup(text, (size_t)(colon - text)) : strdup(text);
        int code = path ? qt_llm_graphs_apply(j->graphs, path) : qt_no_memory();
        free(path);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

// --- the conversation

// Adds a message; the text is copied.
static int add_message(job *j, const char *role, const char *text, size_t n) {
    if (j->n_messages == MOST_MESSAGES) {
        qt_error("more than %d messages", MOST_MESSAGES);
        return QT_EXIT_INPUT;
    }
    char *copy = strndup(text, n);
    if (!copy)
        return qt_no_memory();
    j->owned[j->n_messages] = copy;
    j->messages[j->n_messages++] = (ql_message){role, copy};
    return QT_EXIT_OK;
}

// The tokens of the whole conversation so far.
static int make_prompt(job *j) {
    const qt_llm_files *f = &j->files;
    ql_bytes text = {0};
    const ql_conversation about = {.messages = j->messages,
                                   .n = j->n_messages,
                                   .bos = f->chat.bos,
                                   .eos = f->chat.eos,
                                   .tools = f->tools,
                                   .answer = true};
    qrn_status s = QRN_OK;
    j->prompt.n = 0;
    if (j->opt->raw)
        s = ql_bytes_add(&text, j->messages[0].content, strlen(j->messages[0].content));
    else
        s = ql_template_render(f->chat_file, f->chat.chat_template, &about, &text);
    if (s == QRN_OK) // a template writes the tokens around a text itself
        s = ql_encode(f->tokenizer, (ql_slice){text.data, text.n}, j->opt->raw, &j->prompt);
    ql_bytes_free(&text);
    return s == QRN_OK ? QT_EXIT_OK : failed(s, QT_EXIT_INPUT);
}

static int check_chat(const job *j) {
    if (j->opt->raw || j->files.chat.chat_template) {
        if (!j->opt->raw && j->files.chat_guessed)
            qt_inform("chat template: ChatML, by the tokens <|im_start|> and <|im_end|>; no file "
                      "beside the model names one");
        return QT_EXIT_OK;
    }
    qt_error("no chat template: neither tokenizer_config.json nor chat_template.jinja beside the "
             "model has one; give it with --chat-template FILE, or continue the prompt with --raw");
    return QT_EXIT_USAGE;
}

// --- one turn

static void on_text(void *ctx, const char *text, size_t n) {
    const generate_options *o = ((const job *)ctx)->opt;
    if (o->events)
        qt_put_text_event(text, n);
    else if (!o->json)
        qt_put_text(text, n);
}

static void on_token(void *ctx, uint32_t token, uint32_t number) {
    job *j = ctx;
    if (j->opt->events)
        qt_put_token_event(token);
    j->failed = apply_adapters(j, number);
}

static int report(const job *j, const ql_generated *g) {
    const qt_generate_report r = {.g = g,
                                  .model = ql_model_describe(j->model),
                                  .backend = qt_llm_graphs_backend(j->graphs),
                                  .load_ms = j->load_ms};
    if (j->opt->events || j->opt->json) {
        char *text =
            qt_json_dump(qt_generate_json(&r), j->opt->events ? JSON_COMPACT : JSON_INDENT(2));
        if (!text)
            return QT_EXIT_FAILURE;
        fprintf(stdout, "%s\n", text);
        free(text);
        return qt_close_stdout();
    }
    qt_put_text("\n", 1);
    qt_inform_statistics(&r);
    return j->opt->interactive ? QT_EXIT_OK : qt_close_stdout();
}

// Forgets what the conversation does not begin with; returns how many tokens are known already.
static size_t reuse(job *j) {
    size_t same = 0, known = ql_model_position(j->model);
    while (same < known && same < j->fed.n && same + 1 < j->prompt.n &&
           j->fed.items[same] == j->prompt.items[same])
        same++;
    ql_model_rewind(j->model, (uint32_t)same);
    return same;
}

static int remember(job *j, const ql_generated *g) {
    qrn_status s = QRN_OK;
    j->fed.n = 0;
    for (size_t i = 0; i < j->prompt.n && s == QRN_OK; i++)
        s = ql_ids_add(&j->fed, j->prompt.items[i]);
    for (size_t i = 0; i < g->tokens.n && s == QRN_OK; i++)
        s = ql_ids_add(&j->fed, g->tokens.items[i]);
    if (s != QRN_OK)
        return failed(s, QT_EXIT_FAILURE);
    return add_message(j, "assistant", g->text.data ? g->text.data : "", g->text.n);
}

static int take_turn(job *j) {
    const generate_options *o = j->opt;
    const ql_generate_options options = {
        .sampling = {.temperature = o->temperature,
                     .top_k = (uint32_t)o->top_k,
                     .top_p = o->top_p,
                     .repeat_penalty = o->repeat_penalty,
                     .seed = o->seed},
        .max_tokens = (uint32_t)o->max_tokens,
        .ends = j->files.config.ends,
        .n_ends = j->files.config.n_ends,
        .stops = o->stops.items,
        .n_stops = (uint32_t)o->stops.n,
        .inside = o->raw,
        .is_over = is_over,
        .text = on_text,
        .token = on_token,
        .now_ms = qt_now_ms,
        .ctx = j,
    };
    int code = make_prompt(j);
    if (code != QT_EXIT_OK)
        return code;
    code = apply_adapters(j, 0);
    if (code != QT_EXIT_OK)
        return code;
    ql_generated g;
    size_t same = reuse(j);
    struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, before;
    interrupted = 0;
    sigaction(SIGINT, &act, &before);
    qrn_status s = ql_generate(j->model, j->files.tokenizer, j->prompt.items + same,
                               j->prompt.n - same, &options, &g);
    code = j->failed ? j->failed : s == QRN_OK ? report(j, &g) : failed(s, QT_EXIT_INPUT);
    if (o->interactive) // else an interrupt that comes late must not take the report away
        sigaction(SIGINT, &before, NULL);
    if (code == QT_EXIT_OK && o->interactive)
        code = remember(j, &g);
    ql_generated_free(&g);
    return code;
}

static int chat(job *j) {
    char *line = NULL;
    size_t room = 0;
    int code = QT_EXIT_OK;
    while (code == QT_EXIT_OK) {
        if (isatty(STDIN_FILENO) && !j->opt->quiet)
            qt_put_text("> ", 2);
        ssize_t n = getline(&line, &room, stdin);
        if (n < 0)
            break;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n == 0)
            continue;
        code = add_message(j, "user", line, (size_t)n);
        if (code == QT_EXIT_OK)
            code = take_turn(j);
    }
    free(line);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

// --- the command

static int check_options(const generate_options *o) {
    if (o->prompt && o->prompt_file) {
        qt_error("--prompt and --prompt-file exclude each other");
        return QT_EXIT_USAGE;
    }
    if (o->raw && (o->system || o->interactive || o->llm.tools)) {
        qt_error("--%s needs a chat template, --raw uses none", o->system        ? "system"
                                                                : o->interactive ? "interactive"
                                                                                 : "tools");
        return QT_EXIT_USAGE;
    }
    if (!o->prompt && !o->prompt_file && !o->interactive) {
        qt_error("no prompt: use --prompt TEXT, --prompt-file FILE or --interactive");
        return QT_EXIT_USAGE;
    }
    if (o->temperature < 0 || o->top_p > 1) {
        qt_error("--%s %g: expected %s", o->temperature < 0 ? "temperature" : "top-p",
                 o->temperature < 0 ? o->temperature : o->top_p,
                 o->temperature < 0 ? "0 or more" : "at most 1");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

// The messages that the flags give.
static int add_messages(job *j) {
    const generate_options *o = j->opt;
    int code = QT_EXIT_OK;
    if (o->system)
        code = add_message(j, "system", o->system, strlen(o->system));
    if (code == QT_EXIT_OK && o->prompt)
        code = add_message(j, "user", o->prompt, strlen(o->prompt));
    if (code != QT_EXIT_OK || !o->prompt_file)
        return code;
    FILE *f = strcmp(o->prompt_file, "-") == 0 ? stdin : fopen(o->prompt_file, "rb");
    char *text = NULL;
    size_t room = 0;
    ssize_t n = f ? getdelim(&text, &room, '\0', f) : -1;
    if (n < 0)
        qt_error("%s: %s", o->prompt_file,
                 f && feof(f) ? "empty; expected a prompt" : strerror(errno));
    else if (memchr(text, '\0', (size_t)n))
        qt_error("%s: not a text file (it contains a zero byte)", o->prompt_file);
    code = n < 0 || memchr(text, '\0', (size_t)n) ? QT_EXIT_FAILURE
                                                  : add_message(j, "user", text, (size_t)n);
    free(text);
    if (f && f != stdin)
        fclose(f);
    return code;
}

static int run_job(job *j, const qt_list *args) {
    int code = check_options(j->opt);
    if (code == QT_EXIT_OK)
        code = add_messages(j);
    if (code == QT_EXIT_OK)
        code = qt_llm_files_open(args, &j->opt->llm, &j->files);
    if (code == QT_EXIT_OK)
        code = check_chat(j);
    if (code == QT_EXIT_OK && j->n_messages)
        code = make_prompt(j); // what is wrong with it is said before the model is loaded
    if (code == QT_EXIT_OK && j->files.config.n_ends == 0)
        qt_warn("no end-of-text token: config.json has no eos_token_id");
    if (code == QT_EXIT_OK)
        code = open_model(j);
    if (code == QT_EXIT_OK && (j->opt->prompt || j->opt->prompt_file))
        code = take_turn(j);
    return code == QT_EXIT_OK && j->opt->interactive ? chat(j) : code;
}

// Needs no tokenizer and no prompt.
static int run_estimate(job *j, const qt_list *args) {
    int code = qt_llm_graphs_find(args, &j->files);
    return code == QT_EXIT_OK ? qt_generate_estimate(&j->files.graphs, j->opt->backend.soc,
                                                     j->opt->backend.allow_fp16, j->opt->json)
                              : code;
}

// Where stdout is closed, the next file that is opened has its number: shared memory of the cache,
// into which the text would go.
static int check_stdout(void) {
    if (fcntl(STDOUT_FILENO, F_GETFD) >= 0)
        return QT_EXIT_OK;
    qt_error("stdout: %s", strerror(errno));
    return QT_EXIT_FAILURE;
}

static int run(const void *options, const qt_list *args) {
    if (check_stdout() != QT_EXIT_OK)
        return QT_EXIT_FAILURE;
    job *j = calloc(1, sizeof *j);
    if (!j)
        return qt_no_memory();
    j->opt = options;
    qt_set_quiet(j->opt->quiet);
    int code = j->opt->estimate ? run_estimate(j, args) : run_job(j, args);
    ql_model_close(j->model);
    qt_llm_graphs_close(j->graphs);
    qt_llm_files_close(&j->files);
    ql_ids_free(&j->prompt);
    ql_ids_free(&j->fed);
    for (uint32_t i = 0; i < j->n_messages; i++)
        free(j->owned[i]);
    free(j);
    return code;
}

const qt_command qt_generate = {
    .name = "generate",
    .summary = "generate text with a language model",
    .args = "MODEL... --prompt TEXT",
    .min_args = 1,
    .max_args = 16,
    .about = "Generates text with a language model: prefill and decode graphs as ONNX files, a "
             "context binary, a program of ExecuTorch's Llama script (.pte), or a folder with "
             "model.bin, or with prefill.onnx and decode.onnx.\nGraphs have static shapes, the "
             "inputs ids, cos, sin, mask, past_k_0, past_v_0, ... and the outputs logits, new_k_0, "
             "new_v_0, ... The prompt is processed in chunks of the largest suitable graph, the "
             "answer token by token. Text is streamed to stdout, statistics go to stderr. Ctrl-C "
             "stops the text and still prints the statistics.",
    .groups = {{"prompt", prompt_flags}, {"text", text_flags}, {"backend", qt_backend_flags}},
    .examples = {{"quern generate model/ --prompt 'What is the capital of France?'",
                  "A folder with graphs, tokenizer.json and config.json."},
                 {"quern generate prefill.onnx decode.onnx -p Hello --backend htp --soc SM8750",
                  "As the NPU of a phone computes it."}},
    .options_size = sizeof(generate_options),
    .run = run,
};
