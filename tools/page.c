/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"

extern char **environ;

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--text:#1c2430;--back:#fff;--line:#d5dbe3;--soft:#f3f5f8}\n"
    "@media(prefers-color-scheme:dark){:root{--text:#dfe5ee;--back:#14181f;--line:#343c48;--soft:#1d232c}\n"
    ".plot svg{filter:invert(1) hue-rotate(180deg)}}\n"
    "body{font:15px/1.5 "
    "system-ui,sans-serif;color:var(--text);background:var(--back);max-width:75rem;margin:2rem "
    "auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}\n"
    ".verdict{font-size:1.05rem;border-left:4px solid;padding:.4rem .8rem;background:var(--soft)}\n"
    "table{border-collapse:collapse;font-size:.82rem;margin:.8rem 0}.wide{overflow-x:auto}\n"
    "td,th{border-bottom:1px solid var(--line);padding:.2rem .55rem;text-align:left;white-space:nowrap}\n"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}th{background:var(--soft)}\n"
    "pre{background:var(--soft);padding:.7rem;overflow-x:auto;font-size:.8rem}\n"
    ".plots{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;max-width:100%}figcaption{font-size:.82rem}"
    "\n"
    ".plot svg{max-width:100%;height:auto}\n"
    "</style>\n";

mx_status page_begin(page *p, const char *title, mx_error *e)
{
    *p = (page){.error = e};
    p->out = open_memstream(&p->text, &p->size);
    if (!p->out) return p->status = mx_fail(e, MX_NO_MEMORY, title, "out of memory");
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          p->out);
    page_text(p, title);
    fprintf(p->out, "</title>\n%s</head><body>\n<h1>", style);
    page_text(p, title);
    fputs("</h1>\n", p->out);
    return MX_OK;
}

void page_text(page *p, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", p->out); break;
        case '>': fputs("&gt;", p->out); break;
        case '&': fputs("&amp;", p->out); break;
        case '"': fputs("&quot;", p->out); break;
        default: fputc(*text, p->out);
        }
}

void page_heading(page *p, const char *text)
{
    fputs("<h2>", p->out);
    page_text(p, text);
    fputs("</h2>\n", p->out);
}

void page_paragraph(page *p, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("<p>", p->out);
    page_text(p, text);
    fputs("</p>\n", p->out);
}

void page_preformatted(page *p, const char *text)
{
    fputs("<pre>", p->out);
    page_text(p, text);
    fputs("</pre>\n", p->out);
}

void page_table_begin(page *p, const char *const *columns, int n)
{
    fputs("<div class=\"wide\"><table><tr>", p->out);
    for (int i = 0; i < n; i++) {
        fputs("<th>", p->out);
        page_text(p, columns[i]);
        fputs("</th>", p->out);
    }
    fputs("</tr>\n", p->out);
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && !*end;
}

void page_table_row(page *p, const char *const *cells, int n)
{
    fputs("<tr>", p->out);
    for (int i = 0; i < n; i++) {
        fputs(is_number(cells[i]) ? "<td class=\"n\">" : "<td>", p->out);
        page_text(p, cells[i]);
        fputs("</td>", p->out);
    }
    fputs("</tr>\n", p->out);
}

void page_table_end(page *p) { fputs("</table></div>\n", p->out); }

/* ---- plots
 * -------------------------------------------------------------------------------------------------- */

FILE *page_plot_begin(page *p, char **script, size_t *size)
{
    FILE *f = open_memstream(script, size);
    if (!f) {
        p->status = mx_fail(p->error, MX_NO_MEMORY, "plot", "out of memory");
        return NULL;
    }
    /* Ids of one plot must not meet those of the next on the page. */
    fprintf(
        f,
        "set terminal svg noenhanced size 560,400 font 'sans-serif,12' linewidth 1.3 name 'p%d'\n"
        /* Colours of middling lightness, so that they hold on white and, inverted, on black. */
        "set linetype 1 lc rgb '#2a6fbb'\nset linetype 2 lc rgb '#c2571a'\nset linetype 3 lc rgb '#2e8b57'\n"
        "set linetype 4 lc rgb '#8e44ad'\nset linetype 5 lc rgb '#b8860b'\nset linetype 6 lc rgb '#c0392b'\n"
        "set linetype 7 lc rgb '#16808a'\nset linetype 8 lc rgb '#7f7f7f'\n"
        "set grid lc rgb '#c8ced6'\nset border lc rgb '#555'\nset key below maxrows 4\n",
        p->plots++);
    return f;
}

void plot_quote(FILE *f, const char *text)
{
    fputc('\'', f);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', f);
        if ((unsigned char)*text >= 0x20) fputc(*text, f);
    }
    fputc('\'', f);
}

/* Run gnuplot on the script; its standard output, malloc'd. */
static char *run_gnuplot(const char *script, mx_error *e)
{
    char path[] = "/tmp/mxcheck-plot-XXXXXX";
    int fd = mkstemp(path), ends[2];
    if (fd < 0 || pipe(ends)) {
        mx_fail(e, MX_IO, path, "%s", strerror(errno));
        return NULL;
    }
    FILE *file = fdopen(fd, "w");
    fputs(script, file);
    fclose(file);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    char *const argv[] = {"gnuplot", path, NULL};
    pid_t child;
    int failed = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ), status = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char *svg = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&svg, &size), *in = fdopen(ends[0], "r");
    for (int c; memory && in && (c = getc(in)) != EOF;)
        putc(c, memory);
    if (memory) fclose(memory);
    if (in) fclose(in);
    if (!failed) waitpid(child, &status, 0);
    unlink(path);
    if (!failed && !status && svg && size) return svg;
    free(svg);
    mx_fail(e, MX_CANNOT_RUN, "gnuplot", failed ? "not found: install gnuplot-nox" : "failed to draw a plot");
    return NULL;
}

void page_plot_end(page *p, FILE *f, char **script, const char *caption)
{
    if (!f) return;
    fclose(f);
    char *svg = p->status ? NULL : run_gnuplot(*script, p->error);
    if (svg) {
        char *start = strstr(svg, "<svg"); /* without the XML prologue */
        fprintf(p->out, "<figure class=\"plot\">%s<figcaption>", start ? start : svg);
        page_text(p, caption);
        fputs("</figcaption></figure>\n", p->out);
    } else if (!p->status) {
        p->status = MX_CANNOT_RUN;
    }
    free(svg);
    free(*script);
    *script = NULL;
}

mx_status page_finish(page *p, const char *path)
{
    fputs("</body></html>\n", p->out);
    fclose(p->out);
    if (!p->status) p->status = mx_file_write(path, p->text, p->size, p->error);
    free(p->text);
    return p->status;
}
