/* The linked list, against what it should hold, walked both ways. */
#include "base/list.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define ITEMS 5

struct item {
    int number;
    struct zkli_list link;
};

static struct item Items[ITEMS];
static struct zkli_list Head, Other;

static void set_up(void) {
    memset(Items, 0, sizeof(Items));
    for (int i = 0; i < ITEMS; i++)
        Items[i].number = i;
    zkli_list_init(&Head);
    zkli_list_init(&Other);
}

static void append(struct zkli_list *head, const char *numbers) {
    for (const char *n = numbers; *n != '\0'; n++)
        zkli_list_append(head, &Items[*n - '0'].link);
}

/* Whether the list holds the items of these numbers, in this order. */
static bool holds(const struct zkli_list *head, const char *numbers) {
    const struct zkli_list *before = head;
    const struct zkli_list *link = head->next;
    for (const char *n = numbers; *n != '\0'; n++) {
        if (link == head || link->previous != before)
            return false;
        if (ZKLI_CONTAINER(link, const struct item, link)->number != *n - '0')
            return false;
        before = link;
        link = link->next;
    }
    return link == head && head->previous == before &&
           zkli_list_is_empty(head) == (numbers[0] == '\0');
}

static void links_stand_in_the_order_they_were_appended(void) {
    set_up();
    CHECK(holds(&Head, ""));
    CHECK(!zkli_list_is_linked(&Items[0].link));
    append(&Head, "0");
    CHECK(zkli_list_is_linked(&Items[0].link));
    CHECK(holds(&Head, "0"));
    append(&Head, "213");
    CHECK(holds(&Head, "0213"));
}

static void any_link_can_be_removed_and_twice_is_once(void) {
    static const char *const left[] = {"1234", "0234", "0134", "0124", "0123"};
    for (size_t i = 0; i < ITEMS; i++) {
        set_up();
        append(&Head, "01234");
        for (int times = 0; times < 2; times++) {
            zkli_list_remove(&Items[i].link);
            CHECK(holds(&Head, left[i]));
            CHECK(!zkli_list_is_linked(&Items[i].link));
        }
        append(&Other, (const char[]){(char)('0' + i), '\0'});
        CHECK(zkli_list_is_linked(&Items[i].link));
    }
}

static void the_first_is_taken_until_there_is_none(void) {
    set_up();
    append(&Head, "312");
    CHECK(zkli_list_take_first(&Head) == &Items[3].link);
    CHECK(!zkli_list_is_linked(&Items[3].link));
    CHECK(zkli_list_take_first(&Head) == &Items[1].link);
    CHECK(holds(&Head, "2"));
    CHECK(zkli_list_take_first(&Head) == &Items[2].link);
    CHECK(zkli_list_take_first(&Head) == NULL);
    CHECK(holds(&Head, ""));
}

static void a_whole_list_is_moved_to_the_end_of_another(void) {
    static const struct {
        const char *to, *from, *both;
    } samples[] = {
        {"", "", ""}, {"01", "", "01"}, {"", "01", "01"}, {"0", "1", "01"}, {"20", "143", "20143"},
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        set_up();
        append(&Head, samples[i].to);
        append(&Other, samples[i].from);
        zkli_list_move_all(&Head, &Other);
        CHECK(holds(&Head, samples[i].both));
        CHECK(holds(&Other, ""));
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"links stand in the order they were appended",
         links_stand_in_the_order_they_were_appended},
        {"any link can be removed, and twice is once", any_link_can_be_removed_and_twice_is_once},
        {"the first is taken until there is none", the_first_is_taken_until_there_is_none},
        {"a whole list is moved to the end of another",
         a_whole_list_is_moved_to_the_end_of_another},
    };
    return TEST_MAIN(argc, argv, "list", cases);
}
