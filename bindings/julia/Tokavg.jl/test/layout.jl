# SPDX-License-Identifier: Apache-2.0
# The structs of the package against those of a C compiler: TOKAVG_LANG_LAYOUT names a library with `int64_t lang_layout(name)`.
import Libdl

place_of(lookup, what) = ccall(lookup, Int64, (Cstring,), what)

@testset "structs" begin
    path = get(ENV, "TOKAVG_LANG_LAYOUT", "")
    if isempty(path)
        @info "skipped: TOKAVG_LANG_LAYOUT is not set"
    else
        lookup = Libdl.dlsym(Libdl.dlopen(path), :lang_layout)
        @test place_of(lookup, "no_such_struct") == -1
        for struct_type in C.STRUCTS
            name = String(nameof(struct_type))
            @test place_of(lookup, name) == sizeof(struct_type)
            for i in 1:fieldcount(struct_type)
                @test place_of(lookup, "$name.$(fieldname(struct_type, i))") == fieldoffset(struct_type, i)
            end
        end
    end
end

@testset "sizes are filled in" begin
    for struct_type in C.STRUCTS
        hasfield(struct_type, :struct_size) && @test struct_type().struct_size == sizeof(struct_type)
    end
end

@testset "functions" begin
    Tokavg.version() # loads the library
    @test all(entry -> entry.address != C_NULL, C.ENTRIES)
    @test length(C.ENTRIES) == 25
end
