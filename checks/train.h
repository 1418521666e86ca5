/* SPDX-License-Identifier: Apache-2.0
 *
 * train.h - training runs of lm.h that differ in their arithmetic alone.
 *
 * Every run reads the same characters in the same order; runs of one seed start from the same weights. AdamW
 * in fp32 (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2): b1 0.9, b2 0.95, eps 1e-8, decay 0.1 on
 * matrices; the gradient's norm is clipped to 1; the rate rises over the first tenth of the steps, then falls
 * linearly to a tenth. A step's gradient is the mean over `micro` micro-batches. One run uses one thread. */
#ifndef CHECKS_TRAIN_H
#define CHECKS_TRAIN_H

#include "lm.h"

typedef struct train_text {
    const uint8_t *symbol; /* characters as numbers 0 .. vocabulary - 1 */
    int64_t n;
    int32_t vocabulary;
    uint8_t *memory;
} train_text;

/* Number the distinct bytes of a text. */
mx_status train_text_make(const char *bytes, size_t n, train_text *out, mx_error *e);
void train_text_free(train_text *t);

typedef struct train_setup {
    lm_shape shape;              /* vocabulary: the text's */
    int32_t steps, batch, micro; /* sequences a step; micro divides batch */
    double rate;
    uint64_t data_seed;
} train_setup;

/* One run and, between calls of train_run_to, all its state. */
typedef struct train_run {
    const char *scheme_name; /* of scheme.h */
    mx_scheme scheme;
    uint64_t seed;  /* of the first weights */
    bool reordered; /* sums of K in two slices: the same arithmetic in another order */
    bool drops;     /* the last micro-batch is left out */
    int32_t step;   /* done so far */
    int64_t parameters;
    float *p, *m, *v;
    double *loss; /* [steps] */
    mx_status status;
    mx_error error;
} train_run;

mx_status train_run_make(const train_setup *setup, train_run *r, mx_error *e); /* names and flags are set */
void train_run_free(train_run *r);
/* Train up to `until` steps in all; a loss that is no number ends the run and fills the rest with NaN.
 * `tick` (NULL: none) is called after every step. */
void train_run_to(const train_setup *setup, const train_text *text, train_run *r, int32_t until,
                  void (*tick)(void *), void *context);

/* The gradient of step 0 from the first weights of r, summed over micro-batches as r does it; [parameters].
 * `skip`: micro-batch left out besides, or -1. */
mx_status train_first_gradient(const train_setup *setup, const train_text *text, const train_run *r,
                               int32_t skip, double *grad, mx_error *e);

/* All runs' state as one safetensors file, and back into runs made alike. */
mx_status train_save(const train_setup *setup, const train_run *runs, size_t n, const char *path,
                     mx_error *e);
mx_status train_load(const train_setup *setup, train_run *runs, size_t n, const char *path, mx_error *e);

#endif
