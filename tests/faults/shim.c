/* Counts the system calls that change something below given folders, or send to a socket, and lets one of them fail: the nth of a name on files with an ending.

   It is loaded before the C library (LD_PRELOAD) and does nothing until faults_arm() is called, which the harness does in a fork of
   itself: the process that dies here is never the one that counts. The names of the kinds and their numbers are in shim.py. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OFF, RECORD, KILL_BEFORE, KILL_AFTER, HALF, NO_SPACE, IO_ERROR, READ_ONLY, CUT_BEFORE, CUT_AFTER, STOP_BEFORE };
enum verdict { GO, FAIL, THEN_DIE, HALF_THEN_DIE, SHORT, CUT, SEND_THEN_CUT };
enum trait { SPACE = 1, DATA = 2, SYNC = 4, UNCOUNTED = 8, SOCKET = 16 };

static int armed, wanted, counted, alike, note_to = -1, sick = -1, roots;
static char root[4][PATH_MAX], wanted_name[32], wanted_ending[PATH_MAX];

/* `folders`: absolute paths, one per line; "socket:" stands for every socket. `log`: a descriptor that gets a line for each counted call. */
void faults_arm(int kind, const char *name, const char *ending, int number, const char *folders, int log)
{
    snprintf(wanted_name, sizeof wanted_name, "%s", name);
    snprintf(wanted_ending, sizeof wanted_ending, "%s", ending);
    roots = 0;
    while (*folders && roots < 4) {
        size_t length = strcspn(folders, "\n");
        snprintf(root[roots++], PATH_MAX, "%.*s", (int)length, folders);
        folders += length + (folders[length] == '\n');
    }
    counted = alike = 0;
    sick = -1;
    wanted = number;
    note_to = log;
    armed = kind;
}

__attribute__((noreturn)) static void die(void)
{
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;)
        pause();
}

static int root_of(const char *path)
{
    for (int i = 0; i < roots; i++)
        if (!strncmp(path, root[i], strlen(root[i])))
            return i;
    return -1;
}

static void of_descriptor(int descriptor, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void of_name(int folder, const char *name, char *path)
{
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    char base[PATH_MAX] = "";
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base))
            base[0] = 0;
    } else
        of_descriptor(folder, base);
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX)
        path[0] = 0;
}

/* From the last dot of the name of a file: what a path has that is the same in every run, where ids and numbers of processes are not. */
static const char *ending_of(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    return dot ? dot : "";
}

static int is_there(int folder, const char *name)
{
    struct stat found;
    return !fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW);
}

static void note(const char *call, const char *path, size_t size, const char *data)
{
    char line[PATH_MAX + 256];
    int length = snprintf(line, sizeof line, "%d\t%s\t%s\t%zu\t", counted, call, path, size);
    if (length >= (int)sizeof line)
        return;
    for (size_t i = 0; data && i < size && i < 120 && length < (int)sizeof line - 2; i++)
        line[length++] = data[i] >= ' ' && data[i] < 127 ? data[i] : '.';
    line[length++] = '\n';
    syscall(SYS_write, note_to, line, (size_t)length);
}

static enum verdict judge(const char *call, int traits, const char *path, size_t size, const void *data)
{
    int at = root_of(path);
    if (at < 0)
        return GO;
    if (sick == at && armed == NO_SPACE && traits & SPACE) {
        errno = ENOSPC;
        return FAIL;
    }
    if (sick == at && armed == READ_ONLY && !(traits & SYNC)) {
        errno = EROFS;
        return FAIL;
    }
    if (traits & UNCOUNTED)
        return GO;
    counted++;
    if (note_to >= 0)
        note(call, path, size, traits & SOCKET ? data : NULL);
    if (strcmp(call, wanted_name) || strcmp(ending_of(path), wanted_ending) || ++alike != wanted)
        return GO;
    switch (armed) {
    case KILL_BEFORE:
        die();
    case KILL_AFTER:
        return THEN_DIE;
    case HALF:
        return HALF_THEN_DIE;
    case NO_SPACE:
        /* A full disk takes what still fits and refuses the rest; it stays full for this process. */
        sick = at;
        if (traits & DATA && size > 1)
            return SHORT;
        errno = ENOSPC;
        return FAIL;
    case IO_ERROR:
        errno = EIO;
        return FAIL;
    case READ_ONLY:
        sick = at;
        errno = EROFS;
        return FAIL;
    case CUT_BEFORE:
        return CUT;
    case CUT_AFTER:
        return SEND_THEN_CUT;
    case STOP_BEFORE:
        /* The harness does something to the server meanwhile, and wakes this process up again. */
        syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
    }
    return GO;
}

