/*
 * zklock_base.hpp - what the classes of zklock.hpp have in common: how they close, and the ways to
 * acquire. Names and meanings are those of the standard library. zklock.hpp includes it.
 */
#ifndef ZKLOCK_BASE_HPP
#define ZKLOCK_BASE_HPP

#include "zklock.h"
#include "zklock_error.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ratio>

namespace zkl {
/* Every std::chrono::duration converts to it, a bare number does not. */
using double_ms = std::chrono::duration<double, std::milli>;

namespace detail {
struct closer {
    void operator()(zkl_session *s) const noexcept { (void)zkl_session_close(s); }
    void operator()(zkl_lock *l) const noexcept { (void)zkl_lock_close(l); }
};

/* Rounded up. What is past is a try, and 285,000 years are for ever. */
inline std::int64_t in_ms(double_ms time) noexcept {
    const double ms = std::ceil(time.count());
    return !(ms > 0) ? 0 : ms < 9e15 ? static_cast<std::int64_t>(ms) : ZKL_FOREVER;
}

template <class Clock, class Duration>
double_ms left(const std::chrono::time_point<Clock, Duration> &at) noexcept {
    return double_ms(at.time_since_epoch()) - double_ms(Clock::now().time_since_epoch());
}

template <class Self> class timed {
  public:
    /* Waits until it is acquired. **Throws:** what zkl_acquire returns. */
    void lock() { check(acquire(ZKL_FOREVER)); }
    void lock(std::error_code &ec) noexcept { ec = acquire(ZKL_FOREVER); }

    /*
     * Whether it is acquired. ZKL_BUSY and ZKL_TIMEOUT are false, and the error code says which. A
     * time that is 0 or past makes the call a try. Times are rounded up to milliseconds. The clock
     * is read once: to set it later does not move the deadline.
     * **Throws:** what else zkl_acquire returns. So an outage does not look like a taken lock.
     */
    bool try_lock() { return is_acquired(acquire(0)); }
    bool try_lock_for(double_ms time) { return is_acquired(acquire(in_ms(time))); }
    template <class Time> bool try_lock_until(const Time &at) { return try_lock_for(left(at)); }

    bool try_lock(std::error_code &ec) noexcept { return try_lock_for(double_ms(0), ec); }
    bool try_lock_for(double_ms time, std::error_code &ec) noexcept {
        ec = acquire(in_ms(time));
        return !ec;
    }
    template <class Time> bool try_lock_until(const Time &at, std::error_code &ec) noexcept {
        return try_lock_for(left(at), ec);
    }

  private:
    std::error_code acquire(std::int64_t timeout_ms) noexcept {
        return static_cast<Self *>(this)->acquire_ms(timeout_ms);
    }
    static bool is_acquired(const std::error_code &ec) {
        if (ec != ZKL_BUSY && ec != ZKL_TIMEOUT)
            check(ec);
        return !ec;
    }
};
} // namespace detail
} // namespace zkl

#endif /* ZKLOCK_BASE_HPP */
