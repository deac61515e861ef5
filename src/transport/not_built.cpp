// SPDX-License-Identifier: Apache-2.0
// What stands in the list of transports for those that a build lacks: says which option builds them.
#include "base/error.hpp"
#include "transport/transport.hpp"

namespace tokavg::not_built {
namespace {

bool wants_nccl(std::int32_t comm_kind, std::int32_t transport) {
  return comm_kind == TOKAVG_COMM_NCCL || transport == TOKAVG_TRANSPORT_NCCL;
}

bool wants_mpi(std::int32_t comm_kind, std::int32_t transport) {
  return (comm_kind == TOKAVG_COMM_MPI || comm_kind == TOKAVG_COMM_MPI_FORTRAN) && transport == TOKAVG_TRANSPORT_AUTO;
}

[[noreturn]] std::unique_ptr<Transport> refuse(const char* name, const char* option) {
  fail(TOKAVG_ERR_NOT_BUILT, "this libtokavg was built without %s (it has: %s); build it with -D%s=ON", name,
       transport_names().c_str(), option);
}

std::unique_ptr<Transport> refuse_nccl(const TransportOptions& /*options*/) { refuse("NCCL", "TOKAVG_NCCL"); }
std::unique_ptr<Transport> refuse_mpi(const TransportOptions& /*options*/) { refuse("MPI", "TOKAVG_MPI"); }

}  // namespace

extern const TransportFactory kNccl;
extern const TransportFactory kMpi;
const TransportFactory kNccl = {"nccl", wants_nccl, refuse_nccl, nullptr};
const TransportFactory kMpi = {"mpi", wants_mpi, refuse_mpi, nullptr};

}  // namespace tokavg::not_built
