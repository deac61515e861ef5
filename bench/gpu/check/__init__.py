# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu-check consists of."""
