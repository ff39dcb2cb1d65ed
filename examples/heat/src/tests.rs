//! Small runs of the program, and properties of the discretisation.

#[path = "../../../tests/common/data.rs"]
mod data;
#[path = "../../../tests/common/folder.rs"]
mod folder;

use std::f64::consts::PI;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use coarsen::constraints::Dirichlet;
use coarsen::mesh::Mesh;
use coarsen::prelude::*;

use crate::fem::{FemError, Heat};
use crate::options::Options;
use crate::scene::{COLD, HOT, Scene, square};
use crate::{Row, caption, check_steady, exit_code, run};

use clap::Parser;
use folder::Folder;

/// Solves K u = M f with prescribed values at some vertices.
fn steady(heat: &mut Heat, given: &[(usize, f64)], source: impl Fn(usize) -> f64) -> Vec<f64> {
    let n = heat.unknowns();
    let (mut u, mut b) = (vec![0.0; n], vec![0.0; n]);
    heat.load(0.0, &u, source, &mut b);
    Dirichlet::new(n, given.iter().copied()).unwrap().impose(&mut heat.matrix, &mut b).unwrap();
    let mut m = Ic0::default().build(&heat.matrix, &Cpu::new()).unwrap();
    let report = Cg::new(Stop::relative(1e-12)).solve(&heat.matrix, &mut m, &b, &mut u).unwrap();
    let report = report.converged().unwrap();
    assert!(report.iterations < 60, "{report}");
    u
}

/// The vertices on the boundary of the unit square or cube.
fn boundary(mesh: &Mesh, dimension: usize) -> Vec<usize> {
    let outer = |x: &[f64; 3]| x[..dimension].iter().any(|&x| x == 0.0 || x == 1.0);
    (0..mesh.positions.len()).filter(|&v| outer(&mesh.positions[v])).collect()
}

/// The unit cube with n³ cells, each divided into six tetrahedra around a diagonal (Kuhn 1960).
fn cube(n: usize) -> Mesh {
    let m = n + 1;
    let at = |i: usize| i as f64 / n as f64;
    let positions = (0..m * m * m).map(|v| [at(v % m), at(v / m % m), at(v / m / m)]).collect();
    let mut tetrahedra = Vec::new();
    for cell in 0..n * n * n {
        let first = cell % n + m * (cell / n % n + m * (cell / n / n));
        for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let step = [1, m, m * m];
            let path = [0, step[a], step[a] + step[b], step[a] + step[b] + step[c]];
            tetrahedra.push(path.map(|p| (first + p) as u32));
        }
    }
    Mesh { positions, tetrahedra, ..Mesh::default() }
}

/// u = sin πx cos πy solves −∇·((1 + x) ∇u) = f with the f below; halving h reduces the L² error by a factor
/// of four.
#[test]
fn the_error_is_of_second_order() {
    let mut last = None;
    for cells in [8, 16, 32] {
        let mesh = square(cells);
        let exact = |[x, y, _]: [f64; 3]| (PI * x).sin() * (PI * y).cos();
        let source = |[x, y, _]: [f64; 3]| {
            -PI * (PI * x).cos() * (PI * y).cos() + 2.0 * (1.0 + x) * PI * PI * exact([x, y, 0.0])
        };
        let centre =
            |e: usize| mesh.triangles[e].iter().map(|&v| mesh.positions[v as usize][0]).sum::<f64>() / 3.0;
        let mut heat = Heat::new(&mesh).unwrap();
        heat.assemble(0.0, &vec![0.0; heat.unknowns()], |e, _| 1.0 + centre(e));
        let given: Vec<_> = boundary(&mesh, 2).into_iter().map(|v| (v, exact(mesh.positions[v]))).collect();
        let u = steady(&mut heat, &given, |v| source(mesh.positions[v]));
        let square = |v: usize| heat.mass[v] * (u[v] - exact(mesh.positions[v])).powi(2);
        let error = (0..u.len()).map(square).sum::<f64>().sqrt();
        if let Some(last) = last {
            let ratio: f64 = last / error;
            assert!((3.7..4.3).contains(&ratio), "{cells}: {last} / {error} = {ratio}");
        }
        last = Some(error);
    }
    assert!(last.unwrap() < 2e-3);
}

