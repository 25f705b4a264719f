// Claims 64 cores: the StableHLO interpreter starts no more threads than cores, and devices that wait for one
// another in a collective need a thread each. Preloaded into the interpreter's process only.
#define _GNU_SOURCE
#include <sched.h>
#include <sys/types.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  (void)pid;
  for (size_t byte = 0; byte < size; byte++) ((unsigned char *)set)[byte] = byte < 8 ? 0xFF : 0;
  return 0;
}
