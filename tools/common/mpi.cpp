// SPDX-License-Identifier: Apache-2.0
#include "common/mpi.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "common/failure.hpp"

namespace tokavg_tool {
namespace {

namespace fs = std::filesystem;

/// Beside the command in a build tree, else where it was installed relative to the command.
std::vector<fs::path> places(const std::string& file) {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / file, folder / TOKAVG_TOOL_MODULE_FOLDER / file};
}

/// The module is never closed: MPI leaves threads and exit handlers behind.
void* open_module(const std::string& flavour) {
  const std::string file = "tokavg_tool_" + flavour + ".so";
  for (const fs::path& path : places(file)) {
    if (!fs::exists(path)) {
      continue;
    }
    if (void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return module;
    }
    throw UsageError(std::string("cannot load the MPI module: ") + dlerror());
  }
  throw UsageError("this tokavg was built without " + flavour + " (there is no " + file + "); build it where mpicc." +
                   flavour + " is installed, start it with another MPI's mpiexec, or say --mpi none");
}

const tokavg_tool_mpi_t* load_table(const std::string& flavour) {
  void* module = open_module(flavour);
  const auto* table = static_cast<const tokavg_tool_mpi_t*>(dlsym(module, TOKAVG_TOOL_MPI_SYMBOL));
  if (table == nullptr || table->version != TOKAVG_TOOL_MPI_VERSION) {
    throw UsageError("tokavg_tool_" + flavour + ".so belongs to another version of tokavg");
  }
  return table;
}

}  // namespace

Mpi::Mpi(const std::string& flavour) : flavour_(flavour), table_(load_table(flavour)) {
  check(table_->init(), "MPI_Init_thread");
}

Mpi::~Mpi() { table_->finalize(); }

void Mpi::abort(int code) const {
  table_->abort(code);
  std::abort();
}

void Mpi::check(int code, const char* call) const {
  if (code == 0) {
    return;
  }
  std::array<char, 512> text{};
  table_->describe(code, text.data(), static_cast<int32_t>(text.size()));
  throw Failure(std::string(call) + ": " + text.data());
}

void Mpi::barrier() const { check(table_->barrier(), "MPI_Barrier"); }

void Mpi::sleeping_barrier() const { check(table_->sleeping_barrier(), "MPI_Ibarrier"); }

void Mpi::sum(std::span<double> values) const {
  check(table_->sum(values.data(), std::ssize(values)), "MPI_Allreduce");
}

void Mpi::max(std::span<double> values) const {
  check(table_->max(values.data(), std::ssize(values)), "MPI_Allreduce");
}

void Mpi::sum_counts(std::span<int64_t> values) const {
  check(table_->sum_counts(values.data(), std::ssize(values)), "MPI_Allreduce");
}

void Mpi::gather(std::span<const double> mine, std::span<double> all) const {
  check(table_->gather(mine.data(), std::ssize(mine), all.data()), "MPI_Allgather");
}

void Mpi::start_sum_counts(std::span<const int64_t> mine, std::span<int64_t> sums) const {
  check(table_->start_sum_counts(mine.data(), sums.data(), std::ssize(mine)), "MPI_Iallreduce");
}

void Mpi::wait() const { check(table_->wait(), "MPI_Wait"); }

int run_mpi(const std::string& flavour, const std::function<int(const Mpi&)>& body) {
  const Mpi mpi(flavour);
  try {
    return body(mpi);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    std::cerr << "tokavg: rank " << mpi.rank() << ": " << error.what() << std::endl;
    mpi.abort(1);
  }
}

}  // namespace tokavg_tool
