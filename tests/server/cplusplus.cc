/*
 * zklock.hpp against a real server: test_cplusplus.sh compiles and runs it. Two sessions contend.
 * Prints each claim as it is kept; the first that is not kept ends the program.
 */
#include <zklock.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;
using zkl::lock_handle;
using zkl::unique_hold;

#define CHECK(what) check(static_cast<bool>(what), __LINE__, #what)
#define CHECK_THROWS(what, expected)                                                               \
    CHECK(thrown([&] { (void)(what); }) == make_error_code(expected))

static void check(bool is_so, int line, const char *what) {
    if (!is_so)
        throw std::logic_error("line " + std::to_string(line) + ": " + what);
}

constexpr auto Soon = 15s; // for what takes milliseconds on a machine that is not busy

static std::error_code thrown(const std::function<void()> &call) {
    try {
        call();
    } catch (const std::system_error &e) {
        return e.code();
    }
    return {};
}

template <class Call> void in_thread(Call call) {
    std::async(std::launch::async, std::move(call)).get();
}

static std::string hosts() {
    const char *given = std::getenv("ZKLOCK_HOSTS");
    return given == nullptr ? "" : given;
}

static zkl::session open_session() {
    const char *root = std::getenv("ROOT");
    zkl::session_options options;
    options.session_timeout_ms = 4000; // an owner may hear of the end of its session late
    options.root = root;
    return zkl::session(hosts().c_str(), options);
}

/* A lock that no other claim uses, and a handle of each session. */
struct fixture {
    fixture() : mine(open_session()), theirs(open_session()) { next(); }
    void next() {
        name = "lock-" + std::to_string(++count);
        a.emplace(mine, name.c_str());
        b.emplace(mine, (name + "-second").c_str());
        other.emplace(theirs, name.c_str());
    }
    bool is_free() { return unique_hold(*other, Soon).owns_lock(); }
    bool is_taken() {
        std::error_code ec;
        return !other->try_lock(ec) && ec == ZKL_BUSY;
    }
    std::size_t length() const {
        zkl_queue *queue = nullptr;
        CHECK(zkl_inspect(theirs.native_handle(), name.c_str(), &queue) == ZKL_OK);
        const std::size_t contenders = zkl_queue_count(queue);
        zkl_queue_free(queue);
        return contenders;
    }
    void await(const std::function<bool()> &condition) const {
        const auto end = std::chrono::steady_clock::now() + Soon;
        while (!condition()) {
            CHECK(std::chrono::steady_clock::now() < end);
            std::this_thread::sleep_for(1ms);
        }
    }
    /* Ends the session of a and b on the server, as a supervisor would. */
    void end_mine() {
        char ticket[ZKL_TICKET_SIZE];
        CHECK(zkl_session_ticket(mine.native_handle(), ticket, sizeof(ticket)) == ZKL_OK);
        CHECK(zkl_session_end(hosts().c_str(), ticket, 15000) == ZKL_OK);
    }

    zkl::session mine, theirs;
    std::optional<lock_handle> a, b, other;
    std::string name;
    int count = 0;
};

/* ---- Ways to get a hold ---- */

static void each_constructor_does_what_unique_lock_does(fixture &f) {
    CHECK(unique_hold(*f.a, std::try_to_lock));
    {
        unique_hold hold(*f.a);
        CHECK(hold.owns_lock() && hold && hold.mutex() == &*f.a && hold.id() != 0);
        CHECK(hold.token() > 0 && hold.remaining() > 0ms && hold.remaining() <= 4s);
        CHECK(f.is_taken());
    }
    CHECK(f.is_free());
    {
        unique_hold hold(*f.a, std::defer_lock);
        CHECK(!hold && hold.id() == 0 && hold.token() == 0 && hold.remaining() == 0ms);
        hold.lock();
        CHECK(hold && f.is_taken());
    }
    CHECK(f.is_free());
    {
        f.a->lock();
        unique_hold hold(*f.a, std::adopt_lock);
        CHECK(hold && hold.id() == zkl_hold_of(f.a->native_handle()));
    }
    CHECK(f.is_free());
    CHECK(unique_hold(*f.a, 5s));
    CHECK(unique_hold(*f.a, std::chrono::steady_clock::now() + 5s));
    CHECK(unique_hold(*f.a, std::chrono::system_clock::now() + 5s));
    CHECK(f.is_free());
    unique_hold none;
    CHECK(!none && none.mutex() == nullptr && none.token() == 0 && none.remaining() == 0ms);
}

