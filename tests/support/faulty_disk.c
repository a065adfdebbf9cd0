/* A disk with faults, for tests. This library is preloaded, stands between a program and libc, and
 * does three things with calls on the files of a SQLite log:
 *
 * - it makes chosen calls fail, performs only half of them, or kills the program in the middle;
 * - it keeps, in another directory, what would be on the disk after a power cut: written data is
 *   there once it was synced, and data whose sync failed is never there unless the program writes
 *   it again, as on Linux;
 * - it counts the calls, so that a test can let each of them fail in turn.
 *
 * A test controls it through a file that both processes map. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOG "/croupier.db"
#define KINDS 4
#define PATH 4096

enum { READ = 1, WRITE = 2, SYNC = 4 };
enum { FAIL, HALF, KILL };

/* tests/support/faulty_disk.py packs the same layout. */
struct control {
    int32_t calls; /* The calls that fail: a sum of READ, WRITE and SYNC; 0 for none. */
    int32_t files; /* The files on which they fail: a sum of 1 << kind. */
    int32_t what;
    int32_t error;
    int64_t skip;  /* The number of such calls that succeed first. */
    int64_t times; /* The number of such calls that then fail. */
    int64_t seen;
    int64_t failed;
};

struct change { /* A change of a file since its last sync. */
    off_t offset;
    off_t length; /* -1: the file was truncated at the offset. */
};

static const char *const endings[KINDS] = {"", "-wal", "-shm", "-journal"};
static struct control *control;
static const char *data, *disk;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct change *changes[KINDS];
static size_t counts[KINDS], rooms[KINDS];

static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void start(void) {
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_read = dlsym(RTLD_NEXT, "read");
    real_write = dlsym(RTLD_NEXT, "write");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    const char *path = getenv("FAULTY_DISK_CONTROL");
    data = getenv("FAULTY_DISK_DATA");
    disk = getenv("FAULTY_DISK_KEPT");
    int fd = path && data && disk ? open(path, O_RDWR) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        control = mapped;
    close(fd);
}

static int kind_of_path(const char *path) {
    size_t length = strlen(data);
    if (strncmp(path, data, length) || strncmp(path + length, LOG, strlen(LOG)))
        return -1;
    for (int kind = 0; kind < KINDS; kind++)
        if (!strcmp(path + length + strlen(LOG), endings[kind]))
            return kind;
    return -1;
}

static int kind_of(int fd) {
    char link[64], path[PATH];
    int errno_was = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = control ? readlink(link, path, sizeof path - 1) : -1;
    errno = errno_was;
    if (length < 0)
        return -1;
    path[length] = 0;
    return kind_of_path(path);
}

/* Whether this call fails. */
static int fails(int call, int kind) {
    if (kind < 0 || !(control->calls & call) || !(control->files & (1 << kind)))
        return 0;
    int64_t number = __atomic_fetch_add(&control->seen, 1, __ATOMIC_SEQ_CST);
    if (number < control->skip || number >= control->skip + control->times)
        return 0;
    __atomic_fetch_add(&control->failed, 1, __ATOMIC_SEQ_CST);
    return 1;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    pause();
}

static void changed(int kind, off_t offset, off_t length) {
    if (kind < 0)
        return;
    pthread_mutex_lock(&lock);
    if (counts[kind] == rooms[kind]) {
        rooms[kind] = rooms[kind] ? 2 * rooms[kind] : 64;
        changes[kind] = realloc(changes[kind], rooms[kind] * sizeof **changes);
        if (!changes[kind])
            abort();
    }
    changes[kind][counts[kind]++] = (struct change){offset, length};
    pthread_mutex_unlock(&lock);
}

static void open_kept(int kind, char *path) {
    snprintf(path, PATH, "%s" LOG "%s", disk, endings[kind]);
}

