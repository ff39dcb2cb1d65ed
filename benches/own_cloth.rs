//! How long does a time step of a program with its own cloth take?
//!
//! The program uses only `Solver` and the types of a matrix. A square sheet of springs hangs from two corners, and a
//! step of implicit Euler is one system (M + h² K) Δv = h (f − h K v), assembled anew, to a relative residual of 1e-4. K is
//! the positive semidefinite part of −∂f/∂x. `Solver` chooses the method, and decides in each step whether its
//! preconditioner is kept, updated or built.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench own_cloth
//! ```
//!
//! *Output* for sheets of 71 and 141 vertices a side, outside a pool of threads and inside one: milliseconds of
//! update and solve in the first of 30 steps and their median in the others, iterations, and the actions of the policy.

use std::sync::Arc;
use std::time::Instant;

use coarsen::sparse::{Bsr, Pattern, System};
use coarsen::{Action, AnyError, Solver, parallel};

const STEPS: usize = 30;

/// The time step h in s.
const H: f64 = 0.01;

/// The mass of the sheet in kg.
const MASS: f64 = 0.2;

/// The stiffness of structural springs in N/m.
const STIFFNESS: f64 = 100.0;

/// In m/s².
const GRAVITY: f64 = 9.81;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:>8} {:>8} {:>9} {:>10} {:>10}  actions",
        "vertices", "threads", "first ms", "median ms", "iterations"
    );
    for side in [71, 141] {
        println!("{:>8} {:>8} {}", side * side, "no pool", run(side)?);
        for threads in [1, 2] {
            println!("{:>8} {threads:>8} {}", side * side, parallel::threads(threads, || run(side))??);
        }
    }
    Ok(())
}

/// A spring between two vertices.
struct Spring {
    ends: [usize; 2],
    length: f64,
    stiffness: f64,
}

/// Springs along edges and diagonals, and weaker ones across a vertex, which resist bending.
fn springs(side: usize) -> Vec<Spring> {
    let mut all = Vec::new();
    for (i, j) in (0..side * side).map(|v| (v / side, v % side)) {
        for (down, right) in [(1, 0), (0, 1), (1, 1), (1, -1), (2, 0), (0, 2)] {
            let (p, q) = (i + down as usize, j as isize + right);
            if p < side && (0..side as isize).contains(&q) {
                let length = (down as f64).hypot(right as f64) / (side - 1) as f64;
                let stiffness = if down.max(right) == 2 { 0.1 * STIFFNESS } else { STIFFNESS };
                all.push(Spring { ends: [i * side + j, p * side + q as usize], length, stiffness });
            }
        }
    }
    all
}

/// Simulates, and returns the numbers of a line.
fn run(side: usize) -> Result<String, AnyError> {
    let (n, springs) = (side * side, springs(side));
    let mut x: Vec<[f64; 3]> = (0..n)
        .map(|v| [(v / side) as f64 / (side - 1) as f64, (v % side) as f64 / (side - 1) as f64, 0.0])
        .collect();
    let mut v = vec![[0.0; 3]; n];
    let is_held = |i: usize| i == 0 || i == side - 1;
    let mut columns: Vec<Vec<u32>> = (0..n as u32).map(|i| vec![i]).collect();
    for Spring { ends: [p, q], .. } in &springs {
        columns[*p].push(*q as u32);
        columns[*q].push(*p as u32);
    }
    columns.iter_mut().for_each(|row| row.sort_unstable());
    let pattern = Arc::new(Pattern::from_rows(n, n, 9 * n, |i| columns[i].iter().copied())?);
    let mut a = Bsr::zeros(pattern.clone(), (3, 3))?;
    let (mut solver, mut seconds, mut iterations) = (None, Vec::new(), 0);
    let (mut b, mut dv) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
    for _ in 0..STEPS {
        assemble(&springs, is_held, (&x, &v), &mut a, &mut b);
        dv.fill(0.0);
        let begun = Instant::now();
        let system = System { positions: Some(&x), ..System::from(&a) };
        match &mut solver {
            None => {
                let made = solver.insert(Solver::new(system)?);
                made.auto.tolerance = 1e-4;
            }
            Some(solver) => solver.update(system)?,
        }
        let solver = solver.as_mut().expect("made in the first step");
        iterations += solver.solve(&b, &mut dv)?.converged()?.iterations;
        seconds.push(begun.elapsed().as_secs_f64());
        for (i, dv) in dv.as_chunks::<3>().0.iter().enumerate() {
            for c in 0..3 {
                v[i][c] += dv[c];
                x[i][c] += H * v[i][c];
            }
        }
    }
    let first = seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    let policy = solver.as_ref().and_then(Solver::policy);
    let actions = [Action::Build, Action::Update, Action::Keep]
        .map(|action| format!("{} {}", policy.map_or(0, |policy| policy.count(action)), action.name()));
    let median = seconds[seconds.len() / 2];
    Ok(format!("{:>9.1} {:>10.1} {iterations:>10}  {}", 1e3 * first, 1e3 * median, actions.join(", ")))
}

/// Computes A = M + h² K, where K is positive semidefinite, and b = h (f − h K v); rows of held vertices are those of M.
fn assemble(
    springs: &[Spring],
    is_held: impl Fn(usize) -> bool,
    (x, v): (&[[f64; 3]], &[[f64; 3]]),
    a: &mut Bsr<f64>,
    b: &mut [f64],
) {
    let (pattern, mass) = (a.pattern().clone(), MASS / x.len() as f64);
    let place = |i: usize, j: usize| 9 * pattern.find(i, j).expect("a spring has entries");
    let (values, b) = (a.values_mut(), b.as_chunks_mut::<3>().0);
    values.fill(0.0);
    for i in 0..x.len() {
        (0..3).for_each(|c| values[place(i, i) + 4 * c] = mass);
        b[i] = [0.0, 0.0, if is_held(i) { 0.0 } else { -H * mass * GRAVITY }];
    }
    for Spring { ends: [p, q], length, stiffness } in springs {
        let along: [f64; 3] = std::array::from_fn(|c| x[*q][c] - x[*p][c]);
        let now = along.iter().map(|e| e * e).sum::<f64>().sqrt();
        let across = (1.0 - length / now).max(0.0); // of a compressed spring K has no part across it
        let block: [f64; 9] = std::array::from_fn(|e| {
            let (r, c) = (e / 3, e % 3);
            let unit = if r == c { across } else { 0.0 };
            H * H * stiffness * ((1.0 - across) * along[r] * along[c] / (now * now) + unit)
        });
        let pull: [f64; 3] = std::array::from_fn(|r| {
            let damped = (0..3).map(|c| block[3 * r + c] * (v[*q][c] - v[*p][c])).sum::<f64>();
            H * stiffness * (1.0 - length / now) * along[r] + damped
        });
        for (i, j, sign) in [(*p, *q, 1.0), (*q, *p, -1.0)] {
            if is_held(i) {
                continue;
            }
            (0..3).for_each(|c| b[i][c] += sign * pull[c]);
            let (own, other) = (place(i, i), place(i, j));
            values[own..own + 9].iter_mut().zip(block).for_each(|(value, k)| *value += k);
            if !is_held(j) {
                values[other..other + 9].iter_mut().zip(block).for_each(|(value, k)| *value -= k);
            }
        }
    }
}
