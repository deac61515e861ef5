# SPDX-License-Identifier: Apache-2.0
# For the examples: a number that is not what was worked out by hand ends the program.
function check_number(what, got, by_hand)
    print("$what: $got (by hand: $by_hand)\n") # one piece, since ranks share the terminal
    isapprox(got, by_hand; rtol=1e-6) || exit(1)
end
