/* SPDX-License-Identifier: Apache-2.0
 *
 * checkpoint.h - a checkpoint split over many safetensors files.
 *
 * model.safetensors.index.json: {"metadata": {...}, "weight_map": {"tensor": "file"}}, the files beside it
 * (huggingface_hub, "Serialization", split_torch_state_dict_into_shards). */
#ifndef MX_CHECKPOINT_H
#define MX_CHECKPOINT_H

#include "store.h"

/* Add every tensor of the map. Refused: file names with a folder in them, tensors that their file lacks.
 * Tensors of a file that the map gives to another file, or to none, are left out. */
mx_status mx_checkpoint_read(const char *index_path, mx_store *out, mx_error *e);

#endif
