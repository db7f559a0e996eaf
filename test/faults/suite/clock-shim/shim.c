/*
 * A library that is preloaded into one process to step its wall clock. It adds the nanoseconds in
 * TEST_CLOCK_STEP_FILE to every reading. The file is mapped, so a write to it steps the clock of the running process.
 * The monotonic clock stays as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile const int64_t *step_file;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_step_file(void) {
  const char *path = getenv("TEST_CLOCK_STEP_FILE");
  real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  if (path == NULL) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) step_file = mapped;
  close(fd);
}

static int is_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  /* The loader may ask for the time before the constructor has run. */
  int failed = real_clock_gettime != NULL ? real_clock_gettime(clock, now)
                                          : (int)syscall(SYS_clock_gettime, clock, now);
  if (failed != 0 || step_file == NULL || !is_wall(clock)) return failed;
  int64_t sum = now->tv_nsec + *step_file % SECOND;
  now->tv_sec += *step_file / SECOND;
  if (sum >= SECOND) {
    now->tv_sec += 1;
    sum -= SECOND;
  } else if (sum < 0) {
    now->tv_sec -= 1;
    sum += SECOND;
  }
  now->tv_nsec = sum;
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec time;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec reading;
  if (clock_gettime(CLOCK_REALTIME, &reading) != 0) return (time_t)-1;
  if (now != NULL) *now = reading.tv_sec;
  return reading.tv_sec;
}
