//! Assembly of the matrix of one step: element matrices on a fixed pattern, contacts on a new pattern.

use std::hint::black_box;

use coarsen_core::{Vector, parallel};
use coarsen_sparse::assembly::Assembly;
use coarsen_sparse::{Bsr, Contacts, Stencil};

use crate::{Outcome, fastest};

/// The number of vertices per side.
const SIDE: u32 = 601;

/// The number of vertex-face contacts, three pairs each.
const CONTACTS: u32 = 33_334;

/// The number of entries of each reference vector.
const LARGE: usize = 1 << 24;

/// The number of calls; the fastest call counts.
const CALLS: usize = 15;

/// The triangles of the sheet, two per cell.
fn triangles() -> Vec<[u32; 3]> {
    let cell = |c: u32| {
        let i = c / (SIDE - 1) * SIDE + c % (SIDE - 1);
        [[i, i + SIDE, i + SIDE + 1], [i, i + SIDE + 1, i + 1]]
    };
    (0..(SIDE - 1) * (SIDE - 1)).flat_map(cell).collect()
}

/// The contacts of a folded sheet: each vertex of the lower half touches the mirrored face of the upper half.
fn contacts() -> Vec<Stencil> {
    let half = SIDE * (SIDE / 2 - 2);
    let touch = |k: u32| {
        let vertex = (u64::from(k) * u64::from(half) / u64::from(CONTACTS)) as u32;
        let across = (SIDE - 2 - vertex / SIDE) * SIDE + (vertex % SIDE).min(SIDE - 2);
        Stencil::vertex_face(vertex, [across, across + 1, across + SIDE], [0.5, 0.25, 0.25])
    };
    (0..CONTACTS).map(touch).collect()
}

pub(crate) fn assembly(_: &[String]) -> Outcome<()> {
    let (triangles, contacts, nodes) = (triangles(), contacts(), (SIDE * SIDE) as usize);
    let plan = Assembly::of_elements(nodes, &triangles)?;
    let stream: Vec<f64> = (0..9 * plan.len()).map(|k| (k % 17) as f64 - 8.0).collect();
    let stiffness: Vec<f64> = (0..9 * contacts.len()).map(|k| f64::from(k % 4 == 0)).collect();
    let mut a: Bsr<f64> = plan.zeros(3)?;
    let mut set = Contacts::new(nodes, 3)?;
    set.assemble(&contacts, &stiffness)?;
    let bytes = |v: &[f64]| 8.0 * v.len() as f64;
    let elastic = bytes(&stream) + bytes(a.values()) + plan.bytes() as f64;
    let contact = bytes(&stiffness)
        + size_of_val(&contacts[..]) as f64
        + bytes(set.values())
        + size_of_val(set.places()) as f64;
    println!(
        "assembly: {nodes} vertices, {} triangles, {} contact pairs, {} + {} blocks; bytes that must be read and written",
        triangles.len(),
        3 * contacts.len(),
        a.pattern().len(),
        set.len()
    );
    println!("threads  part              ms     MB   GB/s   of dot");
    let mut seconds = Vec::new();
    for threads in [1, 2] {
        let step = parallel::threads(threads, || -> Outcome<f64> {
            let (x, y) = (vec![1.0; LARGE], vec![0.5; LARGE]);
            let dot = 16.0 * LARGE as f64
                / fastest(CALLS, || {
                    black_box(black_box(&x).dot(&y));
                });
            let elastic_s = fastest(CALLS, || drop(black_box(plan.fill(black_box(&stream), &mut a))));
            let contact_s =
                fastest(CALLS, || drop(black_box(set.assemble(black_box(&contacts), &stiffness))));
            let both_s = fastest(CALLS, || {
                drop(black_box(plan.fill(black_box(&stream), &mut a)));
                drop(black_box(set.assemble(black_box(&contacts), &stiffness)));
            });
            for (part, s, bytes) in [
                ("elastic", elastic_s, elastic),
                ("contact", contact_s, contact),
                ("step", both_s, elastic + contact),
            ] {
                println!(
                    "{threads:>7}  {part:10} {:>9.3} {:>6.0} {:>6.1} {:>6.0} %",
                    1e3 * s,
                    1e-6 * bytes,
                    1e-9 * bytes / s,
                    100.0 * bytes / s / dot
                );
            }
            Ok(both_s)
        })??;
        seconds.push(step);
    }
    println!("two threads are {:.2} times one", seconds[0] / seconds[1]);
    let all = [1, 2, 7].map(|threads| {
        parallel::threads(threads, || -> Outcome<_> {
            let (mut a, mut set) = (plan.zeros(3)?, Contacts::new(nodes, 3)?);
            plan.fill(&stream, &mut a)?;
            set.assemble(&contacts, &stiffness)?;
            Ok((a, set.places().to_vec(), set.values().to_vec()))
        })
    });
    let [one, two, seven] = all;
    let (one, two, seven) = (one??, two??, seven??);
    println!("the same bits on 1, 2 and 7 threads: {}", one == two && one == seven);
    Ok(())
}
