// SPDX-License-Identifier: MIT
// measure REPORT PROGRAM [ARGUMENTS...]: runs a program and writes what it cost to REPORT:
//
//     wall (ns)  user and system time of its process tree (us)  peak resident set (KiB)
//
// Not in Python, because the kernel counts the pages of whoever forked into the peak of what is executed: from a process
// of 15 MB nothing smaller could be seen.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

int main(int count, char** words) {
  if (count < 3) {
    fputs("usage: measure REPORT PROGRAM [ARGUMENTS...]\n", stderr);
    return 125;
  }
  const long long start = now_ns();
  const pid_t child = fork();
  if (child < 0) {
    perror("measure: fork");
    return 125;
  }
  if (child == 0) {
    execv(words[2], words + 2);
    fprintf(stderr, "measure: %s: %s\n", words[2], strerror(errno));
    _exit(127);
  }
  int status;
  struct rusage usage;
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) {
      perror("measure: wait4");
      return 125;
    }
  }
  const long long wall = now_ns() - start;

  FILE* report = fopen(words[1], "w");
  if (!report ||
      fprintf(report, "%lld %lld %ld\n", wall, microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
              usage.ru_maxrss) < 0 ||
      fclose(report) != 0) {
    perror("measure: report");
    return 125;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
