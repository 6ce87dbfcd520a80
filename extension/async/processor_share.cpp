// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/processor_share.h>

#ifdef __linux__
#include <sched.h>
#endif

namespace executorch::extension {

#ifdef __linux__
void bind_to_processor_share(size_t index, size_t count) {
  cpu_set_t usable;
  // The call fails with more processors than a cpu_set_t holds; the thread then stays unbound.
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  const size_t processors = static_cast<size_t>(CPU_COUNT(&usable));
  if (count < 2 || processors < count) return;
  const size_t begin = index * processors / count, end = (index + 1) * processors / count;
  cpu_set_t share;
  CPU_ZERO(&share);
  size_t position = 0;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &usable)) continue;
    if (position >= begin && position < end) CPU_SET(cpu, &share);
    ++position;
  }
  (void)sched_setaffinity(0, sizeof(share),
                          &share);  // on failure the thread stays unbound, which is only slower
}
#else
void bind_to_processor_share(size_t, size_t) {}
#endif

}  // namespace executorch::extension
