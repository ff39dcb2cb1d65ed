//! The kernels as CUDA (`benches/gpu/cuda`). Without a GPU an error with a reason is returned at once. On a
//! GPU simulated with g++, the results equal those of the CPU.

use coarsen_smoothed_aggregation::tamstorf;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coarsen_backend::{Backend, Cpu, conformance};
use coarsen_core::{Preconditioner, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_multigrid::Multigrid;
use coarsen_opencl::{
    DeviceJacobi, DeviceSchwarz, DeviceStream, DeviceVector, OpenCl, OpenClError, StructureSource,
    default_device, devices,
};
use coarsen_problems::{Options, Problem};
use coarsen_schwarz::{Coarse, Schwarz};

/// Returns the library of OpenCL over CUDA, which a plain `cargo test` builds with the examples.
fn library() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let library = test.ancestors().nth(2).unwrap().join("examples/libopencl_on_cuda.so");
    if library.exists() {
        return Some(library);
    }
    println!("skipped: {} is not built", library.display());
    None
}

/// Runs a test of this file with this library; CUDA is searched in `folder` too.
fn over_cuda(library: &Path, folder: &Path, name: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", name, "--nocapture"])
        .env("COARSEN_OPENCL_LIB", library)
        .env("COARSEN_CACHE", "")
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .unwrap()
}

fn passed(done: &Output) {
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn without_cuda_it_says_what_is_missing() {
    let Some(library) = library() else { return };
    let done = over_cuda(&library, Path::new("/nonexistent"), "without_a_platform_there_is_no_backend");
    passed(&done);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("opencl_on_cuda: ") || said.contains("a GPU"), "{said}");
}

#[test]
#[ignore = "run by without_cuda_it_says_what_is_missing"]
fn without_a_platform_there_is_no_backend() {
    match default_device::<f64>() {
        Err(OpenClError::Absent(why)) => assert!(why.to_string().contains("no platform"), "{why}"),
        Err(why) => panic!("{why}"),
        Ok(backend) => eprintln!("a GPU: {}", backend.device()),
    }
}

#[test]
#[ignore = "10 s: run by .ci/full"]
fn long_kernels_are_cuda_too() {
    let Some(library) = library() else { return };
    let folder = std::env::temp_dir().join(format!("coarsen-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/gpu/cuda/fake.cpp");
    let driver = folder.join("libcuda.so.1");
    let compiled = Command::new("g++")
        .args(["-std=c++17", "-O1", "-shared", "-fPIC", "-o"])
        .args([&driver, &source])
        .arg("-ldl")
        .env("TMPDIR", &folder)
        .status();
    match compiled {
        Ok(status) => assert!(status.success()),
        Err(why) => return println!("skipped: g++ ({why})"),
    }
    std::fs::copy(&driver, folder.join("libnvrtc.so.13")).unwrap();
    let done = over_cuda(&library, &folder, "a_simulated_gpu_equals_the_cpu");
    std::fs::remove_dir_all(&folder).unwrap();
    passed(&done);
}

/// Tests a matrix that is assembled on the GPU from a stream of blocks. Also tests the diagonal inverses and
/// the Galerkin products of a hierarchy, which are computed from this matrix.
fn assembled_there(backend: &OpenCl<f64>) {
    let p = Problem::parse("poisson2d:12", &Options::default()).unwrap();
    let (pattern, n) = (p.matrix.pattern(), p.matrix.pattern().rows());
    let r = conformance::noise(n, 2);
    let applied = |m: &mut dyn Preconditioner<DeviceVector<f64>>| {
        let (r, mut z, mut found) = (backend.vector(&r).unwrap(), backend.zeros(n).unwrap(), vec![0.0; n]);
        m.apply(&r, &mut z);
        backend.read(&z, &mut found).unwrap();
        found
    };
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()));
    let parameters = Multigrid { coarse_size: 20, ..tamstorf() };
    let mut m = parameters.build(p.system(), backend).unwrap();
    assert!(m.levels() > 1);
    let mut plan = m.numeric_plan().unwrap();
    let expected = applied(&mut m);

    let places: Vec<(u32, u32)> =
        (0..n).flat_map(|i| pattern.row(i).iter().map(move |&j| (i as u32, j))).collect();
    let mut stream = DeviceStream::of_blocks(backend, n, places.len()).unwrap();
    stream.write_blocks(&places).unwrap();
    let twice: Vec<f64> = p.matrix.values().iter().map(|v| 2.0 * v).collect();
    let (mut a, mut host) = (backend.matrix(&p.matrix).unwrap(), p.matrix.clone());
    a.assemble(&stream, &backend.vector(&twice).unwrap()).unwrap();
    a.check().unwrap();
    a.read_values(&mut host).unwrap();
    assert_eq!(host.values(), twice);

    m.update_on_device(&a, &mut plan).unwrap();
    let halved: Vec<f64> = applied(&mut m).iter().map(|v| 2.0 * v).collect();
    assert!(close(&halved, &expected), "hierarchy");
    let mut jacobi = DeviceJacobi::new(&a, 1.0).unwrap();
    let expected: Vec<f64> = (0..n).map(|i| r[i] / host.get(i, i)).collect();
    assert!(close(&applied(&mut jacobi), &expected), "block Jacobi");
}

/// Tests vectors, products, assembly and updates from the assembled matrix. Also tests conjugate gradients
/// with domains whose structure and inverses are computed on the GPU.
#[test]
#[ignore = "run by long_kernels_are_cuda_too"]
fn a_simulated_gpu_equals_the_cpu() {
    let device = &devices().unwrap()[0];
    assert!(device.accelerator && device.platform.contains("CUDA through NVRTC"), "{device}");
    let backend = OpenCl::<f64>::new(device).unwrap();
    conformance::vectors(&backend, 1e-14);
    assembled_there(&backend);
    let p = Problem::parse("cloth:12", &Options::default()).unwrap();
    let b = p.right_hand_side(1);
    let stop = Stop::relative(1e-8);
    let parameters = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
    let mut x = vec![0.0; b.len()];
    let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
    let here = Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x).unwrap().converged().unwrap();
    for structure in [StructureSource::Host, StructureSource::Device] {
        let mut m = DeviceSchwarz { schwarz: parameters, structure, ..DeviceSchwarz::default() }
            .build(p.system(), &backend)
            .unwrap();
        let (a, b, mut y) = (
            backend.matrix(&p.matrix).unwrap(),
            backend.vector(&b).unwrap(),
            backend.zeros(b.len()).unwrap(),
        );
        let there = Cg::new(stop).solve(&a, &mut m, &b, &mut y).unwrap().converged().unwrap();
        let mut found = vec![0.0; x.len()];
        backend.read(&y, &mut found).unwrap();
        let size = x.norm();
        let gap: f64 = x.iter().zip(&found).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
        assert!(gap <= 1e-6 * size, "{structure:?}: {gap:e} of {size:e}");
        if structure == StructureSource::Host {
            assert!(here.iterations.abs_diff(there.iterations) <= 1, "{here}, {there}");
        }
    }
}
