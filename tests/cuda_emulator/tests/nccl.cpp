// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <thread>

#include "cuda_emulator/tests/check.hpp"

// NCCL with ranks that are threads, or processes.
using namespace emulator_test;

namespace {

#define NCCL(call) expect_nccl(__FILE__, __LINE__, #call, ncclSuccess, call)
#define EXPECT_NCCL(result, call) expect_nccl(__FILE__, __LINE__, #call, result, call)

void expect_nccl(const char* file, int line, const char* call, ncclResult_t expected, ncclResult_t got) {
  if (got == expected) return;
  fail(file, line, call, (std::string("gave ") + ncclGetErrorString(got) + ": " + ncclGetLastError(nullptr)).c_str());
}

// What one rank has: its device, a stream and a communicator.
struct Rank {
  Rank(int number_of_rank, int number_of_ranks, const ncclUniqueId& id, int device)
      : rank(number_of_rank), ranks(number_of_ranks) {
    CUDA(cudaSetDevice(device));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  }
  ~Rank() {
    if (comm != nullptr) NCCL(ncclCommDestroy(comm));
    CUDA(cudaStreamDestroy(stream));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void abort() {
    NCCL(ncclCommAbort(comm));
    comm = nullptr;
  }
  ncclResult_t async_error() const {
    ncclResult_t error = ncclSuccess;
    NCCL(ncclCommGetAsyncError(comm, &error));
    return error;
  }
  void synchronize() const { CUDA(cudaStreamSynchronize(stream)); }

  int rank;
  int ranks;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
};

template <typename Value>
Value* to_device(const std::vector<Value>& host) {
  auto* memory = device_array<Value>(host.size());
  CUDA(cudaMemcpy(memory, host.data(), host.size() * sizeof(Value), cudaMemcpyHostToDevice));
  return memory;
}

// Runs `body` on one thread for each rank.
void on_threads(int ranks, const std::function<void(Rank&)>& body) {
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([=] {
      Rank own(rank, ranks, id, rank);
      body(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <typename Value>
void reduce_all(const Rank& own, ncclDataType_t datatype, ncclRedOp_t op, Value expected_of_one, std::size_t count) {
  auto* values = to_device(std::vector<Value>(count, static_cast<Value>(own.rank + 2)));
  NCCL(ncclAllReduce(values, values, count, datatype, op, own.comm, own.stream));
  own.synchronize();
  const std::vector<Value> got = copy_back(values, count);
  CHECK(got.front() == expected_of_one && got.back() == expected_of_one);
  CUDA(cudaFree(values));
}

// Ranks bring 2, 3, 4...
void all_reductions(Rank& own) {
  int count = 0, rank = -1, device = -1;
  NCCL(ncclCommCount(own.comm, &count));
  NCCL(ncclCommUserRank(own.comm, &rank));
  NCCL(ncclCommCuDevice(own.comm, &device));
  CHECK(count == own.ranks && rank == own.rank && device == own.rank);
  std::uint64_t sum = 0, product = 1;
  for (int i = 0; i < own.ranks; ++i) {
    sum += static_cast<std::uint64_t>(i) + 2;
    product *= static_cast<std::uint64_t>(i) + 2;
  }
  reduce_all<std::uint64_t>(own, ncclUint64, ncclSum, sum, 8);
  reduce_all<std::int64_t>(own, ncclInt64, ncclProd, static_cast<std::int64_t>(product), 8);
  reduce_all<float>(own, ncclFloat32, ncclMax, static_cast<float>(own.ranks + 1), 100000);  // several chunks
  reduce_all<double>(own, ncclFloat64, ncclMin, 2.0, 1);
  auto* values = to_device(std::vector<int>(20000, own.rank));
  NCCL(ncclBroadcast(values, values, 20000, ncclInt32, own.ranks - 1, own.comm, own.stream));
  own.synchronize();
  CHECK(copy_back(values, 20000)[19999] == own.ranks - 1);
  CUDA(cudaFree(values));
}

void threads() {
  for (const int ranks : {1, 2, 4}) on_threads(ranks, all_reductions);
}

// The id as text, for the environment of a process.
std::string to_text(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(byte));
    text += two;
  }
  return text;
}

ncclUniqueId from_text(const char* text) {
  ncclUniqueId id;
  for (char& byte : id.internal) {
    unsigned value = 0;
    CHECK(std::sscanf(text, "%2x", &value) == 1);
    byte = static_cast<char>(value);
    text += 2;
  }
  return id;
}

std::vector<Outcome> on_processes(int ranks, const char* fault) {
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[static_cast<std::size_t>(rank)] =
          run_fault(fault, {"ID=" + to_text(id), "RANK=" + std::to_string(rank), "RANKS=" + std::to_string(ranks)});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

void as_process(const std::function<void(Rank&)>& body) {
  const int rank = std::atoi(std::getenv("RANK"));
  Rank own(rank, std::atoi(std::getenv("RANKS")), from_text(std::getenv("ID")), rank);
  body(own);
}

void processes() {
  for (const int ranks : {1, 2, 4}) {
    for (const Outcome& outcome : on_processes(ranks, "rank process")) {
      if (outcome.failed) fail(__FILE__, __LINE__, "rank process:", outcome.text.c_str());
    }
  }
}

// Each rank multiplies with its own factor, which is read when the stream gets there.
void pre_mul_sum() {
  on_threads(2, [](Rank& own) {
    auto* factor = device_array<double>(1);
    auto* values = to_device(std::vector<double>(3, 10.0));
    ncclRedOp_t by_device = ncclSum, by_host = ncclSum;
    float half = 0.5F;
    NCCL(ncclRedOpCreatePreMulSum(&by_device, factor, ncclFloat64, ncclScalarDevice, own.comm));
    NCCL(ncclRedOpCreatePreMulSum(&by_host, &half, ncclFloat32, ncclScalarHostImmediate, own.comm));
    half = 7;
    const double mine = own.rank + 1;
    CUDA(cudaMemcpyAsync(factor, &mine, sizeof mine, cudaMemcpyHostToDevice, own.stream));
    NCCL(ncclAllReduce(values, values, 3, ncclFloat64, by_device, own.comm, own.stream));
    auto* floats = to_device(std::vector<float>(1, 4.0F));
    NCCL(ncclAllReduce(floats, floats, 1, ncclFloat32, by_host, own.comm, own.stream));
    EXPECT_NCCL(ncclInvalidArgument, ncclAllReduce(floats, floats, 1, ncclFloat32, by_device, own.comm, own.stream));
    NCCL(ncclRedOpDestroy(by_device, own.comm));
    NCCL(ncclRedOpDestroy(by_host, own.comm));
    EXPECT_NCCL(ncclInvalidArgument, ncclRedOpDestroy(by_host, own.comm));
    own.synchronize();
    CHECK(copy_back(values, 3)[2] == 30.0);
    CHECK(copy_back(floats, 1)[0] == 4.0F);
    CUDA(cudaFree(values));
    CUDA(cudaFree(floats));
    CUDA(cudaFree(factor));
  });
}

// Two communicators from one: even and odd ranks, in reverse order.
void split() {
  on_threads(4, [](Rank& own) {
    ncclComm_t half = nullptr, nobody = nullptr;
    NCCL(ncclCommSplit(own.comm, own.rank % 2, -own.rank, &half, nullptr));
    NCCL(ncclCommSplit(own.comm, own.rank == 0 ? 0 : NCCL_SPLIT_NOCOLOR, 0, &nobody, nullptr));
    CHECK((nobody != nullptr) == (own.rank == 0));
    int rank = -1, count = 0;
    NCCL(ncclCommUserRank(half, &rank));
    NCCL(ncclCommCount(half, &count));
    CHECK(count == 2 && rank == (own.rank < 2 ? 1 : 0));
    auto* value = to_device(std::vector<std::uint64_t>(1, static_cast<std::uint64_t>(own.rank)));
    NCCL(ncclAllReduce(value, value, 1, ncclUint64, ncclSum, half, own.stream));
    own.synchronize();
    CHECK(copy_back(value, 1)[0] == (own.rank % 2 == 0 ? 2U : 4U));
    CUDA(cudaFree(value));
    NCCL(ncclCommFinalize(half));
    NCCL(ncclCommDestroy(half));
    if (nobody != nullptr) NCCL(ncclCommDestroy(nobody));
  });
}

// One thread for several ranks.
void groups() {
  ncclComm_t comms[3];
  cudaStream_t streams[3];
  std::uint64_t* values[3];
  NCCL(ncclCommInitAll(comms, 3, nullptr));
  for (int rank = 0; rank < 3; ++rank) {
    CUDA(cudaSetDevice(rank));
    CUDA(cudaStreamCreateWithFlags(&streams[rank], cudaStreamNonBlocking));
    values[rank] = to_device(std::vector<std::uint64_t>(1, 1ULL << rank));
  }
  NCCL(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    NCCL(ncclAllReduce(values[rank], values[rank], 1, ncclUint64, ncclSum, comms[rank], streams[rank]));
  }
  NCCL(ncclGroupEnd());
  for (int rank = 0; rank < 3; ++rank) {
    CUDA(cudaSetDevice(rank));
    CUDA(cudaStreamSynchronize(streams[rank]));
    CHECK(copy_back(values[rank], 1)[0] == 7);
    CUDA(cudaFree(values[rank]));
    CUDA(cudaStreamDestroy(streams[rank]));
    NCCL(ncclCommDestroy(comms[rank]));
  }
  CUDA(cudaSetDevice(0));
}

// An all-reduce in a graph; the graph is what all ranks have to launch alike.
void captured() {
  on_threads(2, [](Rank& own) {
    auto* value = to_device(std::vector<double>(1, 1.0));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUDA(cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeThreadLocal));
    NCCL(ncclAllReduce(value, value, 1, ncclFloat64, ncclSum, own.comm, own.stream));
    CUDA(cudaStreamEndCapture(own.stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 10; ++i) CUDA(cudaGraphLaunch(exec, own.stream));
    own.synchronize();
    CHECK(copy_back(value, 1)[0] == 1024.0);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(value));
  });
}

// Rank 1 never comes: the stream waits until the communicator is aborted by another thread, and what it gives then is
// no result.
void wait_and_abort(Rank& own) {
  auto* value = to_device(std::vector<std::uint64_t>(1, 1));
  NCCL(ncclAllReduce(value, value, 1, ncclUint64, ncclSum, own.comm, own.stream));
  usleep(20000);
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(own.stream));
  std::thread([&] { own.abort(); }).join();
  own.synchronize();
  CHECK(copy_back(value, 1)[0] == 0xCDCDCDCDCDCDCDCDU);
  CUDA(cudaFree(value));
}

void aborted() {
  on_threads(2, [](Rank& own) {
    if (own.rank == 0) wait_and_abort(own);
  });
}

void killed_process() {
  const std::vector<Outcome> outcomes = on_processes(2, "killed process");
  CHECK(!outcomes[0].failed && outcomes[1].failed);
}

// The ranks do not do the same: an error on all of them, and nobody hangs.
void mismatch(const std::function<ncclResult_t(const Rank&, std::uint64_t*)>& call) {
  on_threads(3, [&](Rank& own) {
    auto* values = to_device(std::vector<std::uint64_t>(4, 1));
    NCCL(call(own, values));
    own.synchronize();
    CHECK(own.async_error() == ncclInvalidUsage);
    EXPECT_NCCL(ncclInvalidUsage, ncclAllReduce(values, values, 4, ncclUint64, ncclSum, own.comm, own.stream));
    CHECK(copy_back(values, 1)[0] == 0xCDCDCDCDCDCDCDCDU);
    own.abort();
    CUDA(cudaFree(values));
  });
}

void different_counts() {
  mismatch([](const Rank& own, std::uint64_t* values) {
    return ncclAllReduce(values, values, own.rank == 2 ? 3 : 4, ncclUint64, ncclSum, own.comm, own.stream);
  });
}

void different_operations() {
  mismatch([](const Rank& own, std::uint64_t* values) {
    if (own.rank == 1) return ncclBroadcast(values, values, 4, ncclUint64, 0, own.comm, own.stream);
    return ncclAllReduce(values, values, 4, ncclUint64, ncclSum, own.comm, own.stream);
  });
}

// Two communicators on streams that nothing orders, first one on one rank and first the other on the other.
void different_order() {
  on_threads(2, [](Rank& own) {
    ncclComm_t other = nullptr;
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NCCL(ncclCommSplit(own.comm, 0, own.rank, &other, nullptr));
    auto* values = to_device(std::vector<std::uint64_t>(2, 1));
    for (int turn = 0; turn < 2; ++turn) {
      const bool first = turn == own.rank;
      NCCL(ncclAllReduce(values + turn, values + turn, 1, ncclUint64, ncclSum, first ? own.comm : other,
                         first ? own.stream : stream));
    }
    own.synchronize();
    CUDA(cudaStreamSynchronize(stream));
    ncclResult_t error = ncclSuccess;
    NCCL(ncclCommGetAsyncError(other, &error));
    CHECK(own.async_error() == ncclInvalidUsage || error == ncclInvalidUsage);
    NCCL(ncclCommAbort(other));
    own.abort();
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(values));
  });
}

void same_order() {
  on_threads(2, [](Rank& own) {
    ncclComm_t other = nullptr;
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NCCL(ncclCommSplit(own.comm, 0, own.rank, &other, nullptr));
    auto* values = to_device(std::vector<std::uint64_t>(2, 1));
    for (int turn = 0; turn < 20; ++turn) {
      NCCL(ncclAllReduce(values, values, 1, ncclUint64, ncclSum, own.comm, own.stream));
      NCCL(ncclAllReduce(values + 1, values + 1, 1, ncclUint64, ncclMax, other, stream));
    }
    own.synchronize();
    CUDA(cudaStreamSynchronize(stream));
    CHECK(own.async_error() == ncclSuccess);
    CHECK(copy_back(values, 1)[0] == 1U << 20);
    NCCL(ncclCommDestroy(other));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(values));
  });
}

void arguments() {
  int version = 0;
  NCCL(ncclGetVersion(&version));
  CHECK(version == NCCL_VERSION_CODE);
  ncclUniqueId id;
  std::memset(&id, 0, sizeof id);
  ncclComm_t comm = nullptr;
  EXPECT_NCCL(ncclInvalidArgument, ncclCommInitRank(&comm, 1, id, 0));
  CHECK(comm == nullptr);
  NCCL(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  config.minCTAs = config.maxCTAs = 1;
  NCCL(ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  config.magic = 0;
  EXPECT_NCCL(ncclInvalidArgument, ncclCommSplit(comm, 0, 0, &comm, &config));
  std::uint64_t host = 0;
  EXPECT_NCCL(ncclInvalidArgument, ncclAllReduce(&host, &host, 1, ncclUint64, ncclSum, comm, nullptr));
  auto* value = device_array<std::uint64_t>(1);
  EXPECT_NCCL(ncclInvalidArgument, ncclAllReduce(value, value, 2, ncclUint64, ncclSum, comm, nullptr));
  EXPECT_NCCL(ncclInvalidArgument, ncclAllReduce(value, value, 1, ncclUint64, ncclAvg, comm, nullptr));
  CUDA(cudaFree(value));
  NCCL(ncclCommDestroy(comm));
  EXPECT_NCCL(ncclInvalidArgument, ncclCommDestroy(comm));
}

void one_device_twice() {
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([=] {
      ncclComm_t comm = nullptr;
      EXPECT_NCCL(ncclInvalidUsage, ncclCommInitRank(&comm, 2, id, rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A communicator that is made in the background, and one whose other rank never comes.
void not_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclResult_t state = ncclInProgress;
  NCCL(ncclGetUniqueId(&id));
  EXPECT_NCCL(ncclInProgress, ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  while (state == ncclInProgress) NCCL(ncclCommGetAsyncError(comm, &state));
  CHECK(state == ncclSuccess);
  NCCL(ncclCommDestroy(comm));
  NCCL(ncclGetUniqueId(&id));
  EXPECT_NCCL(ncclInProgress, ncclCommInitRankConfig(&comm, 2, id, 0, &config));
  NCCL(ncclCommGetAsyncError(comm, &state));
  CHECK(state == ncclInProgress);
  NCCL(ncclCommAbort(comm));
}

// Failures and delays of one rank alone.
void planned_failures() {
  cuda_emulator_fail("ncclAllReduce", 1, ncclSystemError, 1, 0);
  cuda_emulator_fail("ncclAllReduce", 2, ncclRemoteError, 1, CUDA_EMULATOR_ASYNC);
  cuda_emulator_delay(0, 5000);
  on_threads(2, [](Rank& own) {
    auto* value = to_device(std::vector<std::uint64_t>(1, 1));
    if (own.rank == 1) {
      EXPECT_NCCL(ncclSystemError, ncclAllReduce(value, value, 1, ncclUint64, ncclSum, own.comm, own.stream));
    }
    NCCL(ncclAllReduce(value, value, 1, ncclUint64, ncclSum, own.comm, own.stream));
    if (own.rank == 0) {
      usleep(30000);
      own.abort();
    } else {
      own.synchronize();
      CHECK(own.async_error() == ncclRemoteError);
    }
    own.synchronize();
    CUDA(cudaFree(value));
  });
}

void faults_are_caught() {
  const Outcome counts = run_fault("different counts");
  CHECK(!counts.failed && counts.says("ncclAllReduce of 4 ncclUint64 with ncclSum; on rank 2, ncclAllReduce of 3"));
  CHECK(run_fault("different operations").says("ncclBroadcast of 4 ncclUint64 from 0"));
  const Outcome order = run_fault("different order");
  CHECK(!order.failed && order.says("two communicators in different orders"));
  CHECK(run_fault("one device twice").says("are both on device 0"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {{"threads", threads},
                      {"processes", processes},
                      {"pre-mul-sum", pre_mul_sum},
                      {"split", split},
                      {"groups", groups},
                      {"captured", captured},
                      {"aborted", aborted},
                      {"killed process", killed_process},
                      {"same order", same_order},
                      {"arguments", arguments},
                      {"not blocking", not_blocking},
                      {"planned failures", planned_failures},
                      {"faults are caught", faults_are_caught}},
                     {{"rank process", [] { as_process(all_reductions); }},
                      {"killed process",
                       [] {
                         as_process([](Rank& own) {
                           if (own.rank == 1) raise(SIGKILL);
                           wait_and_abort(own);
                         });
                       }},
                      {"different counts", different_counts},
                      {"different operations", different_operations},
                      {"different order", different_order},
                      {"one device twice", one_device_twice}});
}
