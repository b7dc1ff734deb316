/*
 * handover NAME STEPS - takes a lock and hands the hold over to a thread, which does the work and
 * releases. Each step shows the token, by which the store can refuse a late write (see fenced.c).
 */
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>

#include <zklock.hpp>

/* The hold comes by value: it ends with this call, also if a step throws. */
static int work(zkl::unique_hold hold, int steps) {
    int done = 0;
    while (hold.owns_lock() && done < steps)
        std::cout << "step " << ++done << " by token " << hold.token() << std::endl;
    hold.unlock(); // throws if the hold was lost: then another holder may have begun
    return done;
}

static int run(const char *servers, const char *name, int steps) {
    zkl::lock_options options;
    options.label = "handover";
    zkl::session session(servers);
    zkl::lock_handle lock(session, name, options);
    zkl::unique_hold hold(lock, std::chrono::seconds(30));
    if (!hold) {
        std::cerr << "handover: " << name << " is taken\n";
        return EXIT_FAILURE;
    }
    auto done = std::async(std::launch::async, work, std::move(hold), steps);
    std::cout << done.get() << " steps done" << std::endl;
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const char *servers = std::getenv("ZKLOCK_HOSTS");
    if (argc != 3 || servers == nullptr) {
        std::cerr << "usage: ZKLOCK_HOSTS=HOST:PORT handover NAME STEPS\n";
        return EXIT_FAILURE;
    }
    try {
        return run(servers, argv[1], std::stoi(argv[2]));
    } catch (const std::system_error &e) {
        std::cerr << "handover: " << e.what() << '\n';
        return e.code() == ZKL_CLASS_RETRY ? 75 : EXIT_FAILURE; // EX_TEMPFAIL
    } catch (const std::logic_error &) {
        std::cerr << "handover: STEPS is a number\n";
        return EXIT_FAILURE;
    }
}
