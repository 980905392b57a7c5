// SPDX-License-Identifier: MIT
//
// Runs the digits model on a grey image and prints the probabilities.
#ifndef QRN_TESTS_ORT_CXX_DIGITS_H
#define QRN_TESTS_ORT_CXX_DIGITS_H

#include "onnxruntime_cxx_api.h"

#include <cstdio>

static inline void print(Ort::Session &session) {
    std::vector<float> image(64, 0.5f);
    const int64_t shape[] = {1, 1, 8, 8};
    const char *inputs[] = {"image"}, *outputs[] = {"probabilities"};
    Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(0, 0);
    Ort::Value input =
        Ort::Value::CreateTensor<float>(memory, image.data(), image.size(), shape, 4);
    auto result = session.Run(Ort::RunOptions{nullptr}, inputs, &input, 1, outputs, 1);
    const float *p = result[0].GetTensorMutableData<float>();
    for (int i = 0; i < 10; i++)
        std::printf("%.6f%c", static_cast<double>(p[i]), i < 9 ? ' ' : '\n');
}

#endif
