# SPDX-License-Identifier: Apache-2.0
# Language levels, visibility, warnings and sanitizers, for every target of the project.

find_package(Threads REQUIRED)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

# The same bits everywhere: a fused multiply-add would round once where the contract rounds twice.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)

add_library(tokavg_warnings INTERFACE)
target_compile_options(tokavg_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wconversion> $<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow>
    # g++ 12 warns about its own std::string: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
    $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>>
    $<$<AND:$<BOOL:${TOKAVG_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)

# A sanitizer sees more, and its own run time does not go with these.
if(TOKAVG_HARDENING AND NOT TOKAVG_SANITIZE)
    include(CheckCXXCompilerFlag)
    # Not -fstack-protector-strong, which costs short calls an eighth of their instructions.
    foreach(flag -fstack-protector -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "TOKAVG_HAS${flag}" known)
        check_cxx_compiler_flag(${flag} ${known})
        if(${known})
            add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:${flag}> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${flag}>)
        endif()
    endforeach()
    # It needs an optimised build, and a distribution may have set it already.
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT "${CMAKE_CXX_FLAGS}" MATCHES "_FORTIFY_SOURCE")
        add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-D_FORTIFY_SOURCE=2>)
    endif()
    add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

if(TOKAVG_SANITIZE)
    # The optimiser sees uninitialised values in the sanitizers' own instrumentation.
    add_compile_options(-fsanitize=${TOKAVG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g
                        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    add_link_options(-fsanitize=${TOKAVG_SANITIZE})
endif()
