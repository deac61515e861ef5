// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/flavour.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"

namespace tokavg::mpi {
namespace {

constexpr Flavour kOpenMpi = {"openmpi", "Open MPI"};
constexpr Flavour kMpich = {"mpich", "MPICH"};

struct Known {
  const Flavour* flavour;
  const char* soname;
  const char* never_has;  // a symbol that gives another MPI with this soname away
};

constexpr std::array<Known, 3> kKnown = {{
    {&kOpenMpi, "libmpi.so.40", nullptr},  // 4 and 5
    {&kMpich, "libmpich.so.12", nullptr},
    {&kMpich, "libmpi.so.12", "ompi_mpi_comm_world"},  // the MPICH ABI initiative; Open MPI 1.10 was called so too
}};

// MPI_Get_library_version may be called at any time, before MPI_Init too, and is the same on every MPI
// (MPI 3.1, 8.1.1).
std::string ask_version(void* function) {
  std::array<char, 16384> text{};  // twice the longest MPI_MAX_LIBRARY_VERSION_STRING (MPICH: 8192)
  int length = 0;
  reinterpret_cast<int (*)(char*, int*)>(function)(text.data(), &length);
  const std::string version = text.data();
  return version.substr(0, std::min<std::string::size_type>(version.find('\n'), 120));
}

}  // namespace

std::vector<LoadedMpi> find_loaded_mpis() {
  std::vector<LoadedMpi> found;
  for (const Known& known : kKnown) {
    Dynlib library = Dynlib::already_loaded(known.soname);
    if (!library || (known.never_has != nullptr && library.symbol(known.never_has) != nullptr)) continue;
    // Where libmpi.so.12 is a link to libmpich.so.12, both names lead to it.
    if (!found.empty() && found.back().flavour == known.flavour) continue;
    found.push_back({known.flavour, known.soname, std::move(library)});
  }
  return found;
}

LoadedMpi the_loaded_mpi() {
  std::vector<LoadedMpi> found = find_loaded_mpis();
  if (found.size() > 1) {
    fail(TOKAVG_ERR_CONFIG,
         "two MPI libraries are loaded in this process, %s (%s) and %s (%s), and a communicator does not say whose it "
         "is; load only the one that the job was started with",
         found[0].flavour->title, found[0].soname, found[1].flavour->title, found[1].soname);
  }
  if (found.size() == 1) return std::move(found[0]);
  if (void* unknown = find_symbol_in_process("MPI_Get_library_version"); unknown != nullptr) {
    fail(TOKAVG_ERR_UNSUPPORTED,
         "the MPI in this process (%s) is not one that tokavg knows: it looks for the shared libraries libmpi.so.40 "
         "(Open MPI 4 and 5), libmpich.so.12 and libmpi.so.12 (MPICH and its kin)",
         ask_version(unknown).c_str());
  }
  fail(TOKAVG_ERR_CONFIG,
       "no MPI library is loaded in this process: link the program with MPI and call MPI_Init or MPI_Init_thread "
       "before tokavg_init (looked for libmpi.so.40, libmpich.so.12 and libmpi.so.12)");
}

}  // namespace tokavg::mpi
