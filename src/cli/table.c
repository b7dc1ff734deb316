/* Collects cells, then prints them in columns as wide as their widest cell, or narrower. */
#include "cli/table.h"

#include "cli/escape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_FIRST 64
#define GAP 2 /* between two columns */

typedef struct cell {
    char *text; /* not escaped yet: an escape must not be cut */
    size_t columns;
} cell;

struct cli_table {
    const char *const *titles;
    size_t columns;
    const cli_fit *fits; /* NULL: no column may be narrower */
    bool is_utf8;
    bool has_failed;
    cell *cells;
    size_t count;
    size_t room;
};

cli_table *cli_table_new(const char *const *titles, size_t columns) {
    cli_table *table = calloc(1, sizeof(*table));
    if (table != NULL) {
        table->titles = titles;
        table->columns = columns;
        table->is_utf8 = cli_locale_is_utf8();
    }
    return table;
}

void cli_table_fit(cli_table *table, const cli_fit *fits) {
    table->fits = fits;
}

void cli_table_free(cli_table *table) {
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}

static bool make_room(cli_table *table) {
    if (table->count < table->room)
        return true;
    size_t room = table->room == 0 ? CELLS_FIRST : table->room * 2;
    cell *cells = reallocarray(table->cells, room, sizeof(*cells));
    if (cells == NULL)
        return false;
    table->cells = cells;
    table->room = room;
    return true;
}

void cli_table_add(cli_table *table, const char *text) {
    cell new_cell = {0};
    if (table->has_failed)
        return;
    new_cell.text = strdup(*text == '\0' ? "-" : text);
    if (new_cell.text == NULL || !make_room(table)) {
        free(new_cell.text);
        table->has_failed = true;
        return;
    }
    new_cell.columns = cli_escaped_columns(new_cell.text, table->is_utf8);
    table->cells[table->count++] = new_cell;
}

void cli_table_addf(cli_table *table, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        table->has_failed = true;
        return;
    }
    cli_table_add(table, text);
    free(text);
}

/* ---- Widths: 0 is a column that is left out ---- */

static size_t width_of(const cli_table *table, size_t column) {
    size_t width = strlen(table->titles[column]);
    for (size_t i = column; i < table->count; i += table->columns)
        width = table->cells[i].columns > width ? table->cells[i].columns : width;
    return width;
}

static size_t total_of(const cli_table *table, const size_t *widths) {
    size_t total = 0;
    for (size_t i = 0; i < table->columns; i++)
        total += widths[i] == 0 ? 0 : widths[i] + GAP;
    return total - GAP;
}

/* The widest of those that may still be narrower; table->columns: there is none. */
static size_t find_widest(const cli_table *table, const size_t *widths) {
    size_t widest = table->columns;
    for (size_t i = 0; i < table->columns; i++) {
        size_t least = table->fits[i].least;
        bool may_shrink = least > 0 && widths[i] > least && widths[i] > strlen(table->titles[i]);
        if (may_shrink && (widest == table->columns || widths[i] > widths[widest]))
            widest = i;
    }
    return widest;
}

static void shrink(const cli_table *table, size_t *widths, size_t width) {
    for (size_t i; total_of(table, widths) > width; widths[i]--) {
        i = find_widest(table, widths);
        if (i == table->columns)
            return;
    }
}

/* Leaves columns out, the last one first, only as long as the others cannot be made to fit. */
static void set_widths(const cli_table *table, size_t *widths, size_t width) {
    size_t kept = table->columns;
    for (size_t i = 0; i < table->columns; i++)
        widths[i] = width_of(table, i);
    if (width == 0)
        return;
    shrink(table, widths, width);
    while (total_of(table, widths) > width && kept-- > 0) {
        if (!table->fits[kept].may_go)
            continue;
        for (size_t i = 0; i < table->columns; i++)
            widths[i] = i >= kept && table->fits[i].may_go ? 0 : width_of(table, i);
        shrink(table, widths, width);
    }
}

/* ---- Lines ---- */

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The titles if cells is NULL. A line that is too long all the same is cut at its end. */
static void print_line(const cli_table *table, FILE *out, const size_t *widths, const cell *cells,
                       size_t width) {
    size_t at = 0, printed = 0;
    for (size_t i = 0; i < table->columns && (width == 0 || at < width); i++) {
        const char *text = cells == NULL ? table->titles[i] : cells[i].text;
        if (widths[i] == 0)
            continue;
        size_t most = width == 0 ? widths[i] : least_of(widths[i], width - at);
        fprintf(out, "%*s", (int)(at - printed), "");
        printed = at + cli_escape_cut(out, text, table->is_utf8, most);
        at += widths[i] + GAP;
    }
    fputc('\n', out);
}

bool cli_table_print_within(const cli_table *table, FILE *out, size_t width) {
    if (table->has_failed)
        return false;
    if (table->count == 0)
        return true;
    width = table->fits == NULL ? 0 : width;
    size_t *widths = calloc(table->columns, sizeof(*widths));
    if (widths == NULL)
        return false;
    set_widths(table, widths, width);
    print_line(table, out, widths, NULL, width);
    for (size_t i = 0; i < table->count; i += table->columns)
        print_line(table, out, widths, &table->cells[i], width);
    free(widths);
    return true;
}

bool cli_table_print(const cli_table *table, FILE *out) {
    return cli_table_print_within(table, out, 0);
}
