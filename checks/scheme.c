/* SPDX-License-Identifier: Apache-2.0 */
#include "scheme.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "recipe.h"

static const scheme_variant variants_of_schemes[] = {
    {"right", "transposed operands quantised from the source", MX_COPY_SOURCE, MX_COPY_SOURCE, 1, false},
    {"double-quantised", "transposed operands quantised from the dequantised rowwise copies", MX_COPY_TWICE,
     MX_COPY_TWICE, 1, false},
    {"rowwise-reused", "rowwise scales reused for the transposed operands of dgrad and wgrad",
     MX_COPY_ROWWISE, MX_COPY_ROWWISE, 1, false},
    {"wgrad-rowwise", "rowwise scales reused for the transposed operands of wgrad", MX_COPY_SOURCE,
     MX_COPY_ROWWISE, 1, false},
    {"dgrad-rowwise", "rowwise scales reused for the transposed weights of dgrad", MX_COPY_ROWWISE,
     MX_COPY_SOURCE, 1, false},
    {"gradients-scaled", "every dgrad and wgrad result multiplied by 2^-3", MX_COPY_SOURCE, MX_COPY_SOURCE,
     0.125, false},
    {"dropped-micro-batch", "the last micro-batch is left out of the accumulated gradient", MX_COPY_SOURCE,
     MX_COPY_SOURCE, 1, true},
};

size_t scheme_variant_count(void) { return sizeof variants_of_schemes / sizeof *variants_of_schemes; }

const scheme_variant *scheme_variant_at(size_t i)
{
    return i < scheme_variant_count() ? &variants_of_schemes[i] : NULL;
}

const scheme_variant *scheme_variant_find(const char *name)
{
    for (size_t i = 0; i < scheme_variant_count(); i++)
        if (!strcmp(variants_of_schemes[i].name, name)) return &variants_of_schemes[i];
    return NULL;
}

void scheme_vary(mx_scheme *s, const scheme_variant *v)
{
    s->dgrad_copy = v->dgrad_copy;
    s->wgrad_copy = v->wgrad_copy;
    s->backward_factor = v->backward_factor;
}

static mx_recipe flushed;
static pthread_once_t flushed_made = PTHREAD_ONCE_INIT;

static void make_flushed(void)
{
    flushed = *mx_recipe_find("cast-e5m2-rne-sat");
    flushed.name = "e5m2-unscaled-flushed";
    flushed.quirk = MX_QUIRK_SUBNORMAL_ZERO;
}

static mx_status recipe_named(const char *name, const mx_recipe **out, mx_error *e)
{
    pthread_once(&flushed_made, make_flushed);
    *out = !strcmp(name, flushed.name) ? &flushed : mx_recipe_find(name);
    if (!*out && strcmp(name, "bf16"))
        return mx_fail(e, MX_BAD_USAGE, name, "no such recipe; `mxcheck list recipes` has them all");
    return MX_OK;
}

const scheme_variant *scheme_variant_of(const char *name)
{
    const char *at = strchr(name, '@');
    return at ? scheme_variant_find(at + 1) : &variants_of_schemes[0];
}

mx_status scheme_parse(const char *name, mx_scheme *out, mx_error *e)
{
    char forward[96];
    snprintf(forward, sizeof forward, "%s", name);
    *out = (mx_scheme){.name = name};
    const scheme_variant *v = scheme_variant_of(name);
    if (!v)
        return mx_fail(e, MX_BAD_USAGE, name,
                       "no such variant: double-quantised, rowwise-reused, wgrad-rowwise, dgrad-rowwise, "
                       "gradients-scaled or dropped-micro-batch");
    forward[strcspn(forward, "@")] = 0;
    char *gradient = strchr(forward, '+');
    if (gradient) *gradient++ = 0;
    mx_status status = recipe_named(forward, &out->forward, e);
    if (!status && gradient) status = recipe_named(gradient, &out->gradient, e);
    if (!status && gradient && !out->gradient)
        return mx_fail(e, MX_BAD_USAGE, name, "bf16 gradients after a quantised forward are not offered");
    out->arith = out->forward || out->gradient ? MX_ARITH_QUANTIZED : MX_ARITH_BF16;
    scheme_vary(out, v);
    return status;
}