static void where_another_holds_a_try_is_false(fixture &f) {
    const unique_hold theirs(*f.other);
    unique_hold hold(*f.a, std::try_to_lock);
    std::error_code ec;
    CHECK(!hold && hold.mutex() == &*f.a);
    CHECK(!hold.try_lock() && !f.a->try_lock());
    CHECK(!hold.try_lock(ec) && ec == ZKL_BUSY);
    CHECK(!hold.try_lock_for(0s, ec) && ec == ZKL_BUSY);
    CHECK(!hold.try_lock_for(-1h, ec) && ec == ZKL_BUSY);
    CHECK(!hold.try_lock_until(std::chrono::system_clock::now() - 1h, ec) && ec == ZKL_BUSY);
    CHECK(!f.a->try_lock(ec) && ec == ZKL_BUSY);
}

static void a_timeout_is_kept(fixture &f) {
    const unique_hold theirs(*f.other);
    const auto begun = std::chrono::steady_clock::now();
    std::error_code ec;
    CHECK(!unique_hold(*f.a, 50ms));
    CHECK(!unique_hold(*f.a, std::chrono::system_clock::now() + 50ms));
    unique_hold hold(*f.a, std::defer_lock);
    CHECK(!hold.try_lock_for(50ms));
    CHECK(!hold.try_lock_for(49999us, ec) && ec == ZKL_TIMEOUT);
    CHECK(!hold.try_lock_for(1ns, ec) && ec == ZKL_TIMEOUT); // no try
    CHECK(!f.a->try_lock_for(50ms, ec) && ec == ZKL_TIMEOUT);
    CHECK(!f.a->try_lock_until(std::chrono::steady_clock::now() + 50ms, ec) && ec == ZKL_TIMEOUT);
    const auto took = std::chrono::steady_clock::now() - begun;
    CHECK(took >= 299ms && took < Soon);
}

/* What the clock cannot reach is for ever, and overflows nowhere. */
static void a_waiter_is_granted(fixture &f) {
    for (const auto how : {0, 1, 2}) {
        unique_hold theirs(*f.other);
        auto waits = std::async(
            std::launch::async,
            [&f, how] {
                unique_hold hold(*f.a, std::defer_lock);
                if (how == 0)
                    hold.lock();
                else if (how == 1)
                    CHECK(hold.try_lock_for(std::chrono::hours::max()));
                else
                    CHECK(hold.try_lock_until(std::chrono::system_clock::time_point::max()));
                return hold.token();
            });
        f.await([&f] { return f.length() == 2; });
        const auto token = theirs.token();
        theirs.unlock();
        CHECK(waits.get() > token);
    }
}

static void a_hold_of_no_thread_is_adopted(fixture &f) {
    struct result {
        std::promise<zkl_hold> told;
        static void on_done(zkl_err err, zkl_hold hold, void *arg) {
            static_cast<result *>(arg)->told.set_value(err == ZKL_OK ? hold : 0);
        }
    } done;
    CHECK(zkl_acquire_async(f.a->native_handle(), 15000, result::on_done, &done) == ZKL_OK);
    {
        const unique_hold hold(*f.a, std::adopt_lock, done.told.get_future().get());
        CHECK(hold && f.is_taken());
    }
    CHECK(f.is_free());
}

/* ---- Moves ---- */

static void a_move_moves_the_hold(fixture &f) {
    unique_hold first(*f.a);
    const auto id = first.id();
    unique_hold second(std::move(first));
    CHECK(!first && first.id() == 0 && first.mutex() == nullptr);
    CHECK(second && second.id() == id);
    first = std::move(second);
    CHECK(first && first.id() == id && !second);
    unique_hold third(*f.b);
    swap(first, third);
    CHECK(third.id() == id && third.mutex() == &*f.a && first && first.mutex() == &*f.b);
    third = std::move(first); // gives up a
    CHECK(third && third.mutex() == &*f.b && f.is_free());
    third = unique_hold();
    CHECK(unique_hold(*f.b, std::try_to_lock));
}

