/* SPDX-License-Identifier: Apache-2.0
 *
 * gradient_result.h - judged schemes as text and as JSON.
 *
 * {"mxcheck": "gradient", "schema": 1, "verdict": TEXT, "passed": BOOL,
 *  "setup": {"tokens", "dim", "hidden", "experts", "top", "seed", "x_data", "dout_data", "rerouted"},
 *  "margin": 1.12, "chance": {TENSOR: {"scatter", "drift"}},
 *  "schemes": [{"recipe", "variant", "right", "element", "block", "verdict": "pass" | "fail" | "not run",
 *               "first_bad": TENSOR | null, "named": VARIANT | null, "reason": TEXT}],
 *  "cells": [{"recipe", "variant", "tensor", "against": "fp64" | "bf16", "rel_l2", "cosine", "norm_ratio",
 *             "projection", "sign_agreement", "sqnr_db", "worst_row", "worst_row_rel", "worst_block": [row,
 * col], "worst_block_rel", "nonfinite", "n", and against fp64 also "expected", "gate", "fault": "" | "not
 * finite" | "magnitude" | "error"}]}
 *
 * "recipe" of a cell is the scheme's name without the variant; the row "bf16" is BF16 itself. "block" is the
 * block size along the reduction axis, 0 for a whole row or tensor. */
#ifndef CHECKS_GRADIENT_RESULT_H
#define CHECKS_GRADIENT_RESULT_H

#include <stdio.h>

#include "gradient.h"

bool gradient_passed(const gradient_row *rows, size_t n);
void gradient_verdict(const gradient_row *rows, size_t n, char *out, size_t size);
/* What is wrong with a row, in words; empty where nothing is. */
void gradient_reason(const gradient_row *row, char *out, size_t size);
void gradient_print(const gradient_scene *s, const gradient_row *rows, size_t n, FILE *out);
json_t *gradient_to_json(const gradient_scene *s, const gradient_row *rows, size_t n);

#endif
