/* SPDX-License-Identifier: Apache-2.0
 *
 * explain_place.h - right bytes in the wrong place: faults that need no arithmetic to be recognised. */
#ifndef CHECKS_EXPLAIN_PLACE_H
#define CHECKS_EXPLAIN_PLACE_H

#include "scene.h"

/* Zeros, never written, transposed, another layout, pairs swapped. True if one of them is the cause. */
bool explain_place(const trial *t, int out, char *cause, size_t size);

/* Dequantised values: what all wrong ones have in common (explain_values.c). */
bool explain_values(const trial *t, int out, char *cause, size_t size);

/* Every wrong block holds what belongs to another block, always the same distance away. */
bool explain_blocks_moved(const scene *s, char *cause, size_t size);

#endif
