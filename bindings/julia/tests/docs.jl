# SPDX-License-Identifier: Apache-2.0
# docs.jl FILE.md: runs the Julia blocks of a text, one after the other in one module.
function blocks(path)
    found, open_at, lines = Tuple{Int,String}[], 0, String[]
    for (number, line) in enumerate(eachline(path))
        if open_at == 0
            line == "```julia" && (open_at = number; empty!(lines))
        elseif line == "```"
            push!(found, (open_at, join(lines, '\n')))
            open_at = 0
        else
            push!(lines, line)
        end
    end
    return found
end

found = blocks(ARGS[1])
isempty(found) && error("no block was found")
reader = Module(:Reader)
for (line, text) in found
    println("the block of line ", line)
    Base.include_string(reader, text, "$(ARGS[1]):$line")
end
println(length(found), " blocks")
