/* Collects cells, then prints them in columns as wide as their widest cell. */
#include "cli/table.h"

#include "cli/escape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_FIRST 64

typedef struct cell {
    char *text;
    size_t columns;
} cell;

struct cli_table {
    const char *const *titles;
    size_t columns;
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
    new_cell.text = cli_escaped(*text == '\0' ? "-" : text, table->is_utf8, &new_cell.columns);
    if (new_cell.text == NULL || !make_room(table)) {
        free(new_cell.text);
        table->has_failed = true;
        return;
    }
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

static size_t width_of(const cli_table *table, size_t column) {
    size_t width = strlen(table->titles[column]);
    for (size_t i = column; i < table->count; i += table->columns)
        width = table->cells[i].columns > width ? table->cells[i].columns : width;
    return width;
}

static void print_cell(FILE *out, const char *text, size_t columns, size_t width, bool is_last) {
    fputs(text, out);
    if (is_last) {
        fputc('\n', out);
        return;
    }
    for (size_t i = columns; i < width + 2; i++)
        fputc(' ', out);
}

bool cli_table_print(const cli_table *table, FILE *out) {
    if (table->has_failed)
        return false;
    if (table->count == 0)
        return true;
    size_t *widths = calloc(table->columns, sizeof(*widths));
    if (widths == NULL)
        return false;
    for (size_t i = 0; i < table->columns; i++)
        widths[i] = width_of(table, i);
    for (size_t i = 0; i < table->columns; i++) {
        const char *title = table->titles[i];
        print_cell(out, title, strlen(title), widths[i], i + 1 == table->columns);
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        print_cell(out, table->cells[i].text, table->cells[i].columns, widths[column],
                   column + 1 == table->columns);
    }
    free(widths);
    return true;
}
