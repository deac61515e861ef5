// SPDX-License-Identifier: Apache-2.0
//! Links mpi.rs's helper: TOKAVG_LANG_LIBS is tests/lang/mpi/lang_mpi.c as a shared library, made by the mpicc of your MPI.
fn main() {
    println!("cargo:rerun-if-env-changed=TOKAVG_LANG_LIBS");
    println!("cargo:rerun-if-env-changed=TOKAVG_DIR");
    for library in std::env::var("TOKAVG_LANG_LIBS").unwrap_or_default().split(':').filter(|path| !path.is_empty()) {
        let folder = std::path::Path::new(library).parent().expect("a path").display().to_string();
        println!("cargo:rustc-link-arg={library}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    if let Ok(prefix) = std::env::var("TOKAVG_DIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{prefix}/lib");
    }
}
