// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/agreement.hpp"
#include "core/courier.hpp"
#include "core/factor.hpp"
#include "core/requests.hpp"
#include "core/settings.hpp"
#include "core/step.hpp"
#include "core/stream_service.hpp"

namespace tokavg {

// An error that belongs to a ticket (PEER, STALE, ...): it is reported there and never marks the open step.
class TicketError : public Error {
 public:
  using Error::Error;
  explicit TicketError(const Error& error) : Error(error) {}
};

// What an error says about the step that is open.
enum class Blame {
  kNothing,     // a query
  kOpenStep,    // counting, discarding, a loss on the open step: the next reduce reports it
  kClosedStep,  // losses and gradients of a ticket: the next message reports it
};

// One data group as one rank sees it. The methods follow the run-time arrow, one file each: count.cpp, reduce.cpp (and
// receive.cpp, the other end of it), loss.cpp, result.cpp. Errors are thrown; c_api/guard.hpp hands them to note().
class Context {
 public:
  // Collective: opens the transport and agrees with the other ranks.
  static std::shared_ptr<Context> open(const Settings& settings);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  void finalize();
  void abort();

  void count(const CountRequest& request);
  void count_add(std::int32_t term, std::int64_t tokens, double weight_sum, std::int64_t microbatches);
  void discard();

  // `wrong`: why the options could not be read, or (on return) used, or the stream not be used; the step is closed as
  // failed then.
  tokavg_ticket_t reduce(const ReduceRequest& request, std::optional<Error>& wrong);
  void flush(Stream stream);
  void progress();

  tokavg_status_t wait(tokavg_ticket_t ticket, std::int32_t what, std::int64_t timeout_ms, tokavg_result_t* result);
  double factor(tokavg_ticket_t ticket, std::int32_t term, std::int32_t kind);
  const float* factor_device(tokavg_ticket_t ticket, std::int32_t term, std::int32_t kind, Stream stream);

  void loss(tokavg_ticket_t ticket, const LossRequest& request);
  void cross_entropy(tokavg_ticket_t ticket, CrossEntropyRequest request);
  void scale(tokavg_ticket_t ticket, const ScaleRequest& request);
  void release(tokavg_ticket_t ticket);

  [[nodiscard]] const tokavg_config_t& config() const noexcept { return settings_.config; }
  // Whether calls may hand in GPU memory, and whether this is such.
  [[nodiscard]] bool works_on_streams() const noexcept { return streams_ != nullptr; }
  [[nodiscard]] bool is_device_memory(const void* pointer) const;
  void check_device_reaches(const void* pointer) const;  // where works_on_streams()
  [[nodiscard]] const std::string& last_text() const noexcept { return last_text_; }
  [[nodiscard]] std::string describe() const;

  // Every error of a call ends here: keeps the text, marks the step, and fails the context where the error is sticky.
  void note(const Error& error, Blame blame) noexcept;
  // Throws where the context can not be used: failed, or finalized (unless reading is enough).
  void check_usable(bool reading = false) const;

 private:
  explicit Context(const Settings& settings);
  void make_devices();
  // all_know: where it throws, do the other ranks find the same by themselves?
  void agree(Clock::time_point begin, const std::optional<Error>& own_failure, bool& all_know);
  void die(const Error& error) noexcept;
  [[nodiscard]] bool logs(std::int32_t level) const noexcept;
  void log(std::int32_t level, const std::string& text) const noexcept;

  void check_counting() const;
  void begin_microbatches(std::uint64_t microbatches);
  void check_process();
  void check_factors(double accumulation_divisor, const char* where) const;
  void make_room(bool for_a_ticket);
  void send_finalize();
  void close_step(const ReduceRequest& options, const std::optional<Error>& wrong, bool captured);
  void post(MessageKind kind, const std::string& name, const Roll& roll, bool roll_known,
            const std::optional<Error>& failure, Stream stream);
  [[nodiscard]] Roll roll(MessageKind kind, const ReduceRequest& options) const noexcept;

  // receive.cpp
  void receive(const Message& message);
  void settle(Step& step, const Message& message, const Summed& summed);
  void collect_losses(const Message& message, const Summed& summed);
  void audit(const Message& message);
  void retire(const Message& message);
  bool wait_for(Step& step, std::uint64_t sequence, std::int64_t limit_ms);

