/* See engine_several.h. */
#include "unit/engine_several.h"

const char *const Names[SEVERAL] = {"a", "b", "c"};
struct owner *Owners;

/* ---- Groups ---- */

static zkl_err add_all(struct zkli_group *group, const struct zkli_wish *wishes, size_t count) {
    zkl_err err = ZKL_OK;
    for (size_t i = 0; i < count && err == ZKL_OK; i++) {
        struct owner *owner = &Bench.owners[Bench.owner_count + i];
        *owner = (struct owner){.member = NULL};
        err = zkli_group_add(group, &owner->member, &wishes[i], on_notice, owner);
    }
    return err;
}

zkl_err enter_all_by(const struct zkli_wish *wishes, size_t count, struct owner **ret_owners) {
    REQUIRE(Bench.owner_count + count <= OWNERS_MAX);
    zkli_engine_enter(Bench.engine);
    struct zkli_group *group = zkli_group_new(Bench.engine, count);
    zkl_err err = group == NULL ? ZKL_NOMEM : add_all(group, wishes, count);
    if (err == ZKL_OK)
        zkli_group_begin(group);
    else if (group != NULL)
        zkli_group_drop(group);
    settle();
    if (err != ZKL_OK)
        return err;
    *ret_owners = &Bench.owners[Bench.owner_count];
    Bench.owner_count += count;
    return ZKL_OK;
}

zkl_err enter_all(const char *const *names, size_t count, bool is_try, struct owner **ret_owners) {
    struct zkli_wish wishes[SEVERAL] = {{.name = NULL}};
    REQUIRE(count <= SEVERAL);
    for (size_t i = 0; i < count; i++)
        wishes[i] = (struct zkli_wish){.name = names[i],
                                       .kind = ZKLI_KIND_MUTEX,
                                       .is_try = is_try,
                                       .thread = {7, 70},
                                       .owner = 7};
    return enter_all_by(wishes, count, ret_owners);
}

/* ---- The beginning ---- */

void plant_directories(void) {
    char path[ZKLI_PATH_MAX];
    (void)tiny_add(&Bench.server, "/locks", 0);
    for (size_t i = 0; i < SEVERAL; i++) {
        (void)snprintf(path, sizeof(path), "/locks/%s", Names[i]);
        (void)tiny_add(&Bench.server, path, 0);
    }
}

void begin_several(bool is_try) {
    REQUIRE_INT(enter_all(Names, SEVERAL, is_try, &Owners), ZKL_OK);
    while (Bench.request_count > 0 && Bench.requests[0].slot == ZKLI_SLOT_HEARTBEAT)
        serve_next();
}

void begin_all(void) {
    bench_begin();
    plant_directories();
    begin_several(false);
}

void begin_behind_another(void) {
    bench_begin();
    plant_directories();
    (void)tiny_add(&Bench.server, OTHER_NODE, 99);
    Bench.server.number = 1;
    begin_several(false);
    serve_all();
}

void begin_behind_two(size_t free_one, char ret_paths[SEVERAL][NODE_PATH_MAX]) {
    bench_begin();
    plant_directories();
    for (size_t i = 0; i < SEVERAL; i++) {
        (void)snprintf(ret_paths[i], NODE_PATH_MAX, "/locks/%s/_c_%s-lock-0000000000", Names[i],
                       "f47ac10b-58cc-4372-a567-0e02b2c3d479");
        if (i != free_one)
            (void)tiny_add(&Bench.server, ret_paths[i], 99);
    }
    Bench.server.number = 1;
    begin_several(false);
}

/* ---- What has come of it ---- */

size_t nodes(void) {
    size_t count = 0;
    char path[ZKLI_PATH_MAX];
    for (size_t i = 0; i < SEVERAL; i++) {
        (void)snprintf(path, sizeof(path), "/locks/%s", Names[i]);
        count += tiny_children(&Bench.server, path);
    }
    return count;
}

size_t grants(void) {
    size_t count = 0;
    for (size_t i = 0; i < SEVERAL; i++)
        count += Owners[i].grants;
    return count;
}

bool are(enum zkli_contender_state state) {
    for (size_t i = 0; i < SEVERAL; i++)
        if (Owners[i].member == NULL || Owners[i].member->core.state != state)
            return false;
    return true;
}

size_t in_flight(enum kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.request_count; i++)
        count += Bench.requests[i].kind == kind;
    return count;
}

void check_granted(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK_INT(Owners[i].grants, 1);
        REQUIRE(Owners[i].member != NULL);
        CHECK(zkli_member_is_held(Owners[i].member));
        CHECK(Owners[i].member->group == NULL);
        CHECK(tiny_find(&Bench.server, path_of(&Owners[i])) != NULL);
        CHECK_STRING(Owners[i].member->core.uuid, Owners[0].member->core.uuid);
        CHECK_INT(zkli_member_token(Owners[i].member), zkli_member_token(Owners[0].member));
    }
    CHECK(zkli_member_token(Owners[0].member) > 0);
}

void check_failed(zkl_err error) {
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK((Owners[i].notices & TOLD(FAILED)) != 0);
        CHECK_INT(Owners[i].error, error);
        CHECK(Owners[i].member == NULL);
    }
    CHECK_INT(grants(), 0);
    CHECK_INT(nodes(), 0);
}

/* ---- Their transaction ---- */

struct request await_multi(void) {
    for (int i = 0; i < 100; i++) {
        while (Bench.request_count > 0) {
            struct request request = take(0);
            if (request.kind == MULTI)
                return request;
            serve_request(&request);
        }
        advance(10 * MS);
    }
    REQUIRE(false);
    return (struct request){.kind = MULTI};
}

void refuse(const struct request *request, size_t place, enum zkli_result result) {
    tell_reply(request->slot,
               &(struct zkli_reply){.result = result, .code = -1, .data = "", .refused = place});
}