/// Linear functions are solutions, and linear elements represent them exactly: on tetrahedra, and on a tilted
/// plane in space.
#[test]
fn linear_temperatures_are_exact() {
    let tilted = {
        let mut mesh = square(6);
        mesh.positions.iter_mut().for_each(|x| *x = [0.6 * x[0], x[1], 0.8 * x[0]]);
        mesh
    };
    let rim = boundary(&square(6), 2);
    for (mesh, held) in [(cube(4), boundary(&cube(4), 3)), (tilted, rim)] {
        let exact = |[x, y, z]: [f64; 3]| 1.0 + 2.0 * x - y + 0.5 * z;
        let mut heat = Heat::new(&mesh).unwrap();
        let given: Vec<_> = held.into_iter().map(|v| (v, exact(mesh.positions[v]))).collect();
        let u = steady(&mut heat, &given, |_| 0.0);
        assert!(u.iter().zip(&mesh.positions).all(|(u, &x)| (u - exact(x)).abs() < 1e-10));
        assert!((heat.mass.iter().sum::<f64>() - 1.0).abs() < 1e-12); // area or volume
    }
}

/// K is symmetric, its rows sum to zero, and uᵀ K u = |∇u|² |body| for linear u.
#[test]
fn stiffness_is_that_of_the_dirichlet_energy() {
    for mesh in [cube(3), square(5)] {
        let heat = Heat::new(&mesh).unwrap();
        assert!(heat.matrix.asymmetric_pair(1e-14).is_none());
        let n = heat.unknowns();
        let (mut y, u) =
            (vec![0.0_f64; n], mesh.positions.iter().map(|x| 3.0 * x[0] - x[1]).collect::<Vec<_>>());
        heat.matrix.apply(&vec![1.0; n], &mut y);
        assert!(y.iter().all(|y| y.abs() < 1e-13));
        heat.matrix.apply(&u, &mut y);
        assert!((u.iter().zip(&y).map(|(u, y)| u * y).sum::<f64>() - 10.0).abs() < 1e-12);
    }
}

/// Without sources and with a cold boundary, the energy decreases, and every temperature stays in the initial
/// range, because K has no positive off-diagonal entry on a Delaunay grid.
#[test]
fn energy_falls_and_the_maximum_principle_holds() {
    let mesh = square(20);
    let mut heat = Heat::new(&mesh).unwrap();
    let n = heat.unknowns();
    let cold = Dirichlet::new(n, boundary(&mesh, 2).into_iter().map(|v| (v, 0.0))).unwrap();
    let mut u: Vec<f64> = (0..n).map(|v| if !cold.is_fixed(v) && v % 7 < 3 { 1.0 } else { 0.0 }).collect();
    let mut b = vec![0.0; n];
    let mut m = GaussSeidel::default().build(&heat.matrix, &Cpu::new()).unwrap();
    let start = heat.energy(&u);
    let mut energy = start;
    for dt in [1e-4, 1e-4, 1e-3, 1e-2, 1e-1] {
        heat.assemble(1.0 / dt, &u, |_, u| 1.0 / (1.0 + u));
        let pattern = heat.matrix.pattern();
        let off =
            |i: usize| pattern.row(i).iter().zip(pattern.range(i)).filter(move |(j, _)| **j as usize != i);
        assert!((0..n).all(|i| off(i).all(|(_, k)| heat.matrix.values()[k] <= 1e-15)));
        heat.load(1.0 / dt, &u, |_| 0.0, &mut b);
        cold.impose(&mut heat.matrix, &mut b).unwrap();
        assert_eq!(m.update(&heat.matrix).unwrap(), Reused::Structure);
        let mut cg = Cg::new(Stop::relative(1e-12));
        let _ = cg.solve(&heat.matrix, &mut m, &b, &mut u).unwrap().converged().unwrap();
        let next = heat.energy(&u);
        assert!(next < energy, "{next} after {energy}");
        assert!(u.iter().all(|u| (-1e-10..=1.0).contains(u)));
        energy = next;
    }
    assert!(energy < 0.1 * start, "{energy} of {start}");
}