static void release_forgets_the_hold(fixture &f) {
    unique_hold hold(*f.a);
    CHECK(hold.release() == &*f.a && !hold && hold.mutex() == nullptr && hold.id() == 0);
    CHECK(f.a->held() && f.is_taken());
    f.a->unlock();
    CHECK(!f.a->held() && f.is_free());
}

static void a_hold_moved_to_another_thread_ends_there(fixture &f) {
    unique_hold hold(*f.a);
    in_thread([&f, hold = std::move(hold)]() mutable {
        CHECK(hold && !f.a->held() && f.is_taken());
        CHECK(hold.token() > 0 && hold.remaining() > 0ms);
        hold.unlock();
        CHECK(f.is_free());
    });
    CHECK(f.is_free());
    hold = unique_hold(*f.a); // the thread that had moved it may acquire again
    in_thread([hold = std::move(hold)] {});
    CHECK(f.is_free());
    in_thread([&] { hold = unique_hold(*f.a); }); // whose thread has ended
    CHECK(hold && f.is_taken());
    hold.unlock();
    CHECK(f.is_free());
}

/* So says zkl_acquire; a lock_handle is the thread's. */
static void the_thread_that_acquired_is_the_holder(fixture &f) {
    f.a->lock();
    in_thread([&f] {
        std::error_code ec;
        f.a->unlock(ec);
        CHECK(ec == ZKL_NOT_HELD && !f.a->held());
        f.a->unlock();
        CHECK(f.is_taken());
        CHECK_THROWS(unique_hold(*f.a, std::adopt_lock), ZKL_NOT_HELD);
    });
    CHECK_THROWS(f.a->lock(), ZKL_DEADLOCK);
    CHECK_THROWS(f.a->try_lock(), ZKL_DEADLOCK);
    const unique_hold elsewhere(*f.a, std::adopt_lock);
    CHECK_THROWS(unique_hold(*f.a), ZKL_DEADLOCK);
}

/* ---- Losses ---- */

static void a_lost_hold_is_owned_no_more(fixture &f) {
    unique_hold hold(*f.a);
    const auto id = hold.id();
    f.end_mine();
    f.await([&hold] { return !hold.owns_lock(); });
    CHECK(!hold && hold.token() == 0 && hold.remaining() == 0ms && hold.id() == id);
    CHECK_THROWS(hold.unlock(), ZKL_LOST);
    CHECK(hold.id() == 0);
    CHECK_THROWS(hold.unlock(), ZKL_NOT_HELD);
    hold.lock();
    CHECK(hold && f.is_taken());
}

static void destructors_keep_a_loss_to_themselves(fixture &f) {
    {
        const unique_hold hold(*f.a);
        const std::lock_guard guard(*f.b);
        f.end_mine();
        f.await([&] { return !hold.owns_lock() && !f.b->held(); });
    }
    CHECK(f.is_free() && unique_hold(*f.b, Soon));
}

static void an_inner_hold_of_a_lost_one_is_refused(fixture &f) {
    zkl::lock_options options;
    options.recursive = true;
    lock_handle lock(f.mine, f.name.c_str(), options);
    {
        unique_hold outer(lock);
        {
            const unique_hold inner(lock);
            CHECK(inner.id() == outer.id());
        }
        CHECK(outer && f.is_taken());
        f.end_mine();
        f.await([&] { return !outer.owns_lock(); });
        CHECK_THROWS(unique_hold(lock), ZKL_LOST);
        std::error_code ec;
        outer.unlock(ec);
        CHECK(ec == ZKL_LOST && ec == ZKL_CLASS_LOST);
    }
    unique_hold hold(lock);
    f.end_mine();
    f.await([&] { return !hold.owns_lock(); });
    hold.lock(); // there is no outer one
    CHECK(hold);
}

static void a_closed_session_closes_its_locks(fixture &f) {
    std::optional<zkl::session> session(open_session());
    lock_handle lock(*session, f.name.c_str());
    unique_hold hold(lock), second;
    session.reset();
    CHECK(!hold && f.is_free());
    CHECK_THROWS(hold.unlock(), ZKL_CLOSED);
    CHECK_THROWS(lock.lock(), ZKL_CLOSED);
}

