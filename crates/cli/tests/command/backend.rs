//! `--backend` and `devices`, with and without OpenCL.

use crate::common::{Done, Folder, coarsen, command, ended, fails, solve};

/// Whether this build supports devices and this machine has a device. Fails if there is none and the
/// environment requires one.
pub(crate) fn has_device() -> bool {
    let done = coarsen("devices");
    let has = done.code == 0;
    assert!(has || done.code == 5, "{}", done.err);
    let required = cfg!(feature = "opencl") && std::env::var_os("COARSEN_REQUIRE_OPENCL").is_some();
    assert!(has || !required, "{}", done.err);
    if !has {
        println!("skipped: {}", done.err);
    }
    has
}

/// Without the OpenCL library or the feature: exit code 5, with a remedy.
#[test]
fn a_missing_backend_is_told() {
    for words in ["devices", "solve --backend opencl", "compare --backend cpu,opencl"] {
        let Done { code, err, .. } = ended(command(words).env("COARSEN_OPENCL_LIB", "/nonexistent"));
        let cure = if cfg!(feature = "opencl") { "install a driver" } else { "Cargo feature `opencl`" };
        assert!(code == 5 && err.contains(cure), "{err}");
    }
}

#[test]
fn names_of_no_backend_are_refused() {
    for name in ["cuda", "opencl:", "opencl:x"] {
        fails(&format!("solve --backend {name}"), 2, "opencl:N");
    }
}

#[test]
fn auto_is_what_the_environment_says() {
    let folder = Folder::new();
    let report = folder.path("r.json");
    let words = format!("solve --problem poisson2d:20 --backend auto --report {}", report.display());
    assert_eq!(ended(command(&words).env("COARSEN_BACKEND", "cpu")).code, 0);
    assert!(std::fs::read_to_string(report).unwrap().contains("\"backend\": \"cpu\""));
}

#[test]
fn a_device_solves_what_the_cpu_solves() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    for words in [
        "--problem elasticity3d:6 --precond sa --sa-smoother chebyshev", // the default smoother depends on the backend
        "--problem elasticity3d:6 --precond sa --sa-smoother jacobi",
        "--problem poisson2d:40 --precond chebyshev --precision f64",
        "--problem cloth:20 --precond gs --precision mixed",
        "--problem poisson2d:40 --precond jacobi --tol 1e-3 --precision f32",
        "--problem poisson2d:90 --sa-smoother chebyshev",
    ] {
        let (cpu, here) = solve(&folder, &format!("{words} --method cg"));
        let (device, there) = solve(&folder, &format!("{words} --method cg --backend opencl"));
        assert_eq!((cpu.code, device.code), (0, 0), "{words}: {} {}", cpu.err, device.err);
        assert_eq!((&here["backend"], &there["backend"]), (&"cpu".into(), &"opencl".into()));
        let [here, there] = [&here, &there].map(|r| r["iterations"].as_i64().unwrap());
        assert!((here - there).abs() <= 1 + here / 20, "{words}: {here} and {there}");
        assert!(device.out.contains("on "), "{words}: names its device: {}", device.out);
    }
    let done = coarsen("compare --problem poisson2d:30 --backend cpu,opencl");
    assert!(done.code == 0 && done.out.contains("cg + sa, opencl") && done.out.contains("cg + sa, cpu"));
}

/// Multilevel domains in every precision take as many iterations as on the CPU, plus or minus one.
#[test]
fn a_device_applies_domains() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    for words in [
        "--problem cloth:30 --mas-coarse domains --precision f64",
        "--problem cloth:30 --mas-coarse domains --precision mixed",
        "--problem cloth:30 --mas-coarse domains --precision f32 --tol 1e-4",
        "--problem cloth:30 --mas-coarse exact --precision f64",
        "--problem poisson2d:40 --mas-coarse domains",
    ] {
        let words = format!("{words} --method cg --precond mas --quiet");
        let (cpu, here) = solve(&folder, &words);
        let (device, there) = solve(&folder, &format!("{words} --backend opencl"));
        assert_eq!((cpu.code, device.code), (0, 0), "{words}: {} {}", cpu.err, device.err);
        let [k, l] = [&here, &there].map(|r| r["iterations"].as_i64().unwrap());
        assert!((k - l).abs() <= 1, "{words}: {k} and {l}");
        assert_eq!(here["levels"], there["levels"], "{words}");
        assert_eq!((&there["backend"], &there["precond"]), (&"opencl".into(), &"mas".into()), "{words}");
    }
    let done = coarsen("compare --problem cloth:16 --backend cpu,opencl --mas-coarse domains");
    assert!(done.code == 0 && done.out.contains("cg + mas, opencl") && done.out.contains("cg + mas, cpu"));
}

/// The second of two devices, if PoCL shows the processor as two.
#[test]
fn a_device_is_taken_by_its_number() {
    if !has_device() {
        return;
    }
    let run = |words: &str| ended(command(words).env("POCL_DEVICES", "pthread pthread"));
    let listed = run("devices").out;
    if listed.contains("Portable Computing") {
        assert!(listed.contains("opencl:0") && listed.contains("opencl:1"), "{listed}");
        let done = run("solve --problem poisson2d:30 --backend opencl:1");
        assert!(done.code == 0 && done.out.contains("on pthread"), "{}", done.out);
    }
}

#[test]
fn methods_of_the_cpu_alone_are_refused_on_devices() {
    if !has_device() {
        return;
    }
    for (words, names) in [("--precond ic0 --method cg", "ic0"), ("--method direct", "--backend")] {
        fails(&format!("solve --problem poisson2d:30 --backend opencl {words}"), 2, names);
    }
    fails("solve --problem poisson2d:10 --backend opencl:99", 5, "99");
}
