/* SPDX-License-Identifier: Apache-2.0 */
/* What ../regenerate gives to bindgen. */
#include <tokavg/tokavg.h>
#include <tokavg/transport_plugin.h>
