//! A program written for `AnyBackend` runs on the backend selected by features, machine and environment.

mod common;

use std::process::Command;

use coarsen::backend::conformance;
use coarsen::prelude::*;
use coarsen::schwarz::Coarse;
use coarsen::{Error, Unavailable};
use common::{noise, problem, small_sa};

/// The program under test; it does not name a backend.
fn program(backend: &AnyBackend) -> (usize, Vec<f64>) {
    let a = problem("elasticity3d:6").matrix;
    let mut m = small_sa(Cycle::V).build(&a, backend).unwrap();
    let (matrix, b) = (backend.matrix(&a).unwrap(), backend.vector(&noise(a.shape().0, 1)).unwrap());
    let mut x = b.like().unwrap();
    let report = Cg::new(Stop::relative(1e-8)).solve(&matrix, &mut m, &b, &mut x).unwrap();
    let mut host = vec![0.0; a.shape().0];
    backend.read(&x, &mut host).unwrap();
    (report.converged().unwrap().iterations, host)
}

#[test]
fn every_backend_gives_the_same_solution() {
    let backend = AnyBackend::auto().unwrap();
    println!("auto is {backend}");
    let (cpu, auto) = (program(&AnyBackend::choose(BackendChoice::Cpu).unwrap()), program(&backend));
    assert!(cpu.0.abs_diff(auto.0) <= 1);
    let size = cpu.1.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(cpu.1.iter().zip(&auto.1).all(|(a, b)| (a - b).abs() <= 1e-6 * size));
}

/// Multilevel domains are set up, applied and updated on the selected backend.
#[test]
fn domains_use_the_selected_backend() {
    let p = problem("cloth:24");
    let r = noise(p.matrix.shape().0, 3);
    let mut doubled = p.matrix.clone();
    doubled.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let parameters = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
    let apply = |backend: &AnyBackend| {
        let mut m = parameters.build(p.system(), backend).unwrap();
        let (b, mut z) = (backend.vector(&r).unwrap(), backend.vector(&r).unwrap());
        let mut found = [vec![0.0; r.len()], vec![0.0; r.len()]];
        m.apply(&b, &mut z);
        backend.read(&z, &mut found[0]).unwrap();
        m.update(System { matrix: &doubled, ..p.system() }).unwrap();
        m.apply(&b, &mut z);
        backend.read(&z, &mut found[1]).unwrap();
        found
    };
    let cpu = apply(&AnyBackend::choose(BackendChoice::Cpu).unwrap());
    let auto = apply(&AnyBackend::auto().unwrap());
    for (cpu, auto) in cpu.iter().zip(&auto) {
        let size = cpu.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(cpu.iter().zip(auto).all(|(a, b)| (a - b).abs() <= 1e-12 * size));
    }
    let halved = cpu[0].iter().zip(&cpu[1]).all(|(once, twice)| (once - 2.0 * twice).abs() <= 1e-5);
    assert!(halved, "M of 2 A is half of M");
}

#[test]
fn every_primitive_equals_the_reference() {
    conformance::check(&AnyBackend::choose(BackendChoice::Cpu).unwrap(), 1e-14);
    conformance::check(&AnyBackend::auto().unwrap(), 1e-14);
    conformance::check(&AnyBackend::auto().unwrap().mixed(), 1e-6);
}

/// Runs a test of this program with `COARSEN_BACKEND` set.
fn with_backend(name: &str, value: &str) {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("COARSEN_BACKEND", value)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("1 passed"), "{value}: {said}");
}

/// The environment selects the backend, in builds with and without devices.
#[test]
fn the_environment_decides() {
    with_backend("auto_is_the_cpu", "cpu");
    with_backend("auto_is_a_device_or_an_error", "opencl");
    with_backend("auto_with_an_unknown_name_is_an_error", "cuda");
    with_backend("auto_with_a_missing_device_is_an_error", "opencl:99");
}

#[test]
#[ignore = "run by the_environment_decides"]
fn auto_is_the_cpu() {
    assert_eq!(AnyBackend::auto().unwrap().name(), "cpu");
}

#[test]
#[ignore = "run by the_environment_decides"]
fn auto_is_a_device_or_an_error() {
    match AnyBackend::auto() {
        Ok(backend) => {
            assert!(
                cfg!(feature = "opencl")
                    && backend.name() == "opencl"
                    && backend.to_string().contains("opencl: ")
            );
            program(&backend);
        }
        Err(why) => {
            assert!(
                std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none() || !cfg!(feature = "opencl"),
                "{why}"
            );
            assert!(why == Unavailable::NotBuilt || cfg!(feature = "opencl"), "{why}");
        }
    }
}

#[test]
#[ignore = "run by the_environment_decides"]
fn auto_with_an_unknown_name_is_an_error() {
    assert_eq!(AnyBackend::auto().unwrap_err(), Unavailable::Unknown { found: "cuda".to_owned() });
}

#[test]
#[ignore = "run by the_environment_decides"]
fn auto_with_a_missing_device_is_an_error() {
    assert!(AnyBackend::auto().is_err());
}

/// Without the environment variable, a build without devices uses the CPU, and a build with devices uses the
/// first suitable device, if any.
#[test]
fn the_feature_alone_decides() {
    if std::env::var_os("COARSEN_BACKEND").is_some() {
        return println!("skipped: COARSEN_BACKEND is set");
    }
    let name = AnyBackend::auto().unwrap().name();
    let there = AnyBackend::choose(BackendChoice::OpenCl(None)).is_ok();
    assert_eq!(name, if there { "opencl" } else { "cpu" });
    assert!(!there || cfg!(feature = "opencl"));
    let single = AnyBackend::choose_single(BackendChoice::Auto).unwrap();
    let v = single.vector(&[3.0_f32, 4.0]).unwrap();
    assert_eq!((single.name(), v.norm()), (name, 5.0));
    assert!(matches!(single.read(&v, &mut [0.0]), Err(Error::Shape { .. })));
}
