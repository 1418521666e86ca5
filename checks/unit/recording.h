/* SPDX-License-Identifier: Apache-2.0
 * Reads vectors/seen/cvt-*.txt: a cast over all fp32 patterns, recorded on hardware as a step function. */
#ifndef UNIT_RECORDING_H
#define UNIT_RECORDING_H

#include "mx.h"

#define MAX_STEPS 1024

typedef struct recording {
    const mx_format *format;
    mx_cast cast;
    int n_steps;
    uint32_t first[MAX_STEPS]; /* pattern where the step begins; first[0] is 0 */
    uint32_t code[MAX_STEPS];
} recording;

/* Paths of all recordings, sorted; aborts the test if there are none. `path` holds `room` of them. */
int recording_paths(char (*path)[256], int room);
/* Aborts the test on a malformed file. */
void recording_read(const char *path, recording *r);
/* The code of a pattern; `end` (NULL allowed): the first pattern of the next step. */
uint32_t recording_code(const recording *r, uint32_t pattern, uint64_t *end);
double value_of_f32(uint32_t pattern);

#endif
