/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI a process has, found out without loading one. The tests build on one another: a library stays loaded. */
#define _GNU_SOURCE /* RTLD_NOLOAD, access */
#include "support/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/internal_transport.h"

static internal_fault_t fault;

/* An integer communicator, so that nothing of this program is ever taken for an MPI_Comm. */
static void refuses(const char *plugin_path, tokavg_status_t status, const char *text) {
  assert_null(internal_open(TOKAVG_COMM_MPI_FORTRAN, NULL, 0, TOKAVG_PROGRESS_AUTO, plugin_path, &fault));
  if (fault.status != status || strstr(fault.text, text) == NULL) fail_msg("%d: %s", fault.status, fault.text);
}

static int has(const char *soname) { return dlopen(soname, RTLD_NOLOAD | RTLD_LAZY) != NULL; }

static void no_mpi_is_told_at_once(void **state) {
  (void)state;
  refuses("", TOKAVG_ERR_CONFIG,
          "no MPI library is loaded in this process: link the program with MPI and call MPI_Init");
  assert_null(internal_open(TOKAVG_COMM_MPI, NULL, 0, TOKAVG_PROGRESS_AUTO, "", &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_CONFIG);
  assert_non_null(strstr(fault.text, "config.comm is NULL"));
  assert_false(has("libmpi.so.40") || has("libmpich.so.12")); /* and none was loaded to find out */
  char text[512];
  internal_describe_kind(TOKAVG_COMM_MPI, text, sizeof text);
  assert_true(internal_is_json_object(text));
  assert_non_null(strstr(text, "\"loaded\":[]"));
}

/* As Python and Julia load it: nobody else can see its symbols. */
static void a_local_mpi_is_found(void **state) {
  (void)state;
  if (dlopen("libmpi.so.40", RTLD_LOCAL | RTLD_LAZY) == NULL) skip();
  refuses("relative/folder", TOKAVG_ERR_CONFIG, "it has to be an absolute path");
  char text[512];
  internal_describe_kind(TOKAVG_COMM_MPI, text, sizeof text);
  assert_non_null(strstr(text, "\"loaded\":[\"libmpi.so.40\"]"));
  assert_null(internal_open(TOKAVG_COMM_MPI_FORTRAN, NULL, 0, TOKAVG_PROGRESS_AUTO, "/tokavg/nowhere", &fault));
  if (fault.status == TOKAVG_ERR_STATE) return; /* an installed plugin was found */
  assert_int_equal(fault.status, TOKAVG_ERR_NOT_BUILT);
  assert_non_null(strstr(fault.text, "uses Open MPI, but libtokavg_mpi_openmpi.so is not in /tokavg/nowhere, /"));
  assert_non_null(strstr(fault.text, "-DTOKAVG_MPI=ON"));
}

/* The plugin of this build, which has nothing but the local MPI to resolve its symbols. */
static void the_plugin_is_loaded(void **state) {
  (void)state;
  const char *folder = getenv("TOKAVG_PLUGIN_PATH");
  char file[4096];
  snprintf(file, sizeof file, "%s/libtokavg_mpi_openmpi.so", folder == NULL ? "" : folder);
  if (!has("libmpi.so.40") || access(file, R_OK) != 0) skip();
  refuses(folder, TOKAVG_ERR_STATE, "MPI is not initialised");
  refuses("/tokavg/nowhere", TOKAVG_ERR_STATE, "MPI is not initialised"); /* it is in the process now */
  assert_false(has("libmpich.so.12"));
}

static void two_mpis_are_refused(void **state) {
  (void)state;
  if (!has("libmpi.so.40") || dlopen("libmpich.so.12", RTLD_LOCAL | RTLD_LAZY) == NULL) skip();
  refuses("", TOKAVG_ERR_CONFIG, "Open MPI (libmpi.so.40) and MPICH (libmpich.so.12)");
}

int main(void) {
  char text[64];
  internal_describe_kind(TOKAVG_COMM_MPI, text, sizeof text);
  if (text[0] == 0) {
    puts("skipped: this build has no MPI transport (TOKAVG_MPI=OFF)");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_mpi_is_told_at_once),
      cmocka_unit_test(a_local_mpi_is_found),
      cmocka_unit_test(the_plugin_is_loaded),
      cmocka_unit_test(two_mpis_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
