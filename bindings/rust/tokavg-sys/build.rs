// SPDX-License-Identifier: Apache-2.0
//! Finds libtokavg: the prefix TOKAVG_DIR, else pkg-config.
use std::env;
use std::path::PathBuf;
use std::process::{exit, Command};

fn main() {
    for variable in ["TOKAVG_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    // Documentation is built without the library.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let found = match env::var_os("TOKAVG_DIR") {
        Some(prefix) => in_prefix(PathBuf::from(prefix)),
        None => by_pkg_config(),
    };
    if let Err(reason) = found {
        eprintln!(
            "\ntokavg-sys cannot find the library tokavg: {reason}\n\
             Install tokavg and set TOKAVG_DIR to its prefix (the folder that holds lib/libtokavg.so), or\n\
             PKG_CONFIG_PATH to its lib/pkgconfig.\n"
        );
        exit(1);
    }
}

fn in_prefix(prefix: PathBuf) -> Result<(), String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let folders = ["lib".into(), "lib64".into(), format!("lib/{arch}-linux-gnu")].map(|folder| prefix.join(folder));
    let has_library =
        |folder: &&PathBuf| ["libtokavg.so", "libtokavg.dylib"].iter().any(|name| folder.join(name).exists());
    match folders.iter().find(has_library) {
        Some(folder) => link(&folder.display().to_string()),
        None => return Err(format!("TOKAVG_DIR is {}, which holds no lib/libtokavg.so", prefix.display())),
    }
    println!("cargo:rustc-link-lib=dylib=tokavg");
    Ok(())
}

fn by_pkg_config() -> Result<(), String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&program)
        .args(["--libs", "--print-errors", "tokavg >= 1.0"])
        .output()
        .map_err(|error| format!("TOKAVG_DIR is not set, and {program} does not run: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("TOKAVG_DIR is not set, and {program} says:\n{}", text.trim_end()));
    }
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            link(folder);
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
    Ok(())
}

/// Crates that depend on this one get the folder as DEP_TOKAVG_LIB.
fn link(folder: &str) {
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:lib={folder}");
}