#define REAL(result, name, ...)                                 \
    static result (*real)(__VA_ARGS__);                         \
    if (!real)                                                  \
        real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);

/* For calls that happen or do not: no half of them is possible. */
#define WHOLE(call, traits, path, run)             \
    switch (judge(call, traits, path, 0, NULL)) {  \
    case FAIL:                                     \
        return -1;                                 \
    case THEN_DIE:                                 \
        run;                                       \
        die();                                     \
    default:                                       \
        return run;                                \
    }

/* Data. -------------------------------------------------------------------------------------------------------------------------- */

#define DATA_CALL(call, descriptor, size, run_with)                                      \
    char path[PATH_MAX];                                                                        \
    of_descriptor(descriptor, path);                                                            \
    size_t all = size;                                                                          \
    switch (judge(call, SPACE | DATA, path, all, NULL)) {                                       \
    case FAIL:                                                                                  \
        return -1;                                                                              \
    case SHORT:                                                                                 \
        return run_with(all / 2);                                                               \
    case HALF_THEN_DIE:                                                                         \
        run_with(all / 2);                                                                      \
        die();                                                                                  \
    case THEN_DIE:                                                                              \
        run_with(all);                                                                          \
        die();                                                                                  \
    default:                                                                                    \
        return run_with(all);                                                                   \
    }

ssize_t write(int descriptor, const void *data, size_t size)
{
    REAL(ssize_t, write, int, const void *, size_t)
    if (!armed)
        return real(descriptor, data, size);
#define RUN(n) real(descriptor, data, n)
    DATA_CALL("write", descriptor, size, RUN)
#undef RUN
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t at)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
    if (!armed)
        return real(descriptor, data, size, at);
#define RUN(n) real(descriptor, data, n, at)
    DATA_CALL("pwrite", descriptor, size, RUN)
#undef RUN
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
    if (!armed)
        return real(descriptor, data, size, at);
#define RUN(n) real(descriptor, data, n, at)
    DATA_CALL("pwrite", descriptor, size, RUN)
#undef RUN
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    REAL(ssize_t, writev, int, const struct iovec *, int)
    if (!armed)
        return real(descriptor, parts, count);
#define RUN(n) ((n) == (size_t)count ? real(descriptor, parts, count) : real(descriptor, parts, 1))
    DATA_CALL("writev", descriptor, (size_t)count, RUN)
#undef RUN
}

ssize_t sendfile64(int descriptor, int from, off64_t *at, size_t size)
{
    REAL(ssize_t, sendfile64, int, int, off64_t *, size_t)
    if (!armed)
        return real(descriptor, from, at, size);
#define RUN(n) real(descriptor, from, at, n)
    DATA_CALL("sendfile", descriptor, size, RUN)
#undef RUN
}

ssize_t copy_file_range(int from, off64_t *start, int descriptor, off64_t *at, size_t size, unsigned flags)
{
    REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned)
    if (!armed)
        return real(from, start, descriptor, at, size, flags);
#define RUN(n) real(from, start, descriptor, at, n, flags)
    DATA_CALL("copy_file_range", descriptor, size, RUN)
#undef RUN
}

/* Descriptors. ------------------------------------------------------------------------------------------------------------------- */

#define BY_DESCRIPTOR(call, traits, run)  \
    if (!armed)                           \
        return run;                       \
    char path[PATH_MAX];                  \
    of_descriptor(descriptor, path);      \
    WHOLE(call, traits, path, run)

int fsync(int descriptor)
{
    REAL(int, fsync, int)
    BY_DESCRIPTOR("fsync", SPACE | SYNC, real(descriptor))
}

int fdatasync(int descriptor)
{
    REAL(int, fdatasync, int)
    BY_DESCRIPTOR("fdatasync", SPACE | SYNC, real(descriptor))
}

