/*
 * zklock.hpp - zklock for C++17: holds that release themselves, std::chrono, std::error_code.
 *
 *     zkl::session session("127.0.0.1:2181");
 *     zkl::lock_handle lock(session, "billing/close-month");
 *     zkl::unique_hold hold(lock, std::chrono::seconds(5));
 *     if (!hold) return; // not acquired in time
 *     while (hold.owns_lock() && work_is_left()) do_a_little_work();
 *     hold.unlock(); // throws ZKL_LOST: the hold had ended before
 *
 * It is a layer over zklock.h, which says what each call promises and what each error means.
 * native_handle() is for the functions that are not here.
 *
 * **Lifetime:** A lock_handle outlives its unique_holds, as a std::mutex does. A session may be
 * closed before its handles: their calls are ZKL_CLOSED then. No destructor throws. A session's
 * blocks for up to 2 s. Where zkl_session_close is refused, as in a callback, it stays open.
 *
 * **Throws:** std::system_error, whose code() compares as zklock_error.hpp says. The overload with
 * a std::error_code & stores the error there, or 0, and throws nothing.
 */
#ifndef ZKLOCK_HPP
#define ZKLOCK_HPP

#include "zklock.h"
#include "zklock_base.hpp"
#include "zklock_error.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <mutex>

namespace zkl {
/* Options with .size set: zkl::lock_options o; o.recursive = true; */
struct session_options : zkl_session_options {
    session_options() noexcept : zkl_session_options() { size = sizeof(zkl_session_options); }
};
struct lock_options : zkl_lock_options {
    lock_options() noexcept : zkl_lock_options() { size = sizeof(zkl_lock_options); }
};

/* A zkl_session. After a move from it, or an error, native_handle() is NULL. */
class session {
  public:
    explicit session(const char *hosts, const zkl_session_options &opts = session_options()) {
        detail::check(open(hosts, opts));
    }
    session(const char *hosts, const zkl_session_options &opts, std::error_code &ec) noexcept {
        ec = open(hosts, opts);
    }
    zkl_session *native_handle() const noexcept { return s_.get(); }

  private:
    zkl_err open(const char *hosts, const zkl_session_options &opts) noexcept {
        zkl_session *s = nullptr;
        const zkl_err err = zkl_session_open(&s, hosts, &opts);
        s_.reset(s);
        return err;
    }
    std::unique_ptr<zkl_session, detail::closer> s_;
};

/*
 * A zkl_lock, as a TimedLockable: for std::lock_guard, std::unique_lock and std::scoped_lock. These
 * do not notice a loss: ask held(). Like a std::mutex it is unlocked by the thread that locked it.
 *
 * std::scoped_lock of several handles, also of several sessions, waits in no circle: while it
 * waits, it holds none of them. But it stands in one queue at a time, and is BUSY where others
 * wait. Among steady waiters it may never get all of them. acquire_all stands in all queues.
 */
class lock_handle : public detail::timed<lock_handle> {
  public:
    lock_handle(session &s, const char *name, const zkl_lock_options &opts = lock_options()) {
        detail::check(open(s, name, opts));
    }
    lock_handle(session &s, const char *name, const zkl_lock_options &opts,
                std::error_code &ec) noexcept {
        ec = open(s, name, opts);
    }
    lock_handle(const lock_handle &) = delete; // a unique_hold points to it

    /* std::lock_guard's destructor calls it, so ZKL_LOST is not thrown. The other one stores it. */
    void unlock() noexcept { (void)zkl_release(l_.get()); }
    void unlock(std::error_code &ec) noexcept { ec = zkl_release(l_.get()); }
    bool held() const noexcept { return zkl_held(l_.get()); }
    zkl_lock *native_handle() const noexcept { return l_.get(); }

