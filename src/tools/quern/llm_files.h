// SPDX-License-Identifier: MIT
//
// The files around a language model: which belong to it, and what they say.
#ifndef QRN_TOOLS_QUERN_LLM_FILES_H
#define QRN_TOOLS_QUERN_LLM_FILES_H

#include "base/json_read.h"
#include "frontend/llm/config.h"
#include "frontend/llm/tokenizer.h"
#include "tools/quern/flags.h"

typedef struct qt_llm_options {
    const char *tokenizer; // tokenizer.json or GGUF; NULL: tokenizer.json beside the model
    const char *config;    // file; NULL: config.json beside the model
    const char *chat;      // file with a chat template; NULL: that of tokenizer_config.json
    const char *tools;     // file with a list of tools for the chat template; NULL: none
    double rope_theta;     // 0: that of config.json
} qt_llm_options;

typedef struct qt_llm_files {
    qt_list graphs; // those of a folder in its place
    ql_tokenizer *tokenizer;
    ql_config config;
    ql_chat chat;
    const char *chat_file; // where its template is from; NULL: there is none
    qrn_json *tools;       // NULL: none
    bool chat_guessed;     // by the names of special tokens
    bool ends_guessed;     // tokens that end a text are the usual ones: no file names them
    qrn_arena *arena;
} qt_llm_files;

// Finds and reads them. QT_EXIT_OK or another code after a message. qt_llm_files_close in any case.
int qt_llm_files_open(const qt_list *models, const qt_llm_options *opt, qt_llm_files *out);
// The same for the graphs alone.
int qt_llm_graphs_find(const qt_list *models, qt_llm_files *out);
// Copies those around a model (a file) into a folder, where the model has a tokenizer.json.
int qt_llm_files_copy(const char *model, const char *folder);
void qt_llm_files_close(qt_llm_files *f);

#endif
