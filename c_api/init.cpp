// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "base/struct_copy.hpp"
#include "c_api/guard.hpp"
#include "transport/thread_group.hpp"

using namespace tokavg;

namespace {

HandleTable<void>& groups() noexcept {
  alignas(HandleTable<void>) static unsigned char storage[sizeof(HandleTable<void>)];
  static auto& table = *new (storage) HandleTable<void>(2);
  return table;
}

}  // namespace

tokavg_status_t tokavg_config_init(tokavg_config_t* config, uint32_t struct_size) noexcept {
  return guard([&] {
    if (config == nullptr) fail(TOKAVG_ERR_ARGUMENT, "config is NULL; pass the address of a tokavg_config_t");
    if (struct_size < kSize10<tokavg_config_t> || struct_size > kLargestStruct) {
      fail(TOKAVG_ERR_ARGUMENT, "struct_size is %u; pass sizeof(tokavg_config_t), %zu here", struct_size,
           sizeof(tokavg_config_t));
    }
    tokavg_config_t defaults{};
    defaults.device_index = -1;
    defaults.ignore_index = -100;
    write_struct(defaults, struct_size, config);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_init(const tokavg_config_t* config, tokavg_context_t** ctx_out) noexcept {
  return guard([&] {
    if (ctx_out == nullptr) fail(TOKAVG_ERR_ARGUMENT, "ctx_out is NULL; pass the address of a tokavg_context_t *");
    tokavg_config_t given = read_struct("config", config);
    std::shared_ptr<void> group;
    if (given.comm_kind == TOKAVG_COMM_THREADS) {
      group = groups().share(given.comm);
      if (group == nullptr) fail_handle("config.comm (a tokavg_threads_t)", given.comm);
      given.comm = group.get();
    }
    std::shared_ptr<Context> context = Context::open(make_settings(given));
    try {
      *ctx_out = static_cast<tokavg_context_t*>(contexts().insert(context));
    } catch (const Error&) {
      context->abort();  // the others have a context by now
      throw;
    }
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_finalize(tokavg_context_t* ctx) noexcept {
  return guard(ctx, Blame::kNothing, [](Context& context) {
    context.finalize();
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_free(tokavg_context_t* ctx) noexcept {
  if (ctx == nullptr) return TOKAVG_OK;
  return guard([&] {
    if (contexts().remove(ctx) == nullptr) fail_handle("ctx", ctx);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_abort(tokavg_context_t* ctx) noexcept {
  return guard([&] {
    const std::shared_ptr<Context> context = contexts().share(ctx);
    if (context == nullptr) fail_handle("ctx", ctx);
    context->abort();
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_threads_create(int32_t ranks, tokavg_threads_t** group_out) noexcept {
  return guard([&] {
    if (group_out == nullptr) fail(TOKAVG_ERR_ARGUMENT, "group_out is NULL; pass the address of a tokavg_threads_t *");
    *group_out = static_cast<tokavg_threads_t*>(groups().insert(make_thread_group(ranks)));
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_threads_free(tokavg_threads_t* group) noexcept {
  if (group == nullptr) return TOKAVG_OK;
  return guard([&] {
    if (groups().remove(group) == nullptr) fail_handle("group", group);
    return TOKAVG_OK;
  });
}
