/* SPDX-License-Identifier: Apache-2.0
 * Bounded reading, atomic writing, digests. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

static mx_status system_fails(mx_error *e, const char *path, const char *what)
{
    return mx_fail(e, MX_IO, path, "%s: %s", what, strerror(errno));
}

mx_status mx_input_open(const char *path, bool nofollow, mx_input *in, mx_error *e)
{
    *in = (mx_input){.fd = -1};
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. It has no effect on regular files. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (nofollow ? O_NOFOLLOW : 0));
    if (fd < 0 && errno == ELOOP && nofollow)
        return mx_fail(e, MX_BAD_INPUT, path, "is a symbolic link, which is not followed here");
    if (fd < 0) return system_fails(e, path, "cannot open");
    struct stat s;
    mx_status status = MX_OK;
    if (fstat(fd, &s))
        status = system_fails(e, path, "cannot stat");
    else if (!S_ISREG(s.st_mode))
        status = mx_fail(e, MX_BAD_INPUT, path, "is no regular file");
    else if (!(in->name = strdup(path)))
        status = mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    if (status) return close(fd), status;
    in->fd = fd;
    in->size = (uint64_t)s.st_size;
    return MX_OK;
}

mx_status mx_input_memory(const char *name, const void *data, size_t n, mx_input *in, mx_error *e)
{
    *in = (mx_input){.name = strdup(name), .fd = -1, .memory = data, .size = n};
    return in->name ? MX_OK : mx_fail(e, MX_NO_MEMORY, name, "out of memory");
}

mx_status mx_input_read(const mx_input *in, uint64_t offset, void *to, size_t n, mx_error *e)
{
    if (offset > in->size || n > in->size - offset)
        return mx_fail(e, MX_BAD_INPUT, in->name,
                       "ends at byte %" PRIu64 ", needed bytes %" PRIu64 " to %" PRIu64, in->size, offset,
                       offset + n);
    if (in->fd < 0) return n ? (void)memcpy(to, in->memory + offset, n) : (void)0, MX_OK;
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(in->fd, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_fails(e, in->name, "cannot read");
        if (!got) return mx_fail(e, MX_BAD_INPUT, in->name, "became shorter while it was read");
        done += (size_t)got;
    }
    return MX_OK;
}

void mx_input_close(mx_input *in)
{
    if (in->fd >= 0) close(in->fd);
    free(in->name);
    *in = (mx_input){.fd = -1};
}

mx_status mx_input_all(const mx_input *in, size_t limit, char **data, size_t *n, mx_error *e)
{
    if (in->size > limit)
        return mx_fail(e, MX_BAD_INPUT, in->name, "has %" PRIu64 " bytes; at most %zu are taken here",
                       in->size, limit);
    char *all = malloc((size_t)in->size + 1);
    if (!all) return mx_fail(e, MX_NO_MEMORY, in->name, "out of memory");
    mx_status status = mx_input_read(in, 0, all, (size_t)in->size, e);
    if (status) return free(all), status;
    all[in->size] = 0;
    *data = all;
    *n = (size_t)in->size;
    return MX_OK;
}

mx_status mx_output_open(const char *path, mx_output *out, mx_error *e)
{
    *out = (mx_output){.fd = -1};
    size_t size = strlen(path) + 16;
    out->path = strdup(path);
    out->temporary = malloc(size);
    if (!out->path || !out->temporary) {
        mx_output_abandon(out);
        return mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    }
    snprintf(out->temporary, size, "%s.XXXXXX", path);
    out->fd = mkostemp(out->temporary, O_CLOEXEC);
    if (out->fd >= 0) return MX_OK;
    mx_status status = system_fails(e, path, "cannot write");
    free(out->temporary); /* nothing to unlink */
    out->temporary = NULL;
    mx_output_abandon(out);
    return status;
}

mx_status mx_output_write(mx_output *out, uint64_t offset, const void *data, size_t n, mx_error *e)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(out->fd, (const char *)data + done, n - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return system_fails(e, out->path, "cannot write");
        done += (size_t)put;
    }
    return MX_OK;
}

mx_status mx_output_commit(mx_output *out, mx_error *e)
{
    mode_t mask = umask(0);
    umask(mask);
    mx_status status = MX_OK;
    /* mkostemp gives 0600; the caller's umask decides as for any new file. close() reports a full disk. */
    if (fchmod(out->fd, 0666 & ~mask) | close(out->fd)) status = system_fails(e, out->path, "cannot write");
    out->fd = -1;
    if (!status && rename(out->temporary, out->path))
        status = system_fails(e, out->path, "cannot put in place");
    if (!status) {
        free(out->temporary);
        out->temporary = NULL;
    }
    mx_output_abandon(out);
    return status;
}

void mx_output_abandon(mx_output *out)
{
    if (out->fd >= 0) close(out->fd);
    if (out->temporary) unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (mx_output){.fd = -1};
}

mx_status mx_file_write(const char *path, const void *data, size_t n, mx_error *e)
{
    mx_output out;
    mx_status status = mx_output_open(path, &out, e);
    if (status) return status;
    if (!(status = mx_output_write(&out, 0, data, n, e))) return mx_output_commit(&out, e);
    mx_output_abandon(&out);
    return status;
}

static void to_hex(const uint8_t digest[SHA256_DIGEST_LENGTH], char hex[MX_SHA256_TEXT])
{
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

struct mx_digest {
    SHA256_CTX c;
};

mx_digest *mx_digest_begin(void)
{
    mx_digest *d = malloc(sizeof *d);
    if (d) SHA256Init(&d->c);
    return d;
}

void mx_digest_add(mx_digest *d, const void *data, size_t n)
{
    if (d && n) SHA256Update(&d->c, data, n);
}

void mx_digest_end(mx_digest *d, char hex[MX_SHA256_TEXT])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    hex[0] = 0;
    if (!d) return;
    SHA256Final(digest, &d->c);
    to_hex(digest, hex);
    free(d);
}

void mx_sha256(const void *data, size_t n, char hex[MX_SHA256_TEXT])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX c;
    SHA256Init(&c);
    if (n) SHA256Update(&c, data, n);
    SHA256Final(digest, &c);
    to_hex(digest, hex);
}

mx_status mx_sha256_input(const mx_input *in, char hex[MX_SHA256_TEXT], mx_error *e)
{
    enum { PIECE = 1 << 18 };
    uint8_t *piece = malloc(PIECE), digest[SHA256_DIGEST_LENGTH];
    if (!piece) return mx_fail(e, MX_NO_MEMORY, in->name, "out of memory");
    SHA256_CTX c;
    SHA256Init(&c);
    mx_status status = MX_OK;
    for (uint64_t at = 0; at < in->size && !status; at += PIECE) {
        size_t n = in->size - at < PIECE ? (size_t)(in->size - at) : PIECE;
        if (!(status = mx_input_read(in, at, piece, n, e))) SHA256Update(&c, piece, n);
    }
    SHA256Final(digest, &c);
    to_hex(digest, hex);
    free(piece);
    return status;
}

char *mx_path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);
    const char *slash = n && dir[n - 1] == '/' ? "" : "/";
    char *path = malloc(n + strlen(name) + 2);
    if (path) sprintf(path, "%s%s%s", dir, slash, name);
    return path;
}

bool mx_path_is_plain(const char *name)
{
    if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c == '/' || *c == '\\' || *c < 0x20 || *c == 0x7F) return false;
    return true;
}

void mx_place_of(char *out, size_t size, const char *file, const char *tensor)
{
    snprintf(out, size, "%s: tensor '%s'", file, tensor);
}
