//! Invariants of multilevel domains: explicit triple products, plain loops, patch and update, disjoint bodies.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reference};
use coarsen_core::{LinearOperator, Preconditioner};
use coarsen_problems::{Options, Sequence};
use coarsen_schwarz::{Coarse, Coupling, DampedDomains, Order, Plan, Schwarz, Storage, Weights};
use coarsen_sparse::{Bsr, System, assembly};

use crate::common::{applied, difference, exact, problem, problems};

/// Returns C_l A C_lᵀ by plain loops over all blocks.
fn explicit(a: &Bsr<f64>, plan: &Plan, level: usize) -> Vec<f64> {
    let (b, n) = (a.block().0, plan.nodes(level));
    let mut dense = vec![0.0; n * b * n * b];
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            let (Some(s), Some(t)) = (plan.map(level, i), plan.map(level, j)) else { continue };
            for (k, v) in block.iter().enumerate() {
                dense[(s * b + k / b) * n * b + t * b + k % b] += v;
            }
        }
    }
    dense
}

#[test]
fn level_matrices_are_triple_products() {
    for p in problems() {
        let m = exact().build(p.system(), &Cpu::new()).unwrap();
        assert!(m.plan().levels() > 1, "{}", p.name);
        for level in 1..m.plan().levels() {
            let (expected, a) = (explicit(&p.matrix, m.plan(), level), m.matrix(level).unwrap());
            let n = a.shape().0;
            let largest = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (at, v) in expected.iter().enumerate() {
                assert!((a.get(at / n, at % n) - v).abs() < 1e-12 * largest, "{}: level {level}", p.name);
            }
        }
    }
}

/// z = Σ_l C_lᵀ Σ_d S_dᵀ (S_d A_l S_dᵀ)⁻¹ S_d C_l r: the part of every domain solves its explicit matrix.
#[test]
fn one_application_is_the_sum_of_exact_solves() {
    for p in problems() {
        let mut m = exact().build(p.system(), &Cpu::new()).unwrap();
        let (b, n, r) = (m.plan().block(), p.matrix.shape().0, noise(p.matrix.shape().0, 3));
        let z = applied(&mut m, &r);
        let plan = m.plan();
        let mut sum = vec![0.0; n];
        for &i in plan.left_out() {
            for k in i as usize * b..(i as usize + 1) * b {
                sum[k] = r[k] / p.matrix.get(k, k);
            }
        }
        for level in 0..plan.levels() {
            let (a, size) = (explicit(&p.matrix, plan, level), plan.nodes(level) * b);
            let mut coarse = vec![0.0; size];
            for i in 0..n {
                if let Some(s) = plan.map(level, i / b) {
                    coarse[s * b + i % b] += r[i];
                }
            }
            for d in 0..plan.domains(level) {
                let rows: Vec<usize> = plan
                    .members(level, d)
                    .iter()
                    .flat_map(|&s| (0..b).map(move |k| s as usize * b + k))
                    .collect();
                let entries: Vec<(u32, u32, f64)> = (0..rows.len().pow(2))
                    .map(|at| (at / rows.len(), at % rows.len()))
                    .map(|(i, j)| (i as u32, j as u32, a[rows[i] * size + rows[j]]))
                    .collect();
                let small = assembly::from_triplets(rows.len(), rows.len(), &entries).unwrap();
                let mut factor = coarsen_direct::Direct::default().factor(&small).unwrap();
                let part: Vec<f64> = rows.iter().map(|&row| coarse[row]).collect();
                let mut solution = vec![0.0; rows.len()];
                factor.solve(&part, &mut solution).unwrap();
                for i in 0..n {
                    if let Some(at) =
                        plan.map(level, i / b).and_then(|s| rows.iter().position(|&row| row == s * b + i % b))
                    {
                        sum[i] += solution[at];
                    }
                }
            }
        }
        assert!(difference(&z, &sum) < 1e-8, "{}: {:.1e}", p.name, difference(&z, &sum));
    }
}

