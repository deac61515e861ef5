// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "cuda_emulator/handles.hpp"
#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {

struct Event;

struct GraphNode {
  std::size_t lane = 0;            // one for each stream that took part in the capture
  std::vector<std::size_t> after;  // nodes of other lanes, and the one before it in its own
  Work work;
  std::shared_ptr<Event> external =
      nullptr;  // instead of work: waited for, as it was recorded when the graph is launched
};

struct Graph {
  std::vector<int> lane_devices;
  std::vector<GraphNode> nodes;  // in the order of capture, so what a node comes after is before it
};

// Replays a graph as it was captured: the first lane on the stream that it is launched on, the others on streams of
// their own, with a marker for each dependency between lanes and nothing else that orders them.
class GraphExec {
 public:
  explicit GraphExec(const Graph& graph);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  // For the works that submit() put on `stream`.
  void launch(const std::shared_ptr<Stream>& stream);

 private:
  using Markers = std::vector<std::shared_ptr<Marker>>;

  std::shared_ptr<Stream> lane(std::size_t number, const std::shared_ptr<Stream>& stream) const;
  void push_node(std::size_t number, const std::shared_ptr<Stream>& stream, Markers& markers);

  const Graph graph_;
  std::vector<bool> awaited_;  // by another lane
  std::vector<std::shared_ptr<Stream>> lanes_;
  Lock lock_;
  std::shared_ptr<Marker> last_;  // a graph does not overlap with itself
};

Handles<cudaGraph_t, Graph>& graphs();
Handles<cudaGraphExec_t, GraphExec>& graph_execs();

}  // namespace cuda_emulator