  // streams.cpp
  void start_service();
  void open_streams();
  [[nodiscard]] bool replay_unfinished() const noexcept;
  void check_before_capture();
  [[nodiscard]] std::optional<std::int32_t> free_captured_place() const;
  void place(Step& step, bool captured);
  StreamPart stream_part(MessageKind kind, const Roll& roll, bool roll_known, Stream stream);
  void begin_replay(Step& step, const StreamPart& part) noexcept;
  [[nodiscard]] Step* step_in_slot(const Message& message, std::size_t slot) noexcept;
  Step& find_on_stream(tokavg_ticket_t ticket, Stream stream);
  std::int32_t stream_slot(tokavg_ticket_t ticket, bool applies_factor, Stream stream);
  void check_carried(const Step& step, Stream stream);
  void check_no_replays(const Step& step) const;
  [[nodiscard]] bool any_captured() const noexcept;
  void record_on_stream(tokavg_ticket_t ticket, bool applies_factor, bool records);
  void stream_loss(tokavg_ticket_t ticket, const LossRequest& request);
  void stream_cross_entropy(tokavg_ticket_t ticket, const CrossEntropyRequest& request);
  void stream_scale(tokavg_ticket_t ticket, const ScaleRequest& request);

  // result.cpp
  Step& find(tokavg_ticket_t ticket);               // of the caller's tickets; throws ARGUMENT or STALE
  Step* kept(tokavg_ticket_t ticket) noexcept;      // also the one that is just retiring; nullptr: none
  Step* readable(tokavg_ticket_t ticket) noexcept;  // what the caller may still ask for; nullptr: none
  Step& completed(tokavg_ticket_t ticket);          // waits; throws the step's failure
  tokavg_status_t wait_counts(Step& step, const WaitLimit& limit);
  tokavg_status_t wait_losses(Step& step, const WaitLimit& limit);
  void fill(const Step& step, tokavg_result_t& result) const noexcept;

  // loss.cpp
  struct Recording;
  Recording begin_recording(tokavg_ticket_t ticket, std::int32_t term, const LossOutputs& out, bool gradient);
  static void check_not_scaled_after(const Step& step);
  static void check_not_scaled_before(const Step& step, std::int32_t kind);
  void check_room(const Recording& recording, std::int32_t term, std::uint64_t tokens) const;
  void record(const Recording& recording, std::int32_t term, const TermLosses& losses);
  void give_back(const LossOutputs& out, const Recorded& recorded, double factor);
  Recorded single_value(const LossRequest& request, const Recording& recording, TermLosses& losses);

  Settings settings_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Device> device_;          // the host
  std::unique_ptr<StreamDevice> streams_;   // nullptr: the context works on the host
  std::unique_ptr<StreamService> service_;  // of streams_
  std::unique_ptr<Courier> courier_;
  MessageLayout layout_;
  FactorRule rule_;
  Agreed agreed_;

  OpenStep open_;
  bool done_ = false;
  std::optional<Error> open_failure_;    // since the last reduce
  std::optional<Error> closed_failure_;  // since the last message

  // Ascending by ticket; captured ones stay until they are released. A list: a step that is waited for stays where it
  // is.
  std::list<Step> steps_;
  std::int64_t eager_steps_ = 0;
  std::int64_t eager_flushes_ = 0;
  tokavg_ticket_t newest_captured_ = 0;
  std::vector<bool> captured_places_;  // which of the device's slots for captured steps are taken
  bool unsent_on_device_ = false;      // losses of closed steps that no message has carried
  std::uint64_t newest_reduce_ = 0;    // on the device, replays included; as far as they have arrived
  tokavg_ticket_t newest_ = 0;
  std::uint64_t sequence_ = 0;
  std::int64_t unaudited_steps_ = 0;
  std::optional<Error> finalize_failure_;

  std::optional<Error> dead_;
  bool finalized_ = false;
  std::mutex closing_;  // tokavg_abort from another thread against closing the transport
  std::string last_text_;
  std::atomic<bool> aborted_{false};
  std::atomic<pthread_t> last_thread_{};
  pid_t process_ = 0;
};

}  // namespace tokavg
