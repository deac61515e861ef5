# SPDX-License-Identifier: Apache-2.0
"""
The C interface of tokavg as it is: constants, structs and functions under their C names. `Tokavg` is built on it; what is
said in `tokavg/tokavg.h` holds here.
"""
module LibTokavg

import Libdl

include("load.jl")
include("generated.jl")

end
