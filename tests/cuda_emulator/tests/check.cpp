// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/tests/check.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace emulator_test {
namespace {

std::string program;

[[noreturn]] void become_fault(const char* name, const std::vector<std::string>& environment, int output) {
  dup2(output, STDERR_FILENO);
  for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
  if (cuda_emulator::kThreadSanitizer) {
    // It would sleep for a second at the end.
    const char* options = std::getenv("TSAN_OPTIONS");
    setenv("TSAN_OPTIONS", (std::string(options == nullptr ? "" : options) + ":atexit_sleep_ms=0").c_str(), 1);
  }
  execl(program.c_str(), program.c_str(), "fault", name, nullptr);
  _exit(127);
}

const Case* find(const std::vector<Case>& cases, const char* name) {
  for (const Case& candidate : cases) {
    if (std::strcmp(candidate.name, name) == 0) return &candidate;
  }
  return nullptr;
}

}  // namespace

Outcome run_fault(const char* name, const std::vector<std::string>& environment) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) become_fault(name, environment, pipe_ends[1]);
  close(pipe_ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t got; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    outcome.text.append(buffer, static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  outcome.failed = status != 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) fail(__FILE__, __LINE__, "no such fault:", name);
  return outcome;
}

bool shows_over_seeds(const char* name, int seeds) {
  for (int seed = 1; seed <= seeds; ++seed) {
    if (run_fault(name, {"CUDA_EMULATOR_SEED=" + std::to_string(seed)}).failed) return true;
  }
  return false;
}

int run_program(int argc, char** argv, const std::vector<Case>& cases, const std::vector<Case>& faults) {
  program = argv[0];
  if (argc == 3 && std::strcmp(argv[1], "fault") == 0) {
    const Case* fault = find(faults, argv[2]);
    if (fault == nullptr) return 127;
    fault->run();
    return 0;
  }
  for (const Case& one : cases) {
    if (argc == 2 && std::strcmp(argv[1], one.name) != 0) continue;
    std::printf("%s\n", one.name);
    std::fflush(stdout);
    cuda_emulator_reset();
    one.run();
  }
  return cuda_emulator_report_leaks() == 0 ? 0 : 1;
}

}  // namespace emulator_test
