//! For new values of a known pattern, the numeric phases do not allocate, with one or several threads.

use std::sync::Arc;

use coarsen_backend::{Backend, Cpu, Matrix};
use coarsen_core::{LinearOperator, parallel};
use coarsen_sparse::{
    Bsr, Contacts, GalerkinPlan, Permutation, PermutePlan, Stencil, Sum, System, TransposePlan, assembly,
};

use crate::counting::{bytes, held};

/// Full r x c blocks that couple each of `rows` nodes with `reach` neighbours on both sides. Column j belongs
/// to coarse node j / `onto`.
fn band(rows: u32, reach: u32, block: (usize, usize), onto: u32) -> Bsr<f64> {
    let places: Vec<(u32, u32)> = (0..rows)
        .flat_map(|i| (i.saturating_sub(reach)..=(i + reach).min(rows - 1)).map(move |j| (i, j / onto)))
        .collect();
    let values: Vec<f64> = (0..places.len() * block.0 * block.1).map(|k| (k as f64 * 0.7).sin()).collect();
    let columns = rows.div_ceil(onto) as usize;
    assembly::from_blocks((rows as usize, columns), block, &places, &values).unwrap()
}

pub(crate) fn run() {
    shared_values();
    for threads in [1, 3] {
        parallel::threads(threads, || {
            let n = if threads > 1 { 12_000 } else { 1000 }; // large enough for several threads
            let (a, p) = (band(n, 3, (3, 3), 1), band(n, 1, (3, 6), 4));
            let scalar = band(3 * n, 3, (1, 1), 1);
            let (x, mut y) = (vec![1.0; 3 * n as usize], vec![0.0; 3 * n as usize]);
            let columns = vec![1.0; 12 * n as usize];
            let mut columns_y = columns.clone();
            let order = Permutation::new((0..n).rev().collect()).unwrap();

            let transpose = TransposePlan::new(p.pattern()).unwrap();
            let mut pt = transpose.build(&p).unwrap();
            let permute = PermutePlan::new(a.pattern(), &order, &order).unwrap();
            let mut permuted = permute.build(&a).unwrap();
            let mut galerkin = GalerkinPlan::new(&a, &p).unwrap();
            let mut coarse = galerkin.build(&a, &p).unwrap();
            let mut contact = Contacts::new(n as usize, 3).unwrap();
            let (places, blocks) = ([(7, 9), (9, 7), (n - 1, 0)], [1.0; 27]);
            contact.replace(&places, &blocks).unwrap();
            let merged = Sum { elastic: &a, contact: &contact }.merge().unwrap();
            let (built, mut memory) = (merged.pattern(), None);

            let springs: Vec<[u32; 2]> = (0..n - 1).map(|i| [i, i + 1]).collect();
            let plan = assembly::Assembly::of_elements(n as usize, &springs).unwrap();
            let stream = vec![1.0; 9 * plan.len()];
            let mut elastic = plan.zeros(3).unwrap();
            let touch: Vec<Stencil> = (0..n - 9)
                .map(|i| Stencil::vertex_face(i, [i + 2, i + 5, i + 7], [0.5, 0.25, 0.25]))
                .collect();
            let stiffness = vec![1.0; 9 * touch.len()];
            let mut other = Contacts::new(n as usize, 3).unwrap();
            let mut touched = Vec::with_capacity(n as usize);

            let mut numeric = || {
                plan.fill(&stream, &mut elastic).unwrap();
                other.assemble(&touch[..20], &stiffness[..180]).unwrap();
                other.assemble(&touch, &stiffness).unwrap();
                other.touched_since(&contact, &mut touched);
                transpose.update(&p, &mut pt).unwrap();
                permute.update(&a, &mut permuted).unwrap();
                galerkin.update(&a, &p, &mut coarse).unwrap();
                contact.replace(&places, &blocks).unwrap();
                let sum = Sum { elastic: &a, contact: &contact };
                let whole = System::from(&sum).whole_in(&mut memory, built).unwrap();
                assert!(Arc::ptr_eq(whole.pattern(), built));
                sum.apply(&x, &mut y);
                sum.apply_dot(&x, &mut y);
                for a in [&a, &scalar] {
                    a.apply(&x, &mut y);
                    a.apply_dot(&x, &mut y);
                    a.residual(&x, &x, &mut y);
                }
                order.apply(3, &x, &mut y);
                a.apply_columns(4, &columns, &mut columns_y);
            };
            numeric();
            // A repeated allocation occurs in every run. A pool thread that starts late allocates only once.
            let least = (0..5).map(|_| bytes(&mut numeric)).min();
            assert_eq!(least, Some(0), "{threads} threads");
        })
        .unwrap();
    }
    assert!(bytes(|| drop(std::hint::black_box(vec![0_u8; 100]))) >= 100, "the counter counts");
}

/// Clones of a shared matrix and its copies on the CPU take no memory, until values are changed.
fn shared_values() {
    let cpu = Cpu::<f64>::new();
    let mut a = band(100, 1, (3, 3), 1).shared();
    let all = size_of_val(a.values());
    let (mut there, made) = held(|| cpu.matrix(&a).unwrap());
    assert_eq!(made, 0);
    let (kept, changed) = held(|| {
        let kept = a.clone();
        a.values_mut()[0] = 1e3;
        kept
    });
    assert!((all..2 * all).contains(&changed), "{changed} of {all} bytes");
    let before = kept.values()[0];
    assert_ne!(before, 1e3);
    drop(kept);
    let ((), taken) = held(|| there.set_values(&a).unwrap());
    assert!(taken.cast_signed() <= -all.cast_signed(), "the old values are freed");
    let (x, mut y) = (vec![1.0; 300], [vec![0.0; 300], vec![0.0; 300]]);
    there.apply(&x, &mut y[0]);
    a.apply(&x, &mut y[1]);
    assert_eq!(y[0], y[1]);
}