/// Runs the program with its own output folder.
fn program(name: &str, arguments: &[&str]) -> Vec<Row> {
    let out = Folder::new(name);
    let options = Options::parse_from(["heat", "--out", out.path()].iter().chain(arguments));
    let rows = run(Cpu::new(), &options).unwrap();
    assert_eq!(out.0.join("heat.gif").exists(), !options.steady);
    assert!(out.0.join("heat.png").exists());
    rows
}

fn within_the_given(rows: &[Row]) -> bool {
    rows.iter().all(|r| r.range[0] > COLD - 1e-5 && r.range[1] < HOT + 1e-5)
}

#[test]
fn a_plate_warms_up() {
    let rows = program("plate", &["--grid", "24", "--steps", "9"]); // the last with another time step
    assert!(rows.len() == 9 && within_the_given(&rows));
    assert!(rows.iter().all(|r| r.report.iterations <= 10));
    assert!(rows.windows(2).all(|pair| pair[1].energy > pair[0].energy));
}

#[test]
fn the_steady_state_is_found_and_stays() {
    let rows = program("steady", &["--grid", "24", "--steady"]);
    assert!(rows.len() < 12 && within_the_given(&rows));
    assert_eq!(rows[rows.len() - 1].report.iterations, 0);
    assert!(rows[0].report.iterations <= 12 && rows[0].report.iterations > rows[2].report.iterations);
    // With multigrid, sixteen times as many unknowns take hardly more iterations.
    let fine = program("fine", &["--grid", "96", "--steady", "--steps", "1"]);
    assert!(fine[0].report.iterations <= rows[0].report.iterations + 3);
    // One iteration is no steady state.
    assert!(check_steady(&rows, false).is_ok() && check_steady(&[], true).is_err());
    assert_eq!(exit_code(&check_steady(&[], true).unwrap_err()), 4);
    assert_eq!(check_steady(&fine, false).unwrap_err().iterations, 1);
    // Without a conductivity that depends on the temperature, it is.
    assert!(check_steady(&fine, true).is_ok());
    let steady = Options::parse_from(["heat", "--steady"]);
    assert_eq!(caption(&steady, &rows, 0.0), "steady state");
    assert_eq!(caption(&steady, &fine, 0.0), "iteration 1, not steady");
}

#[test]
fn threads_do_not_change_bits() {
    let energy = |n| {
        let run = || program(&format!("threads{n}"), &["--grid", "180", "--steps", "2"])[1].energy;
        threads(n, run).unwrap().to_bits()
    };
    assert_eq!(energy(1), energy(3));
}

#[test]
fn real_meshes_conduct() {
    let Some(folder) = data::data() else { return };
    for name in ["c3d_spot.obj.gz", "gpuipc_bunny.msh.gz"] {
        let file = folder.join("meshes").join(name);
        let rows = program(name, &["--mesh", file.to_str().expect("a path in text"), "--steps", "2"]);
        assert!(rows.iter().all(|r| r.report.iterations <= 12), "{name}");
        let steady = program(name, &["--mesh", file.to_str().expect("a path in text"), "--steady"]);
        assert!(steady[0].report.iterations <= 25, "{name}");
    }
}

