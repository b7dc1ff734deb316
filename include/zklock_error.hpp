/*
 * zklock_error.hpp - the errors of zklock.h as std::error_code, for C++17: zklock.hpp includes it.
 *
 * A zkl_err converts to a std::error_code of the category "zklock". Compare such a code
 *
 * - with an error: code == ZKL_LOST
 * - with a class of errors: code == ZKL_CLASS_RETRY
 * - with a std::errc, where one means the same: code == std::errc::timed_out
 */
#ifndef ZKLOCK_ERROR_HPP
#define ZKLOCK_ERROR_HPP

#include "zklock.h"

#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

template <> struct std::is_error_code_enum<zkl_err> : std::true_type {};
template <> struct std::is_error_condition_enum<zkl_class> : std::true_type {};

namespace zkl::detail {
/* Visible: libraries that are compiled with -fvisibility=hidden have the same category, too. */
template <class Category> ZKL_API const Category &only() noexcept {
    static const Category category;
    return category;
}

struct ZKL_API errors final : std::error_category {
    const char *name() const noexcept override { return "zklock"; }
    std::string message(int err) const override { return zkl_strerror(static_cast<zkl_err>(err)); }
    std::error_condition default_error_condition(int err) const noexcept override {
        constexpr std::pair<zkl_err, std::errc> same[] = {
            {ZKL_TIMEOUT, std::errc::timed_out},
            {ZKL_BUSY, std::errc::device_or_resource_busy}, // as pthread_mutex_trylock
            {ZKL_CANCELED, std::errc::operation_canceled},
            {ZKL_DENIED, std::errc::permission_denied},
            {ZKL_INVALID, std::errc::invalid_argument},
            {ZKL_NOT_HELD, std::errc::operation_not_permitted},       // as std::unique_lock
            {ZKL_DEADLOCK, std::errc::resource_deadlock_would_occur}, // as std::unique_lock
            {ZKL_UNSUPPORTED, std::errc::not_supported},
            {ZKL_NOMEM, std::errc::not_enough_memory},
            {ZKL_IO, std::errc::io_error}};
        for (const auto &[ours, theirs] : same)
            if (ours == err)
                return theirs;
        return {err, *this};
    }
};

struct ZKL_API classes final : std::error_category {
    const char *name() const noexcept override { return "zklock class"; }
    std::string message(int c) const override { return "zkl_class " + std::to_string(c); }
    bool equivalent(const std::error_code &code, int c) const noexcept override {
        return code.category() == only<errors>() &&
               zkl_errclass(static_cast<zkl_err>(code.value())) == c;
    }
};
} // namespace zkl::detail

/* The standard library finds these by the types of C, which are in no namespace. */
inline std::error_code make_error_code(zkl_err err) noexcept {
    return {static_cast<int>(err), zkl::detail::only<zkl::detail::errors>()};
}
inline std::error_condition make_error_condition(zkl_class c) noexcept {
    return {static_cast<int>(c), zkl::detail::only<zkl::detail::classes>()};
}

namespace zkl::detail {
inline void check(const std::error_code &ec) {
    if (ec)
        throw std::system_error(ec, "zklock");
}
} // namespace zkl::detail

#endif /* ZKLOCK_ERROR_HPP */
