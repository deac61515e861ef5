// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/graph.hpp"

#include "cuda_emulator/device.hpp"
#include "cuda_emulator/event.hpp"

namespace cuda_emulator {

GraphExec::GraphExec(const Graph& graph) : graph_(graph), awaited_(graph.nodes.size()) {
  for (std::size_t number = 1; number < graph_.lane_devices.size(); ++number) {
    lanes_.push_back(std::make_shared<Stream>(graph_.lane_devices[number], Stream::Kind::kNonBlocking));
  }
  for (const GraphNode& node : graph_.nodes) {
    for (const std::size_t earlier : node.after) {
      if (graph_.nodes[earlier].lane != node.lane) awaited_[earlier] = true;
    }
  }
}

GraphExec::~GraphExec() {
  for (const std::shared_ptr<Stream>& lane : lanes_) lane->close();
}

std::shared_ptr<Stream> GraphExec::lane(std::size_t number, const std::shared_ptr<Stream>& stream) const {
  return number == 0 ? stream : lanes_[number - 1];
}

void GraphExec::push_node(std::size_t number, const std::shared_ptr<Stream>& stream, Markers& markers) {
  const GraphNode& node = graph_.nodes[number];
  const std::shared_ptr<Stream> own = lane(node.lane, stream);
  for (const std::size_t earlier : node.after) {
    if (graph_.nodes[earlier].lane != node.lane) own->push_wait(markers[earlier]);
  }
  if (node.external == nullptr) {
    own->push(node.work);
  } else if (const std::shared_ptr<Marker> latest = latest_marker(*node.external)) {
    own->push_wait(latest);
  }
  if (awaited_[number]) markers[number] = own->push_marker();
}

void GraphExec::launch(const std::shared_ptr<Stream>& stream) {
  const Locked locked(lock_);
  if (last_ != nullptr) stream->push_wait(last_);
  const std::shared_ptr<Marker> start = stream->push_marker();
  for (const std::shared_ptr<Stream>& lane : lanes_) lane->push_wait(start);
  Markers markers(graph_.nodes.size());
  for (std::size_t number = 0; number < graph_.nodes.size(); ++number) push_node(number, stream, markers);
  for (const std::shared_ptr<Stream>& lane : lanes_) stream->push_wait(lane->push_marker());
  last_ = stream->push_marker();
}

Handles<cudaGraph_t, Graph>& graphs() {
  static Handles<cudaGraph_t, Graph>& all = *new Handles<cudaGraph_t, Graph>;
  return all;
}

Handles<cudaGraphExec_t, GraphExec>& graph_execs() {
  static Handles<cudaGraphExec_t, GraphExec>& all = *new Handles<cudaGraphExec_t, GraphExec>;
  return all;
}

}  // namespace cuda_emulator