#[test]
fn backends_agree() {
    for p in problems() {
        for parameters in
            [Schwarz::multilevel(), exact(), Schwarz { coarse: Coarse::Exact { unknowns: 150 }, ..exact() }]
        {
            let r = noise(p.matrix.shape().0, 3);
            let plain = applied(&mut parameters.build(p.system(), &Reference::default()).unwrap(), &r);
            let cpu = applied(&mut parameters.build(p.system(), &Cpu::new()).unwrap(), &r);
            let mixed = applied(&mut parameters.build(p.system(), &Cpu::mixed()).unwrap(), &r);
            assert!(difference(&cpu, &plain) < 1e-12, "{}: {:.1e}", p.name, difference(&cpu, &plain));
            assert_eq!(cpu, mixed);
            let mut single = parameters.build(p.system(), &Cpu::single()).unwrap();
            let (r_f32, mut z) = (r.iter().map(|&v| v as f32).collect::<Vec<_>>(), vec![0.0_f32; r.len()]);
            single.apply(&r_f32, &mut z);
            let z_f64: Vec<f64> = z.iter().map(|&v| f64::from(v)).collect();
            assert!(difference(&z_f64, &plain) < 1e-4, "{}: {:.1e}", p.name, difference(&z_f64, &plain));
        }
    }
}

#[test]
fn one_domain_is_solved_exactly() {
    let p = problem("poisson2d:5");
    let (x, mut b) = (noise(25, 1), vec![0.0; 25]);
    p.matrix.apply(&x, &mut b);
    let mut m = exact().build(&p.matrix, &Cpu::new()).unwrap();
    assert_eq!(m.plan().levels(), 2); // 25 nodes in domains of 16
    let mut m32 = Schwarz { domain: 32, ..exact() }.build(&p.matrix, &Cpu::new()).unwrap();
    assert_eq!(m32.plan().levels(), 1);
    assert!(difference(&applied(&mut m32, &b), &x) < 1e-12);
    assert!(difference(&applied(&mut m, &b), &x) > 1e-3);
}

/// Two sheets, one above the other: a force on one sheet does not move the other (Fig. 6).
#[test]
fn disjoint_bodies_do_not_couple() {
    let p = problem("cloth:15");
    let n = p.matrix.pattern().rows();
    let mut entries = Vec::new();
    for body in 0..2 {
        for i in 0..3 * n {
            entries.extend(p.matrix.row(i / 3).flat_map(|(j, block)| {
                (0..3).map(move |c| {
                    ((body * 3 * n + i) as u32, (body * 3 * n + 3 * j + c) as u32, block[i % 3 * 3 + c])
                })
            }));
        }
    }
    let both = assembly::from_triplets(6 * n, 6 * n, &entries)
        .unwrap()
        .reblock((3, 3), coarsen_sparse::Zeros::Keep)
        .unwrap();
    let above = p.positions.iter().map(|x| [x[0], x[1], x[2] + 1e-4]);
    let positions: Vec<[f64; 3]> = p.positions.iter().copied().chain(above).collect();
    let mut m = Schwarz::multilevel()
        .build(System { positions: Some(&positions), ..System::from(&both) }, &Cpu::new())
        .unwrap();
    let mut r = noise(6 * n, 4);
    r[3 * n..].fill(0.0);
    let z = applied(&mut m, &r);
    assert!(z[3 * n..].iter().all(|v| *v == 0.0) && z[..3 * n].iter().any(|v| *v != 0.0));
}

#[test]
fn order_and_domains_are_refreshed_as_asked() {
    let p = problem("cloth:21");
    let parameters = Schwarz { refresh: std::num::NonZeroUsize::new(3), ..Schwarz::multilevel() };
    let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
    let ages: Vec<usize> = (0..7).map(|_| (m.update(p.system()).unwrap(), m.age()).1).collect();
    assert_eq!(ages, [1, 2, 0, 1, 2, 0, 1]);
    assert!(m.to_string().contains("chosen 1 updates and patches ago, anew every 3"), "{m}");
}