int ftruncate(int descriptor, off_t size)
{
    REAL(int, ftruncate, int, off_t)
    BY_DESCRIPTOR("ftruncate", SPACE, real(descriptor, size))
}

int ftruncate64(int descriptor, off64_t size)
{
    REAL(int, ftruncate64, int, off64_t)
    BY_DESCRIPTOR("ftruncate", SPACE, real(descriptor, size))
}

int posix_fallocate64(int descriptor, off64_t at, off64_t size)
{
    REAL(int, posix_fallocate64, int, off64_t, off64_t)
    BY_DESCRIPTOR("fallocate", SPACE, real(descriptor, at, size))
}

int fchmod(int descriptor, mode_t mode)
{
    REAL(int, fchmod, int, mode_t)
    BY_DESCRIPTOR("fchmod", 0, real(descriptor, mode))
}

int fchown(int descriptor, uid_t user, gid_t group)
{
    REAL(int, fchown, int, uid_t, gid_t)
    BY_DESCRIPTOR("fchown", 0, real(descriptor, user, group))
}

int futimens(int descriptor, const struct timespec times[2])
{
    REAL(int, futimens, int, const struct timespec *)
    BY_DESCRIPTOR("utimens", 0, real(descriptor, times))
}

/* Names. ------------------------------------------------------------------------------------------------------------------------- */

#define BY_NAME(call, traits, folder, name, run)  \
    if (!armed)                                   \
        return run;                               \
    char path[PATH_MAX];                          \
    of_name(folder, name, path);                  \
    WHOLE(call, traits, path, run)

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *)
    BY_NAME("rename", SPACE, AT_FDCWD, to, real(from, to))
}

int renameat(int folder, const char *from, int other, const char *to)
{
    REAL(int, renameat, int, const char *, int, const char *)
    BY_NAME("rename", SPACE, other, to, real(folder, from, other, to))
}

int renameat2(int folder, const char *from, int other, const char *to, unsigned flags)
{
    REAL(int, renameat2, int, const char *, int, const char *, unsigned)
    BY_NAME("rename", SPACE, other, to, real(folder, from, other, to, flags))
}

int link(const char *from, const char *to)
{
    REAL(int, link, const char *, const char *)
    BY_NAME("link", SPACE, AT_FDCWD, to, real(from, to))
}

int linkat(int folder, const char *from, int other, const char *to, int flags)
{
    REAL(int, linkat, int, const char *, int, const char *, int)
    BY_NAME("link", SPACE, other, to, real(folder, from, other, to, flags))
}

int symlink(const char *target, const char *name)
{
    REAL(int, symlink, const char *, const char *)
    BY_NAME("symlink", SPACE, AT_FDCWD, name, real(target, name))
}

int unlink(const char *name)
{
    REAL(int, unlink, const char *)
    BY_NAME("unlink", is_there(AT_FDCWD, name) ? 0 : UNCOUNTED, AT_FDCWD, name, real(name))
}

int unlinkat(int folder, const char *name, int flags)
{
    REAL(int, unlinkat, int, const char *, int)
    BY_NAME(flags & AT_REMOVEDIR ? "rmdir" : "unlink", is_there(folder, name) ? 0 : UNCOUNTED, folder, name, real(folder, name, flags))
}

int mkdir(const char *name, mode_t mode)
{
    REAL(int, mkdir, const char *, mode_t)
    BY_NAME("mkdir", is_there(AT_FDCWD, name) ? UNCOUNTED : SPACE, AT_FDCWD, name, real(name, mode))
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    REAL(int, mkdirat, int, const char *, mode_t)
    BY_NAME("mkdir", is_there(folder, name) ? UNCOUNTED : SPACE, folder, name, real(folder, name, mode))
}

int rmdir(const char *name)
{
    REAL(int, rmdir, const char *)
    BY_NAME("rmdir", 0, AT_FDCWD, name, real(name))
}

int chmod(const char *name, mode_t mode)
{
    REAL(int, chmod, const char *, mode_t)
    BY_NAME("chmod", 0, AT_FDCWD, name, real(name, mode))
}

int chown(const char *name, uid_t user, gid_t group)
{
    REAL(int, chown, const char *, uid_t, gid_t)
    BY_NAME("chown", 0, AT_FDCWD, name, real(name, user, group))
}

