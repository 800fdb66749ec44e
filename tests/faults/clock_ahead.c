/* Puts the wall clock of one process ahead of the machine's by what the file CLOCK_AHEAD holds: nanoseconds, as an int64.
   The file is mapped, so that a jump is noticed at once. The clock that never goes back is left alone. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;
static volatile int64_t *ahead;

__attribute__((constructor)) static void map_file(void) {
    const char *name = getenv("CLOCK_AHEAD");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED) ahead = found;
}

static int64_t moved(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec + (ahead ? *ahead : 0);
}

int clock_gettime(clockid_t clock, struct timespec *told) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, told);
    int64_t now = moved();
    told->tv_sec = now / SECOND;
    told->tv_nsec = now % SECOND;
    return 0;
}

int gettimeofday(struct timeval *restrict told, void *restrict zone) {
    (void)zone;
    int64_t now = moved();
    told->tv_sec = now / SECOND;
    told->tv_usec = now % SECOND / 1000;
    return 0;
}

time_t time(time_t *told) {
    time_t now = moved() / SECOND;
    if (told) *told = now;
    return now;
}