static void synced(int fd, int kind, int done) {
    if (kind < 0)
        return;
    pthread_mutex_lock(&lock);
    char path[PATH], copied[65536];
    open_kept(kind, path);
    int kept = done && counts[kind] ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    for (size_t i = 0; kept >= 0 && i < counts[kind]; i++) {
        struct change each = changes[kind][i];
        if (each.length < 0 && real_ftruncate(kept, each.offset))
            abort();
        while (each.length > 0) {
            size_t most = (size_t)each.length < sizeof copied ? (size_t)each.length : sizeof copied;
            ssize_t count = real_pread(fd, copied, most, each.offset);
            if (count <= 0)
                break;
            if (real_pwrite(kept, copied, count, each.offset) != count)
                abort();
            each.offset += count;
            each.length -= count;
        }
    }
    if (kept >= 0)
        close(kept);
    counts[kind] = 0;
    pthread_mutex_unlock(&lock);
}

static ssize_t write_at(int fd, int kind, const void *from, size_t count, off_t offset) {
    ssize_t done = real_pwrite(fd, from, count, offset);
    if (done > 0)
        changed(kind, offset, done);
    return done;
}

ssize_t pwrite64(int fd, const void *from, size_t count, off_t offset) {
    int kind = kind_of(fd);
    if (!fails(WRITE, kind))
        return write_at(fd, kind, from, count, offset);
    if (control->what != FAIL && count > 1) {
        ssize_t done = write_at(fd, kind, from, count / 2, offset);
        if (control->what == HALF)
            return done;
    }
    if (control->what == KILL)
        die();
    errno = control->error;
    return -1;
}

ssize_t pwrite(int fd, const void *from, size_t count, off_t offset) {
    return pwrite64(fd, from, count, offset);
}

ssize_t write(int fd, const void *from, size_t count) {
    if (kind_of(fd) < 0)
        return real_write(fd, from, count);
    ssize_t done = pwrite64(fd, from, count, lseek(fd, 0, SEEK_CUR));
    if (done > 0)
        lseek(fd, done, SEEK_CUR);
    return done;
}

ssize_t pread64(int fd, void *into, size_t count, off_t offset) {
    if (!fails(READ, kind_of(fd)))
        return real_pread(fd, into, count, offset);
    if (control->what == HALF && count > 1)
        return real_pread(fd, into, count / 2, offset);
    errno = control->error;
    return -1;
}

ssize_t pread(int fd, void *into, size_t count, off_t offset) {
    return pread64(fd, into, count, offset);
}

ssize_t read(int fd, void *into, size_t count) {
    if (!fails(READ, kind_of(fd)))
        return real_read(fd, into, count);
    errno = control->error;
    return -1;
}

int ftruncate64(int fd, off_t length) {
    int kind = kind_of(fd);
    if (fails(WRITE, kind)) {
        if (control->what == KILL)
            die();
        errno = control->error;
        return -1;
    }
    int result = real_ftruncate(fd, length);
    if (!result)
        changed(kind, length, -1);
    return result;
}

int ftruncate(int fd, off_t length) {
    return ftruncate64(fd, length);
}

static int sync_by(int (*real)(int), int fd) {
    int kind = kind_of(fd);
    if (fails(SYNC, kind)) {
        if (control->what == KILL)
            die();
        synced(fd, kind, 0);
        errno = control->error;
        return -1;
    }
    int result = real(fd);
    synced(fd, kind, !result);
    return result;
}

int fsync(int fd) {
    return sync_by(real_fsync, fd);
}

int fdatasync(int fd) {
    return sync_by(real_fdatasync, fd);
}

int unlink(const char *path) {
    int result = real_unlink(path), kind = control ? kind_of_path(path) : -1;
    if (!result && kind >= 0) {
        char kept[PATH];
        pthread_mutex_lock(&lock);
        open_kept(kind, kept);
        real_unlink(kept);
        counts[kind] = 0;
        pthread_mutex_unlock(&lock);
    }
    return result;
}
