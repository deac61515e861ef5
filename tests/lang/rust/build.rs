// SPDX-License-Identifier: Apache-2.0
//! Links the little of MPI that the driver needs: TOKAVG_LANG_LIBS names shared libraries of the C tests.
use std::env;

fn main() {
    println!("cargo:rerun-if-env-changed=TOKAVG_LANG_LIBS");
    println!("cargo:rerun-if-env-changed=TOKAVG_DIR");
    for library in env::var("TOKAVG_LANG_LIBS").unwrap_or_default().split(':').filter(|path| !path.is_empty()) {
        let folder = std::path::Path::new(library).parent().expect("a path").display().to_string();
        println!("cargo:rustc-link-arg-bins={library}");
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
    // The tests run beside the library that was built, not installed.
    if let Ok(prefix) = env::var("TOKAVG_DIR") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{prefix}/lib");
    }
}
