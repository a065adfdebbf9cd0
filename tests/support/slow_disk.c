/* A slow disk, for scripts/disturb.py: this preloaded library sleeps up to 50 ms before whatever
 * waits for a disk, and passes the call on to the next preloaded library or to libc. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

static void sleep_at_random(void) {
    int errno_was = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&(struct timespec){.tv_nsec = now.tv_nsec / 16 * 2654435761u % 50000000}, NULL);
    errno = errno_was;
}

#define SLOW(name, parameters, arguments)                       \
    int name parameters {                                       \
        int(*next) parameters = dlsym(RTLD_NEXT, #name);        \
        sleep_at_random();                                      \
        return next arguments;                                  \
    }

SLOW(fsync, (int fd), (fd))
SLOW(fdatasync, (int fd), (fd))
SLOW(msync, (void *start, size_t length, int flags), (start, length, flags))
SLOW(sync_file_range, (int fd, off_t start, off_t length, unsigned flags), (fd, start, length, flags))
