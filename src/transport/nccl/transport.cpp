// SPDX-License-Identifier: Apache-2.0
// NCCL, over the caller's communicator or one of our own.
#include "transport/transport.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "transport/nccl/open.hpp"

namespace tokavg::nccl {
namespace {

using Json = nlohmann::ordered_json;

// Sums in the order of the caller's streams.
class GpuSums final : public StreamSums {
 public:
  explicit GpuSums(HostSums& sums) : sums_(sums), communicator_(sums.communicator()) {}

  void enqueue(std::uint64_t* words, std::size_t n_words, void* stream) override {
    communicator_.all_reduce(words, n_words, static_cast<cudaStream_t>(stream), Clock::now() + std::chrono::seconds(1));
  }
  [[nodiscard]] void* stream() override { return sums_.stream(); }
  void check() override { communicator_.check_health(); }
  void vouch() override { communicator_.check_sums(); }
  [[nodiscard]] bool lent() const override { return !communicator_.is_ours(); }
  void cancel() override { communicator_.abort(); }

 private:
  HostSums& sums_;
  Communicator& communicator_;
};

class NcclTransport final : public Transport {
 public:
  explicit NcclTransport(Opened opened) : opened_(std::move(opened)), gpu_sums_(*opened_.sums) {}
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;
  ~NcclTransport() override {
    if (!closed_) retire(opened_.sums, false, std::chrono::milliseconds(0));
  }

  [[nodiscard]] std::int32_t rank() const override { return communicator().rank(); }
  [[nodiscard]] std::int32_t ranks() const override { return communicator().ranks(); }

  std::unique_ptr<Reduction> start(std::span<std::uint64_t> words) override { return opened_.sums->start(words); }
  StreamSums* stream_sums() override { return &gpu_sums_; }
  [[nodiscard]] std::int32_t device_index() const override { return communicator().device(); }

  [[nodiscard]] bool progresses() const override { return true; }
  void abort() override { opened_.sums->give_up(); }
  [[nodiscard]] bool abort_from_any_thread() const override { return true; }

  void close() override {
    closed_ = true;
    retire(opened_.sums, true, std::chrono::seconds(1));
  }

  [[nodiscard]] std::string describe() const override {
    const Library& library = *communicator().library();
    Json facts = {{"transport", "nccl"},
                  {"version", version_text(library.version)},
                  {"library", library.file},
                  {"rank", rank()},
                  {"ranks", ranks()},
                  {"device", communicator().device()},
                  {"communicator", opened_.communicator},
                  {"aborted", !closed_ && !communicator().usable()}};
    facts["bootstrap"] = opened_.bootstrap.empty() ? Json() : Json::parse(opened_.bootstrap, nullptr, false);
    return facts.dump();
  }

 private:
  [[nodiscard]] Communicator& communicator() const { return opened_.sums->communicator(); }

  const Opened opened_;
  GpuSums gpu_sums_;
  bool closed_ = false;
};

bool serves(std::int32_t comm_kind, std::int32_t transport) {
  return comm_kind == TOKAVG_COMM_NCCL || transport == TOKAVG_TRANSPORT_NCCL;
}

std::unique_ptr<Transport> open(const TransportOptions& options) {
  return std::make_unique<NcclTransport>(open_sums(options));
}

// {"transport":"nccl","built_for":"2.28.9","loaded":"2.28.9","library":"/usr/lib/libnccl.so.2"}
std::string describe() {
  Json facts = {{"transport", "nccl"}, {"built_for", version_text(NCCL_VERSION_CODE)}, {"loaded", nullptr}};
  const std::optional<Error> none = caught([&facts] {
    const std::shared_ptr<const Library> library = Library::find(Origin::kThisProcess, {});
    facts["loaded"] = version_text(library->version);
    facts["library"] = library->file;
  });
  static_cast<void>(none);  // none that could be used
  return facts.dump();
}

}  // namespace

extern const TransportFactory kFactory;
const TransportFactory kFactory = {"nccl", serves, open, describe};

}  // namespace tokavg::nccl
