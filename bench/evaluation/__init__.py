# SPDX-License-Identifier: Apache-2.0
"""What the measured files mean: facts of the machine, goals, table, plots. Only the standard library."""
