/* SPDX-License-Identifier: Apache-2.0 */
/* The contract cases as ../README.md writes them, read word by word. */
#ifndef TOKAVG_TESTS_LANG_C_CASES_H
#define TOKAVG_TESTS_LANG_C_CASES_H

#include <stdint.h>
#include <stdio.h>
#include <tokavg/tokavg.h>

/* One call's arrays in the types that the library is to read. */
typedef struct call {
  tokavg_labels_t labels;
  tokavg_array_t losses; /* data NULL: none */
  int discard;
} call_t;

typedef struct rank_input {
  call_t *calls;
  int n_calls, done, asks_only;
} rank_input_t;

typedef struct step {
  rank_input_t *ranks;
  int error, losses;
} step_t;

typedef struct contract_case {
  char id[64];
  int ranks, self, n_steps;
  tokavg_config_t config; /* without the communicator */
  step_t *steps;
} contract_case_t;

/* The number of cases at the head of the file. Exits with a text where the file is not what it should be, as all do
 * here. */
int read_count(FILE *file);
void read_case(FILE *file, contract_case_t *into);
void free_case(contract_case_t *c);

#endif
