// SPDX-License-Identifier: MIT
//
// An application in C++ as onnxruntime's pages print it: registers the plugin, chooses its device,
// appends it with the options of the QNN provider, runs a model and writes a context model.
//
//   published PLUGIN LIBRARY MODEL CONTEXT-MODEL
#include "digits.h"

#include <cstdio>

static void run(Ort::Env &env, const char *path, const Ort::SessionOptions &options) {
    Ort::Session session(env, path, options);
    print(session);
}

static void work(Ort::Env &env, char **argv) {
    std::vector<Ort::ConstEpDevice> selected;
    for (const Ort::ConstEpDevice &device : env.GetEpDevices())
        if (std::string(device.EpName()) == "QNNExecutionProvider" && selected.empty())
            selected.push_back(device);
    std::unordered_map<std::string, std::string> qnn_options;
    qnn_options["backend_path"] = argv[2];

    Ort::SessionOptions session_options;
    session_options.AppendExecutionProvider_V2(env, selected, qnn_options);
    session_options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
    run(env, argv[3], session_options);

    Ort::SessionOptions so;
    so.AppendExecutionProvider_V2(env, selected, qnn_options);
    so.AddConfigEntry("ep.context_enable", "1");
    so.AddConfigEntry("ep.context_file_path", argv[4]);
    so.AddConfigEntry("ep.context_embed_mode", "1");
    { Ort::Session writes(env, argv[3], so); }
    Ort::SessionOptions plain;
    plain.AppendExecutionProvider_V2(env, selected, qnn_options);
    run(env, argv[4], plain);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    try {
        Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "Default");
        env.RegisterExecutionProviderLibrary("QNNExecutionProvider", argv[1]);
        work(env, argv);
        env.UnregisterExecutionProviderLibrary("QNNExecutionProvider");
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
