/* SPDX-License-Identifier: Apache-2.0
 * case_io.h - between case.c, case_json.c, case_write.c and manifest.c: the file side of cases. */
#ifndef MX_CASE_IO_H
#define MX_CASE_IO_H

#include "case.h"
#include "json.h"
#include "store.h"

#define MX_CASE_SCHEMA "1" /* value of "mxcheck" in the metadata of a vector file, and in the manifest */
#define MX_CASE_PREFIX "case:"
#define MX_MANIFEST    "manifest.json"

/* A case without its tensors, and JSON. `tensors[role]` is left to the caller: "in" and "want" are objects
 * from role to tensor name. */
json_t *mx_case_to_json(const mx_case *c); /* NULL: no memory, or a number that JSON cannot hold */
mx_status mx_case_from_json(const json_t *o, const char *id, const char *place, mx_case *c, mx_error *e);
/* Is it fit for command lines and file names: letters, digits and "._+=,:@-", a letter or digit first? */
bool mx_case_id_is_plain(const char *id);

/* One file of a manifest. */
typedef struct mx_manifest_file {
    char name[128];
    char sha256[MX_SHA256_TEXT];
    int64_t bytes;
    const json_t *cases; /* list of ids, borrowed from the manifest */
} mx_manifest_file;

/* Read and check the text of a manifest: schema, plain and distinct names, well-formed digests. `each` is
 * called for every file in order; a status other than MX_OK ends the walk and is returned. */
mx_status mx_manifest_walk(const char *text, size_t n, const char *place,
                           mx_status (*each)(const mx_manifest_file *file, void *context, mx_error *e),
                           void *context, mx_error *e);

/* Add the cases of an opened vector file to a set (also for fuzzing: any store will do). */
mx_status mx_cases_add(mx_case_set *set, const mx_store *store, mx_error *e);
mx_case_set *mx_cases_new(void); /* NULL: no memory */

#endif
