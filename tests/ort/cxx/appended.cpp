// SPDX-License-Identifier: MIT
//
// An application in C++ as onnxruntime's page on the QNN provider prints it: the provider is
// appended by its name. It prints whether the provider is listed, and two results: the second
// from an environment of its own.
//
//   appended LIBRARY MODEL [before]      LIBRARY -: no option; before: the options come first
#include "digits.h"

#include <cstdio>

static void run(const char *library, const char *model) {
    Ort::Env env = Ort::Env{ORT_LOGGING_LEVEL_ERROR, "Default"};
    std::unordered_map<std::string, std::string> qnn_options;
    if (library[0] != '-')
        qnn_options["backend_path"] = library;
    Ort::SessionOptions session_options;
    session_options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
    session_options.AppendExecutionProvider("QNN", qnn_options);
    Ort::Session session(env, model, session_options);
    print(session);
}

static void run_options_first(const char *library, const char *model) {
    Ort::SessionOptions session_options;
    session_options.AppendExecutionProvider("QNN", {{"backend_path", library}});
    session_options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
    Ort::Env env = Ort::Env{ORT_LOGGING_LEVEL_ERROR, "Default"};
    Ort::Session session(env, model, session_options);
    print(session);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4)
        return 2;
    try {
        for (const std::string &name : Ort::GetAvailableProviders())
            if (name == "QNNExecutionProvider")
                std::puts("listed");
        (argc == 4 ? run_options_first : run)(argv[1], argv[2]);
        run(argv[1], argv[2]);
        Ort::SessionOptions other;
        other.AppendExecutionProvider("NoSuchProvider", {});
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
