/* Preloaded into a gateway: every barrier of the disk takes SLOW_DISK_MS longer, after the true one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_more(void) {
  const char *text = getenv("SLOW_DISK_MS");
  long milliseconds = text == NULL ? 0 : atol(text);
  struct timespec pause = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  nanosleep(&pause, NULL);
}

int fsync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  int result = real(descriptor);
  wait_more();
  return result;
}

int fdatasync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int result = real(descriptor);
  wait_more();
  return result;
}