/* ---- Errors ---- */

static void errors_are_error_codes(fixture &f) {
    static_assert(std::is_error_code_enum_v<zkl_err> && std::is_error_condition_enum_v<zkl_class>);
    const std::error_code busy = ZKL_BUSY, none = ZKL_OK, foreign(ZKL_BUSY, std::system_category());
    CHECK(!none && busy && busy == ZKL_BUSY && busy != ZKL_LOST && foreign != ZKL_BUSY);
    CHECK(busy.category().name() == std::string("zklock"));
    CHECK(busy.message() == zkl_strerror(ZKL_BUSY));
    CHECK(busy == ZKL_CLASS_RETRY && busy != ZKL_CLASS_LOST && foreign != ZKL_CLASS_RETRY);
    CHECK(none == ZKL_CLASS_OK && foreign != ZKL_CLASS_OK);
    CHECK(busy == std::errc::device_or_resource_busy);
    CHECK(make_error_code(ZKL_TIMEOUT) == std::errc::timed_out);
    CHECK(make_error_code(ZKL_DEADLOCK) == std::errc::resource_deadlock_would_occur);
    CHECK(make_error_code(ZKL_LOST).default_error_condition().category() == busy.category());
    CHECK(make_error_condition(ZKL_CLASS_LOST).message() == "zkl_class 2");

    unique_hold empty, hold(*f.a);
    CHECK(thrown([&] { empty.lock(); }) == std::errc::operation_not_permitted);
    CHECK(thrown([&] { (void)empty.try_lock(); }) == std::errc::operation_not_permitted);
    CHECK(thrown([&] { empty.unlock(); }) == std::errc::operation_not_permitted);
    CHECK(thrown([&] { hold.lock(); }) == std::errc::resource_deadlock_would_occur);
    try {
        hold.lock();
    } catch (const std::system_error &e) {
        CHECK(e.what() == std::string("zklock: ") + zkl_strerror(ZKL_DEADLOCK));
    }
    std::error_code ec = ZKL_LOST;
    empty.lock(ec);
    CHECK(ec == std::errc::operation_not_permitted);
    hold.unlock(ec);
    CHECK(!ec);
    hold.lock(ec);
    CHECK(!ec && hold);
}

static void what_cannot_be_opened_throws(fixture &f) {
    zkl::session_options options;
    options.connect_timeout_ms = 50;
    std::error_code ec;
    CHECK_THROWS(zkl::session("127.0.0.1:1", options), ZKL_UNREACHABLE);
    const zkl::session bad(nullptr, options, ec);
    CHECK(ec == std::errc::invalid_argument && bad.native_handle() == nullptr);
    CHECK_THROWS(lock_handle(f.mine, ".."), ZKL_INVALID);
    lock_handle none(f.mine, "..", zkl::lock_options(), ec);
    CHECK(ec == ZKL_INVALID && none.native_handle() == nullptr);
    CHECK_THROWS(unique_hold(none), ZKL_INVALID);
    zkl::session from = open_session(), to = std::move(from);
    CHECK_THROWS(lock_handle(from, "a"), ZKL_INVALID);
    CHECK(unique_hold(*f.a) && lock_handle(to, "a").try_lock());
}

static void an_exception_gives_the_hold_up(fixture &f) {
    try {
        const unique_hold hold(*f.a);
        const std::lock_guard guard(*f.b);
        throw std::runtime_error("the work failed");
    } catch (const std::runtime_error &) {
    }
    CHECK(f.is_free() && unique_hold(*f.b, std::try_to_lock));
}

/* ---- With the standard library's locks, and several ---- */

static void the_standard_locks_take_a_handle(fixture &f) {
    {
        std::unique_lock lock(*f.a, 5s);
        CHECK(lock && f.is_taken());
        lock.unlock();
        CHECK(f.is_free());
        CHECK(lock.try_lock_until(std::chrono::steady_clock::now() + 5s));
    }
    const std::lock_guard guard(*f.a);
    CHECK(f.a->held() && f.is_taken());
}