#[test]
fn arguments_out_of_range_are_refused() {
    let wrong = [["--dt", "0"], ["--dt", "inf"], ["--beta", "nan"], ["--grid", "0"], ["--grid", "70000"]];
    for [name, value] in wrong {
        assert!(Options::try_parse_from(["heat", name, value]).is_err(), "{name} {value}");
    }
    assert!(Options::try_parse_from(["heat", "--dt=-1"]).is_err());
    assert!(Options::try_parse_from(["heat", "--mesh", "a.obj", "--azimuth", "nan"]).is_err());
    assert_eq!(Options::parse_from(["heat", "--mesh", "a.obj", "--azimuth", "-30"]).azimuth, -30.0);
}

#[test]
fn meshes_that_conduct_nothing_are_named() {
    let fail = |mesh: &Mesh| Heat::new(mesh).err().expect("an error");
    assert!(matches!(fail(&Mesh::default()), FemError::Empty));
    let mut flat = square(1);
    flat.positions[3] = flat.positions[0];
    assert!(matches!(fail(&flat), FemError::Flat { element: 0, .. }), "{}", fail(&flat));
    let mut unused = square(1);
    unused.positions.push([2.0; 3]);
    assert!(matches!(fail(&unused), FemError::Unused { vertex: 4 }));
}

/// If a file has tetrahedra, they alone conduct: other triangles and their vertices are left out.
#[test]
fn triangles_beside_tetrahedra_are_left_out() {
    let folder = Folder::new("beside");
    let text = "MeshVersionFormatted 1\nDimension 3\nVertices 7\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n5 0 0 0\n6 0 0 0\n\
                5 1 0 0\nTriangles 1\n5 6 7 0\nTetrahedra 1\n1 2 3 4 0\nEnd\n";
    let scene = Scene::read(Path::new(&folder.write("beside.mesh", text)), 0.0).unwrap();
    assert_eq!((scene.mesh.positions.len(), scene.length), (4, 1.0));
    assert_eq!(Heat::new(&scene.mesh).unwrap().unknowns(), 4);
}

/// The pixels of a picture file.
fn pixels(file: &Path) -> Vec<u8> {
    let decoder = png::Decoder::new(BufReader::new(File::open(file).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    pixels.truncate(frame.buffer_size());
    pixels
}

/// The backend changes only round-off; the printed table and the picture are the same. The last step has another time step.
#[test]
fn every_backend_gives_the_same_table_and_picture() {
    let folder = Folder::new("places");
    let out = &folder.0;
    let run_on = |name: &str| -> Vec<Row> {
        let backend = AnyBackend::choose(name.parse().unwrap()).unwrap();
        let required = cfg!(feature = "opencl") && std::env::var_os("COARSEN_REQUIRE_OPENCL").is_some();
        assert!(name == "cpu" || !required || backend.to_string().starts_with("opencl"), "{backend}");
        let out = out.join(name);
        let options =
            Options::parse_from(["heat", "--grid", "24", "--steps", "9", "--out", out.to_str().unwrap()]);
        run(backend, &options).unwrap()
    };
    let (cpu, auto) = (run_on("cpu"), run_on("auto"));
    let picture = |name: &str| pixels(&out.join(name).join("heat.png"));
    let pictures = (picture("cpu"), picture("auto"));
    for (cpu, auto) in cpu.iter().zip(&auto) {
        assert!(cpu.report.iterations.abs_diff(auto.report.iterations) <= 1, "{cpu}\n{auto}");
        assert!((cpu.energy - auto.energy).abs() <= 1e-6 * cpu.energy, "{cpu}\n{auto}");
    }
    // A value at the boundary between two colours may be rounded to either.
    let other = pictures.0.iter().zip(&pictures.1).filter(|(cpu, auto)| cpu.abs_diff(**auto) > 1).count();
    assert!(!pictures.0.is_empty() && pictures.0.len() == pictures.1.len());
    assert!(other <= pictures.0.len() / 1000, "{other} of {} differ", pictures.0.len());
}
