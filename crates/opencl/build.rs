//! Satisfies the `-lOpenCL` of `cl-sys` with an empty archive; the functions are in `src/forward.rs`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    for name in ["libOpenCL.a", "OpenCL.lib"] {
        std::fs::write(out.join(name), "!<arch>\n")?;
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    Ok(())
}