/* Each of the threads has handles of its own session, and names the locks in another order. */
static void scoped_lock_takes_several_in_any_order(fixture &f) {
    std::atomic<int> inside = 0;
    const auto work = [&](zkl::session &session, const std::string &x, const std::string &y) {
        lock_handle first(session, x.c_str()), second(session, y.c_str());
        for (int i = 0; i < 20; i++) {
            const std::scoped_lock both(first, second);
            CHECK(first.held() && second.held() && ++inside == 1);
            --inside;
        }
    };
    auto beside = std::async(std::launch::async, work, std::ref(f.theirs), f.name + "-second",
                             f.name);
    work(f.mine, f.name, f.name + "-second");
    beside.get();

    const std::lock_guard guard(*f.b);
    CHECK_THROWS(std::lock(*f.a, *f.b), ZKL_DEADLOCK);
    CHECK(!f.a->held() && f.is_free() && f.b->held());
}

static void acquire_all_takes_all_or_none(fixture &f) {
    std::error_code ec;
    {
        auto [first, second] = zkl::acquire_all(Soon, *f.a, *f.b);
        CHECK(first && second && first.mutex() == &*f.a && second.mutex() == &*f.b);
        CHECK(first.token() == second.token() && f.is_taken());
        first.unlock();
        CHECK(f.is_free() && second);
    }
    const unique_hold theirs(*f.other);
    CHECK_THROWS(zkl::acquire_all(0s, *f.b, *f.a), ZKL_BUSY);
    const auto [first, second] = zkl::acquire_all(50ms, ec, *f.b, *f.a);
    CHECK(ec == ZKL_TIMEOUT && !first && !second);
    CHECK(unique_hold(*f.b, std::try_to_lock));
    unique_hold held(*f.b);
    CHECK_THROWS(zkl::acquire_all(0s, *f.b, *f.a), ZKL_DEADLOCK);
    CHECK(held);
}

static_assert(std::is_nothrow_destructible_v<unique_hold> &&
              !std::is_copy_constructible_v<unique_hold>);
static_assert(std::is_nothrow_move_constructible_v<unique_hold>);
static_assert(std::is_nothrow_move_assignable_v<unique_hold>);
static_assert(std::is_nothrow_move_constructible_v<zkl::session>);
static_assert(!std::is_move_constructible_v<lock_handle>);
static_assert(!std::is_constructible_v<unique_hold, lock_handle &, int>, "a time has a unit");
static_assert(noexcept(std::declval<lock_handle &>().unlock()));

int main() {
    static const struct {
        const char *words;
        void (*run)(fixture &);
    } claims[] = {
        {"each constructor does what std::unique_lock's does",
         each_constructor_does_what_unique_lock_does},
        {"where another holds, a try is false", where_another_holds_a_try_is_false},
        {"a timeout is kept", a_timeout_is_kept},
        {"a waiter is granted", a_waiter_is_granted},
        {"a hold of no thread is adopted", a_hold_of_no_thread_is_adopted},
        {"a move moves the hold", a_move_moves_the_hold},
        {"release forgets the hold", release_forgets_the_hold},
        {"a hold moved to another thread ends there", a_hold_moved_to_another_thread_ends_there},
        {"the thread that acquired is the holder", the_thread_that_acquired_is_the_holder},
        {"a lost hold is owned no more, and unlock says LOST", a_lost_hold_is_owned_no_more},
        {"destructors keep a loss to themselves", destructors_keep_a_loss_to_themselves},
        {"an inner hold of a lost one is refused", an_inner_hold_of_a_lost_one_is_refused},
        {"a closed session closes its locks", a_closed_session_closes_its_locks},
        {"errors are error codes", errors_are_error_codes},
        {"what cannot be opened throws", what_cannot_be_opened_throws},
        {"an exception gives the hold up", an_exception_gives_the_hold_up},
        {"the standard library's locks take a handle", the_standard_locks_take_a_handle},
        {"std::scoped_lock takes several in any order", scoped_lock_takes_several_in_any_order},
        {"acquire_all takes all or none", acquire_all_takes_all_or_none},
    };
    const char *words = "the sessions open";
    try {
        fixture f;
        for (const auto &claim : claims) {
            words = claim.words;
            f.next();
            claim.run(f);
            (void)std::printf("- %s\n", words);
            (void)std::fflush(stdout);
        }
    } catch (const std::exception &e) {
        (void)std::fprintf(stderr, "FAILED: %s: %s\n", words, e.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