#[test]
fn an_unconstrained_body_is_repaired_and_reported() {
    // A pure Neumann problem: every row sums to zero.
    let mut entries = Vec::new();
    for i in 0..200_u32 {
        let neighbours: Vec<u32> =
            [i.checked_sub(1), (i < 199).then_some(i + 1)].into_iter().flatten().collect();
        entries.push((i, i, neighbours.len() as f64));
        entries.extend(neighbours.iter().map(|&j| (i, j, -1.0)));
    }
    let a = assembly::from_triplets(200, 200, &entries).unwrap();
    let parameters = Schwarz { domain: 8, coarse: Coarse::Domains, ..Schwarz::multilevel() };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    let repairs: Vec<_> = m.repairs().collect();
    assert_eq!(repairs.len(), 1, "{m}");
    assert_eq!(repairs[0].0, m.plan().levels() - 1);
    let r = noise(200, 3);
    let z = applied(&mut m, &r);
    assert!(r.iter().zip(&z).map(|(r, z)| r * z).sum::<f64>() > 0.0);
    let exact =
        Schwarz { coarse: Coarse::Exact { unknowns: 40 }, ..parameters }.build(&a, &Cpu::new()).unwrap();
    assert!(exact.to_string().contains("factor, shifted"), "{exact}");
}

#[test]
fn indefinite_domains_are_replaced_by_their_diagonal_blocks() {
    let mut p = problem("poisson2d:12");
    for (i, j) in [(40, 41), (41, 40), (40, 52), (52, 40)] {
        let k = p.matrix.pattern().find(i, j).unwrap();
        p.matrix.values_mut()[k] = -9.0;
    }
    let mut m = Schwarz::multilevel().build(p.system(), &Cpu::new()).unwrap();
    assert!(m.repairs().any(|r| r.0 == 0 && r.2 == coarsen_schwarz::Repair::BlockDiagonal), "{m}");
    for seed in 0..5 {
        let r = noise(144, seed);
        assert!(r.iter().zip(applied(&mut m, &r)).map(|(r, z)| r * z).sum::<f64>() > 0.0);
    }
}

#[test]
fn threads_do_not_change_bits() {
    let p = problem("cloth:120");
    let r = noise(p.matrix.shape().0, 9);
    for coupling in [Coupling::Adjacency, Coupling::Strength { theta: 0.1 }] {
        let run = || {
            applied(
                &mut Schwarz { coupling, ..Schwarz::multilevel() }.build(p.system(), &Cpu::new()).unwrap(),
                &r,
            )
        };
        let one = coarsen_core::parallel::threads(1, run).unwrap();
        assert_eq!(one, coarsen_core::parallel::threads(5, run).unwrap());
    }
}

