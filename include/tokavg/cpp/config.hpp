// SPDX-License-Identifier: Apache-2.0
/** @file config.hpp @brief Communicators and options of a context. Included by tokavg.hpp. */
#ifndef TOKAVG_CPP_CONFIG_HPP
#define TOKAVG_CPP_CONFIG_HPP

#include <cstdint>
#include <utility>

#include "error.hpp"

/** @cond transport_plugin.h has it. */
struct tokavg_transport_t;
/** @endcond */

namespace tokavg {
inline namespace api1 {

/** @brief What the trainer's own reduction does with gradients. */
enum class Gradient : std::int32_t {
  mean = TOKAVG_GRADIENT_MEAN, /**< averages them, as DDP and FSDP do */
  sum = TOKAVG_GRADIENT_SUM,   /**< sums them */
};

/** @brief What a step is divided by. */
enum class Divisor : std::int32_t {
  tokens = TOKAVG_DIVISOR_TOKENS,   /**< the scored tokens */
  weights = TOKAVG_DIVISOR_WEIGHTS, /**< the sum of their weights */
};

/** @brief Who moves reductions on. */
enum class Progress : std::int32_t {
  automatic = TOKAVG_PROGRESS_AUTO, /**< a thread where the transport allows one */
  thread = TOKAVG_PROGRESS_THREAD,  /**< a thread of the library's */
  caller = TOKAVG_PROGRESS_CALLER,  /**< calls of the library */
};

/** @brief Ranks that are threads of one process. */
class ThreadGroup {
 public:
  /** @brief Makes a group. @param ranks how many @throws Error */
  explicit ThreadGroup(std::int32_t ranks) {
    if (const tokavg_status_t status = tokavg_threads_create(ranks, &group_); status < 0) throw Error(status, nullptr);
  }
  ThreadGroup(ThreadGroup&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
  ThreadGroup& operator=(ThreadGroup&& other) noexcept {
    std::swap(group_, other.group_);
    return *this;
  }
  /** @brief Contexts made of it live on. */
  ~ThreadGroup() { static_cast<void>(tokavg_threads_free(group_)); }

  /** @brief The C handle. @return it stays this object's */
  tokavg_threads_t* get() const noexcept { return group_; }

 private:
  tokavg_threads_t* group_ = nullptr;
};

/** @brief Which ranks belong together. It points to what it was made from, which must live until the context is made.
 */
struct Communicator {
  std::int32_t kind;          /**< one of the TOKAVG_COMM_ constants */
  const void* comm = nullptr; /**< see them */
  std::int32_t fortran = 0;   /**< the integer communicator of Fortran */
  std::int32_t rank = 0;      /**< of a thread */
};

/** @brief This rank alone. @return a communicator */
inline Communicator self() noexcept { return {TOKAVG_COMM_SELF}; }
/** @brief An MPI communicator. @param comm any MPI's MPI_Comm @return a communicator that points to it */
template <class MpiComm>
Communicator mpi(const MpiComm& comm) noexcept {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): an MPI's handle may be a pointer
  static_assert(sizeof(MpiComm) == sizeof(int) || sizeof(MpiComm) == sizeof(void*), "not an MPI_Comm");
  return {TOKAVG_COMM_MPI, &comm};
}
/** @brief A communicator that came from Fortran. @param comm the integer @return a communicator */
inline Communicator mpi_fortran(std::int32_t comm) noexcept { return {TOKAVG_COMM_MPI_FORTRAN, nullptr, comm}; }
/** @brief A rank among threads. @param group all of them @param rank this one's, from 0 @return a communicator */
inline Communicator threads(const ThreadGroup& group, std::int32_t rank) noexcept {
  return {TOKAVG_COMM_THREADS, group.get(), 0, rank};
}
/** @brief A transport of the caller's. @param table its functions @return a communicator that points to it */
inline Communicator caller(const tokavg_transport_t& table) noexcept { return {TOKAVG_COMM_CALLER, &table}; }

/** @brief A tokavg_config_t with names; 0 is the default of each field but ignore_index and device_index. */
struct Options {
  Gradient gradient;                              /**< no default: it decides about the factor */
  std::int32_t gradient_ranks = 0;                /**< G; 0: label ranks / label_copies */
  std::int32_t label_copies = 0;                  /**< ranks that hold the same labels; 0: 1 */
  std::int32_t label_copy_index = 0;              /**< which of them this rank is */
  bool asks_only = false;                         /**< this rank holds no labels */
  std::int32_t microbatch_shards = 0;             /**< ranks that hold parts of one microbatch; 0: 1 */
  double accumulation_divisor = 0;                /**< A; 0: 1 */
  std::int64_t ignore_index = -100;               /**< the label that is not scored */
  Divisor divisor = Divisor::tokens;              /**< what a step is divided by */
  std::int32_t terms = 0;                         /**< 1 to 8; 0: 1 */
  std::int32_t in_flight = 0;                     /**< reduced steps that stay readable; 0: 4 */
  Progress progress = Progress::automatic;        /**< who moves reductions on */
  std::int64_t timeout_ms = 0;                    /**< deadline of every wait; 0: 300000 */
  std::int64_t warn_ms = 0;                       /**< a log line after so long a wait; 0: 60000 */
  std::int32_t device = TOKAVG_DEVICE_AUTO;       /**< one of the TOKAVG_DEVICE_ constants */
  std::int32_t device_index = -1;                 /**< CUDA device; -1: the current one */
  std::int32_t host_threads = 0;                  /**< threads of the host kernels; 0: 1 */
  std::int32_t transport = TOKAVG_TRANSPORT_AUTO; /**< one of the TOKAVG_TRANSPORT_ constants */
  std::uint32_t flags = 0;                        /**< TOKAVG_CONFIG_ flags */
  tokavg_log_callback_t log = nullptr;            /**< receives log lines */
  void* log_user = nullptr;                       /**< handed to it */

  /** @brief The C struct. @param comm which ranks @return a configuration that points to what comm points to */
  tokavg_config_t c(const Communicator& comm) const noexcept {
    tokavg_config_t config{};
    static_cast<void>(tokavg_config_init(&config, sizeof config));
    config.comm_kind = comm.kind;
    config.comm = comm.comm;
    config.comm_fortran = comm.fortran;
    config.comm_rank = comm.rank;
    config.transport = transport;
    config.device = device;
    config.device_index = device_index;
    config.host_threads = host_threads;
    config.gradient_reduction = static_cast<std::int32_t>(gradient);
    config.gradient_ranks = gradient_ranks;
    config.label_copies = label_copies;
    config.label_copy_index = label_copy_index;
    config.asks_only = asks_only ? 1 : 0;
    config.microbatch_shards = microbatch_shards;
    config.accumulation_divisor = accumulation_divisor;
    config.ignore_index = ignore_index;
    config.divisor = static_cast<std::int32_t>(divisor);
    config.terms = terms;
    config.in_flight = in_flight;
    config.progress = static_cast<std::int32_t>(progress);
    config.timeout_ms = timeout_ms;
    config.warn_ms = warn_ms;
    config.flags = flags;
    config.log = log;
    config.log_user = log_user;
    return config;
  }
};

}  // namespace api1
}  // namespace tokavg

#endif
