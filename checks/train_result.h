/* SPDX-License-Identifier: Apache-2.0
 *
 * train_result.h - a judged training study as text and as JSON.
 *
 * {"mxcheck": "train", "schema": 1, "verdict": TEXT, "passed": BOOL,
 *  "setup": {"steps", "window", "batch", "micro", "context", "dim", "heads", "layers", "hidden", "experts",
 * "top", "vocabulary", "parameters", "rate", "data_seed", "model", "schedule"}, "runs": [{"recipe",
 * "variant", "seed", "reordered", "loss": [one number or null a step]}], "band": {"mean": [...], "low":
 * [...], "high": [...]},       smoothed, one number a step "curves": [{"recipe", "variant", "reordered",
 * "right", "loss": [...] smoothed as train_judge.h says, "left_at": step from 1 or null, "gap", "verdict":
 * "inside" | "left" | "bad gradient", "gradient": {agreement.h's members, "bad", "group", "named",
 * "reason"}}]} */
#ifndef CHECKS_TRAIN_RESULT_H
#define CHECKS_TRAIN_RESULT_H

#include <stdio.h>

#include "train_judge.h"

void train_verdict(const train_study *s, char *out, size_t size);
void train_probe_reason(const train_probe *p, char *out, size_t size);
void train_print(const train_study *s, FILE *out);
json_t *train_to_json(const train_study *s);

#endif