#[test]
fn bad_parameters_are_named() {
    let p = problem("elasticity3d:3");
    let fails = |parameters: Schwarz| {
        parameters.build(&p.matrix, &Cpu::new()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(fails(Schwarz { domain: 1, ..Schwarz::multilevel() }).contains("Schwarz::domain"));
    assert!(fails(Schwarz { domain: 400, ..Schwarz::multilevel() }).contains("1024"));
    assert!(fails(Schwarz { levels: 0, ..Schwarz::multilevel() }).contains("Schwarz::levels"));
    let coupling = Coupling::Strength { theta: 1.0 };
    assert!(fails(Schwarz { coupling, ..Schwarz::multilevel() }).contains("theta"));
    let tiny =
        Bsr::new(p.matrix.pattern().clone(), (3, 3), p.matrix.values().iter().map(|v| v * 1e-40).collect())
            .unwrap();
    let error = Schwarz::multilevel().build(&tiny, &Cpu::new()).err().unwrap().to_string();
    assert!(error.contains("f32"), "{error}");
    assert!(Schwarz { storage: Storage::Double, ..Schwarz::multilevel() }.build(&tiny, &Cpu::new()).is_ok());
    let mut m =
        Schwarz { order: Order::Natural, ..Schwarz::multilevel() }.build(&p.matrix, &Cpu::new()).unwrap();
    assert!(m.patch(&p.matrix, &[100_000]).is_err());
}

/// Weights of least energy leave at most as much energy of the probe as weights of 1, and the operator stays
/// definite.
#[test]
fn weights_leave_the_least_energy() {
    for p in problems() {
        for coarse in [Coarse::Domains, Coarse::Exact { unknowns: 150 }] {
            let plain = Schwarz { coarse, ..exact() };
            let weighted = Schwarz { weights: Weights::Energy, ..plain };
            let mut r: Vec<f64> = coarsen_krylov::start_vector(p.matrix.shape().0);
            let mut m = weighted.build(p.system(), &Cpu::new()).unwrap();
            let b = m.plan().block();
            m.plan().left_out().iter().for_each(|&i| r[i as usize * b..(i as usize + 1) * b].fill(0.0));
            // ‖e − z‖²_A − ‖e‖²_A for the error e of A e = r.
            let energy = |m: &mut dyn Preconditioner<Vec<f64>>| {
                let (z, mut az) = (applied(m, &r), vec![0.0; r.len()]);
                p.matrix.apply(&z, &mut az);
                z.iter().zip(&az).map(|(z, az)| z * az).sum::<f64>()
                    - 2.0 * z.iter().zip(&r).map(|(z, r)| z * r).sum::<f64>()
            };
            let ones = energy(&mut plain.build(p.system(), &Cpu::new()).unwrap());
            let least = energy(&mut m);
            assert!(least < 0.0 && least <= ones * (1.0 - 1e-12), "{}: {least} and {ones}", p.name);
            assert!(m.weights()[0] > 0.0 && m.weights().iter().all(|&w| w >= 0.0), "{m}");
            let (u, v) = (noise(r.len(), 7), noise(r.len(), 8));
            let (mu, mv) = (applied(&mut m, &u), applied(&mut m, &v));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!(dot(&u, &mu) > 0.0 && (dot(&u, &mv) - dot(&v, &mu)).abs() < 1e-10 * dot(&u, &mu));
            let before = m.weights().to_vec();
            m.update(p.system()).unwrap();
            assert_eq!(m.weights(), before, "unchanged values change no factor");
        }
    }
}

/// Eigenvectors of stiff springs have few nonzero nodes, and the first Lanczos steps hardly detect them. The
/// damped step converges nevertheless.
#[test]
fn damping_finds_eigenvectors_of_few_nodes() {
    let mut s = Sequence::parse("stack:20", 4, &Options::default()).unwrap();
    while s.advance().unwrap() {
        let whole = s.sum().merge().unwrap();
        let system = System { matrix: &whole, contact: None, ..s.system() };
        let usual = DampedDomains::default();
        let found = usual.build(system, &Cpu::new()).unwrap().radius();
        let many = DampedDomains { lanczos_steps: 60, safety: 1.0, ..usual };
        let radius = many.build(system, &Cpu::new()).unwrap().radius();
        assert!(found > 0.9 * radius && found < 1.2 * radius, "{found}, and {radius} in 60 steps");
    }
}

/// Three chains without constraints: their domains are singular, and the table counts them as shifted.
#[test]
fn the_table_counts_repairs() {
    let (chains, nodes) = (3_u32, 8_u32);
    let mut entries = Vec::new();
    for i in 0..chains * nodes {
        let (before, after) = (i % nodes > 0, i % nodes + 1 < nodes);
        entries.push((i, i, f64::from(u8::from(before) + u8::from(after))));
        entries.extend(before.then(|| (i, i - 1, -1.0)));
        entries.extend(after.then(|| (i, i + 1, -1.0)));
    }
    let a = assembly::from_triplets(24, 24, &entries).unwrap();
    let m = Schwarz { domain: 8, ..exact() }.build(&a, &Cpu::new()).unwrap();
    let table = m.to_string();
    let row: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(row, ["0", "24", "3", "8.0", "3", "0"], "{table}");
}