int truncate(const char *name, off_t size)
{
    REAL(int, truncate, const char *, off_t)
    BY_NAME("truncate", SPACE, AT_FDCWD, name, real(name, size))
}

int truncate64(const char *name, off64_t size)
{
    REAL(int, truncate64, const char *, off64_t)
    BY_NAME("truncate", SPACE, AT_FDCWD, name, real(name, size))
}

int utimensat(int folder, const char *name, const struct timespec times[2], int flags)
{
    REAL(int, utimensat, int, const char *, const struct timespec *, int)
    BY_NAME("utimens", 0, folder, name, real(folder, name, times, flags))
}

int utimes(const char *name, const struct timeval times[2])
{
    REAL(int, utimes, const char *, const struct timeval *)
    BY_NAME("utimens", 0, AT_FDCWD, name, real(name, times))
}

/* Opening counts where it makes or empties a file; on a disk that became read-only, every opening for writing fails. ---------------- */

static int changes_nothing(int folder, const char *name, int flags)
{
    return is_there(folder, name) ? !(flags & O_TRUNC) : !(flags & O_CREAT);
}

#define OPEN(folder, run)                                                                               \
    mode_t mode = 0;                                                                                    \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                                              \
        va_list more;                                                                                   \
        va_start(more, flags);                                                                          \
        mode = va_arg(more, mode_t);                                                                    \
        va_end(more);                                                                                   \
    }                                                                                                   \
    if (!armed || !(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)))                                   \
        return run;                                                                                     \
    char path[PATH_MAX];                                                                                \
    of_name(folder, name, path);                                                                        \
    WHOLE("open", changes_nothing(folder, name, flags) ? UNCOUNTED : SPACE, path, run)

int open(const char *name, int flags, ...)
{
    REAL(int, open, const char *, int, ...)
    OPEN(AT_FDCWD, real(name, flags, mode))
}

int open64(const char *name, int flags, ...)
{
    REAL(int, open64, const char *, int, ...)
    OPEN(AT_FDCWD, real(name, flags, mode))
}

int openat(int folder, const char *name, int flags, ...)
{
    REAL(int, openat, int, const char *, int, ...)
    OPEN(folder, real(folder, name, flags, mode))
}

int openat64(int folder, const char *name, int flags, ...)
{
    REAL(int, openat64, int, const char *, int, ...)
    OPEN(folder, real(folder, name, flags, mode))
}

FILE *fopen64(const char *name, const char *how)
{
    /* SQLite and Python write through descriptors; a stream that is opened for writing would not be counted, so it is refused aloud. */
    REAL(FILE *, fopen64, const char *, const char *)
    char path[PATH_MAX];
    if (armed && strpbrk(how, "wa+")) {
        of_name(AT_FDCWD, name, path);
        if (root_of(path) >= 0)
            abort();
    }
    return real(name, how);
}

/* Sockets: one send is one message to the server. ---------------------------------------------------------------------------------- */

static void wait_for_answer(int descriptor)
{
    struct pollfd answer = {.fd = descriptor, .events = POLLIN};
    poll(&answer, 1, 10000);
}

static void cut(int descriptor)
{
    /* The descriptor becomes one whose other end is closed: the server sees the client leave, the client sees the server leave. */
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        abort();
    close(pair[1]);
    int flags = fcntl(descriptor, F_GETFL);
    dup2(pair[0], descriptor);
    fcntl(descriptor, F_SETFL, flags);
    close(pair[0]);
}

ssize_t send(int descriptor, const void *data, size_t size, int flags)
{
    REAL(ssize_t, send, int, const void *, size_t, int)
    if (!armed)
        return real(descriptor, data, size, flags);
    char path[PATH_MAX];
    of_descriptor(descriptor, path);
    ssize_t sent;
    switch (judge("send", SOCKET, path, size, data)) {
    case FAIL:
        return -1;
    case THEN_DIE:
        real(descriptor, data, size, flags);
        wait_for_answer(descriptor);
        die();
    case CUT:
        cut(descriptor);
        return real(descriptor, data, size, flags);
    case SEND_THEN_CUT:
        sent = real(descriptor, data, size, flags);
        wait_for_answer(descriptor);
        cut(descriptor);
        return sent;
    default:
        return real(descriptor, data, size, flags);
    }
}
