// SPDX-License-Identifier: MIT
//
// GenAI transformer backend: its number. For clients that include it; Quern has no such library.

#ifndef QNN_GEN_AI_TRANSFORMER_COMMON_H
#define QNN_GEN_AI_TRANSFORMER_COMMON_H

// Number of the backend.
#define QNN_BACKEND_ID_GENAI_TRANSFORMER 14

#endif // QNN_GEN_AI_TRANSFORMER_COMMON_H
