// SPDX-License-Identifier: MIT
// Lines: one a step.
