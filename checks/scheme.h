/* SPDX-License-Identifier: Apache-2.0
 *
 * scheme.h - schemes by name: RECIPE[+RECIPE][@VARIANT], the first recipe for activations and weights, the
 * second for gradients; `bf16` stands for no recipe. Variants are what a training kernel can do wrong around
 * the right quantiser. */
#ifndef CHECKS_SCHEME_H
#define CHECKS_SCHEME_H

#include "linear.h"

typedef struct scheme_variant {
    const char *name;
    const char *words; /* what happened, for a finding */
    mx_copy dgrad_copy, wgrad_copy;
    double backward_factor;
    bool drops_micro_batch; /* the last micro-batch is left out of the sum: training alone */
} scheme_variant;

size_t scheme_variant_count(void);
const scheme_variant *scheme_variant_at(size_t i); /* row 0 is the right way */
const scheme_variant *scheme_variant_find(const char *name);
void scheme_vary(mx_scheme *s, const scheme_variant *v);

/* `name` must outlive the scheme. MX_BAD_USAGE says what is unknown. Besides the recipes of the table there
 * is `e5m2-unscaled-flushed`: e5m2 at scale 1 with subnormals flushed, known to be bad for gradients. */
mx_status scheme_parse(const char *name, mx_scheme *out, mx_error *e);
/* The variant in a scheme's name; row 0 where it has none. */
const scheme_variant *scheme_variant_of(const char *name);

#endif
