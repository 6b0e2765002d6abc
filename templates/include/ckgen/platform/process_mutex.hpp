// The one mutex of the process for data that threads share in host code. A process may fork while its threads run
// kernels: the child has only the forking thread, and finds this mutex free and the data consistent.
#pragma once

#include <pthread.h>

#include <mutex>

namespace ckgen::platform {

// Held for a few instructions at a time, and never while another lock is taken.
inline std::mutex& process_mutex() {
    static std::mutex mutex;
    static const int registered = pthread_atfork([] { process_mutex().lock(); }, [] { process_mutex().unlock(); },
                                                 [] { process_mutex().unlock(); });
    static_cast<void>(registered);
    return mutex;
}

}  // namespace ckgen::platform
