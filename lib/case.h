/* SPDX-License-Identifier: Apache-2.0
 *
 * case.h - tensors, cases and vector files.
 *
 * A vector file is a safetensors file. Its __metadata__ holds "mxcheck" (the schema version) and one entry
 * "case:<id>" per case: a JSON object with
 *   operation, recipe, flags (list), reason, verdict ("exact", "bound", "open"), generator, seed,
 *   in: {"x": "<tensor>"}, want: {"q": "<tensor>", "scale": "<tensor>"}, and where they apply
 *   pitch and cols (elements stored and used per row of x), misalign (bytes that x's base is off 16),
 *   alpha, beta, model, schedule, output, data_layout, scale_layout, make {rows, cols, dtype, digest}: x is
 *   made by the generator when needed and must have that SHA-256. seed is hexadecimal text ("0x2a").
 * "format:<tensor>" names the format of codes whose dtype does not tell ("U8" of e2m1). Tensors may be
 * shared between cases. manifest.json lists every file with its SHA-256, size and cases. */
#ifndef MX_CASE_H
#define MX_CASE_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MX_MAX_RANK    4
#define MX_MAX_TENSORS 12 /* of one case, in or out */

/* A dense row-major array. dtype is a format name of mx.h, or "u8", "i8", "i32", "u32", "i64", "f64", "bool".
 * Sub-byte formats are stored one code per byte. */
typedef struct mx_tensor {
    char name[96];   /* of a file's tensor; of a case's tensor, the role: "x", "q", "scale" */
    char stored[96]; /* of a case's tensor: its name in the file; empty: "<case id>/<role>" when written */
    char dtype[12];
    int rank;
    int64_t shape[MX_MAX_RANK];
    size_t bytes;
    unsigned char *data;
} mx_tensor;

size_t mx_dtype_bytes(const char *dtype); /* bytes of one element, 0 if unknown */
mx_status mx_tensor_make(mx_tensor *t, const char *name, const char *dtype, int rank, const int64_t *shape,
                         mx_error *e); /* allocates zeroed data; checks the product of shapes for overflow */
void mx_tensor_free(mx_tensor *t);
int64_t mx_tensor_count(const mx_tensor *t); /* number of elements */

typedef enum mx_verdict_kind { MX_VERDICT_EXACT, MX_VERDICT_BOUND, MX_VERDICT_OPEN } mx_verdict_kind;

typedef struct mx_case {
    char id[96];        /* reproducer: `mxcheck kernel --only ID` */
    char operation[32]; /* first column of mx_kernel.h's table */
    char recipe[48];    /* recipe, or cast convention; empty where none applies */
    char flags[160];    /* comma-separated, each explained by mx_flag_text() */
    char reason[200];
    char generator[64];
    uint64_t seed;
    mx_verdict_kind verdict;
    char model[48], schedule[48], output[12];
    char data_layout[32], scale_layout[32];
    int64_t pitch; /* elements stored per row of x, pad included; 0: dense */
    int64_t cols;  /* with pitch: how many elements of each row are data */
    int misalign;  /* bytes */
    /* x is not stored but made by `generator` from `seed` when needed, and its bytes must have this SHA-256.
     * make_digest is empty where x is stored. */
    int64_t make_rows, make_cols;
    char make_dtype[12], make_digest[65];
    double alpha, beta;
    int n_in, n_want;
    mx_tensor in[MX_MAX_TENSORS], want[MX_MAX_TENSORS]; /* named by role: "x", "q", "scale"; data is borrowed
                                                           from the set it was loaded with */
} mx_case;

typedef struct mx_case_set mx_case_set; /* a directory or file of cases, and the memory behind them */

/* Load `path`: a directory with manifest.json (digests are verified), or one .safetensors file. */
mx_status mx_cases_load(const char *path, mx_case_set **out, mx_error *e);
void mx_cases_free(mx_case_set *set);
size_t mx_cases_count(const mx_case_set *set);
const mx_case *mx_cases_at(const mx_case_set *set, size_t i);

/* Write one vector file of `n` cases; tensors with equal name and bytes are stored once. Deterministic. */
mx_status mx_cases_write(const char *path, const mx_case *cases, size_t n, mx_error *e);
/* Write DIR/manifest.json over the named files of DIR. */
mx_status mx_manifest_write(const char *dir, const char *const *files, size_t n, mx_error *e);

const mx_tensor *mx_case_in(const mx_case *c, const char *role);   /* NULL if absent */
const mx_tensor *mx_case_want(const mx_case *c, const char *role); /* NULL if absent */

/* Why a flag exists; NULL if unknown. The table is in flags.c: bug type, effect, source. */
const char *mx_flag_text(const char *flag);
size_t mx_flag_count(void);
const char *mx_flag_at(size_t i);

#ifdef __cplusplus
}
#endif
#endif