  private:
    friend detail::timed<lock_handle>;
    std::error_code acquire_ms(std::int64_t ms) noexcept { return zkl_acquire(l_.get(), ms); }
    zkl_err open(session &s, const char *name, const zkl_lock_options &opts) noexcept {
        zkl_lock *l = nullptr;
        const zkl_err err = zkl_lock_open(&l, s.native_handle(), name, &opts);
        l_.reset(l);
        return err;
    }
    std::unique_ptr<zkl_lock, detail::closer> l_;
};

/*
 * A hold, with the interface of std::unique_lock. It knows the hold by its number, so it may be
 * moved to another thread and unlocked there. For ZKL_DEADLOCK the holder is still the thread that
 * acquired: the one that has the hold now would wait for itself.
 *
 * Do not give unique_holds to std::lock, but their handles: unlock may throw ZKL_LOST inside it.
 * **Threads:** One at a time, as for a std::unique_lock.
 */
class unique_hold : public detail::timed<unique_hold> {
  public:
    using mutex_type = lock_handle;
    unique_hold() noexcept = default;
    explicit unique_hold(lock_handle &l) : l_(&l) { lock(); }
    unique_hold(lock_handle &l, std::defer_lock_t) noexcept : l_(&l) {}
    unique_hold(lock_handle &l, std::try_to_lock_t) : l_(&l) { try_lock(); }
    unique_hold(lock_handle &l, double_ms time) : l_(&l) { try_lock_for(time); }
    template <class Clock, class Duration>
    unique_hold(lock_handle &l, const std::chrono::time_point<Clock, Duration> &at) : l_(&l) {
        try_lock_until(at);
    }
    /* The hold of the calling thread. **Throws:** ZKL_NOT_HELD: it has none. */
    unique_hold(lock_handle &l, std::adopt_lock_t)
        : unique_hold(l, std::adopt_lock, zkl_hold_of(l.native_handle())) {
        detail::check(id_ == 0 ? ZKL_NOT_HELD : ZKL_OK);
    }
    /* A hold of any thread or of none, such as one of zkl_acquire_async. */
    unique_hold(lock_handle &l, std::adopt_lock_t, zkl_hold id) noexcept : l_(&l), id_(id) {}
    unique_hold(unique_hold &&other) noexcept { swap(other); }
    unique_hold &operator=(unique_hold &&other) noexcept {
        unique_hold(std::move(other)).swap(*this);
        return *this;
    }
    ~unique_hold() { (void)give_up(); }

    /* After it there is no hold, also if it throws. **Throws:** ZKL_LOST: it had been lost before.
     * ZKL_NOT_HELD: there was none, or another call has given it up. ZKL_CLOSED. */
    void unlock() { detail::check(give_up()); }
    void unlock(std::error_code &ec) noexcept { ec = give_up(); }
    lock_handle *release() noexcept { // forgets the hold, which is not given up
        id_ = 0;
        return std::exchange(l_, nullptr);
    }
    void swap(unique_hold &other) noexcept {
        std::swap(l_, other.l_);
        std::swap(id_, other.id_);
    }
    friend void swap(unique_hold &a, unique_hold &b) noexcept { a.swap(b); }

    /* False from the moment of the loss on: zkl_hold_valid. token() and remaining() are 0 then. A
     * lost hold keeps its id() until unlock. */
    bool owns_lock() const noexcept { return zkl_hold_valid(native(), id_); }
    explicit operator bool() const noexcept { return owns_lock(); }
    std::int64_t token() const noexcept { return zkl_hold_token(native(), id_); }
    std::chrono::milliseconds remaining() const noexcept {
        return std::chrono::milliseconds(zkl_hold_remaining_ms(native(), id_));
    }
    zkl_hold id() const noexcept { return id_; }
    lock_handle *mutex() const noexcept { return l_; }

  private:
    friend detail::timed<unique_hold>;
    zkl_lock *native() const noexcept { return l_ == nullptr ? nullptr : l_->native_handle(); }
    zkl_err give_up() noexcept {
        return id_ == 0 ? ZKL_NOT_HELD : zkl_release_hold(native(), std::exchange(id_, 0));
    }
    std::error_code acquire_ms(std::int64_t ms) noexcept {
        if (l_ == nullptr)
            return std::make_error_code(std::errc::operation_not_permitted);
        if (owns_lock())
            return ZKL_DEADLOCK;
        (void)give_up(); // a lost one
        const zkl_err err = zkl_acquire(native(), ms);
        id_ = err == ZKL_OK ? zkl_hold_of(native()) : 0;
        return err;
    }
    lock_handle *l_ = nullptr;
    zkl_hold id_ = 0;
};

/* zkl_acquire_all: a unique_hold for each handle, without a hold if an error is stored.
 * **Throws:** what zkl_acquire_all returns, ZKL_TIMEOUT and ZKL_BUSY included. */
template <class... Handles>
std::array<unique_hold, sizeof...(Handles)> acquire_all(double_ms time, std::error_code &ec,
                                                        Handles &...handles) noexcept {
    zkl_lock *const all[] = {handles.native_handle()...};
    ec = zkl_acquire_all(all, sizeof...(handles), detail::in_ms(time));
    const auto hold = [&ec](lock_handle &l) noexcept {
        return unique_hold(l, std::adopt_lock, ec ? 0 : zkl_hold_of(l.native_handle()));
    };
    return {{hold(handles)...}};
}
template <class... Handles> auto acquire_all(double_ms time, lock_handle &first, Handles &...more) {
    std::error_code ec;
    auto holds = acquire_all(time, ec, first, more...);
    detail::check(ec);
    return holds;
}
} // namespace zkl

#endif /* ZKLOCK_HPP */
