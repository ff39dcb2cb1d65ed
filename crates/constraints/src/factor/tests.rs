use super::*;

fn factors(c: &Constraints) -> Result<Factors, ConstraintError> {
    let mut factors = Factors::default();
    factors.find(c, 64).map(|()| factors)
}

#[test]
fn bases_are_orthonormal_and_z_satisfies_the_rows() {
    let mut c = Constraints::new(9, 3).unwrap();
    c.vertex_face(0, [2, 4, 6], [0.2, 0.3, 0.5], &[1.0, 2.0, -1.0], 0.1).unwrap();
    c.plane(4, &[0.3, 0.1, 0.2], -0.4).unwrap();
    c.edge_edge([6, 7], [1, 3], [0.25, 0.75], &[0.0, 1.0, 0.5], 0.2).unwrap();
    c.line(8, &[1.0, 1.0, 0.0], &[0.1, 0.2, 0.3]).unwrap();
    let f = factors(&c).unwrap();
    assert_eq!((f.groups.count(), f.rank(0), f.rank(1)), (2, 3, 2));
    for g in 0..2 {
        for (i, p) in f.basis(g).enumerate() {
            for (j, q) in f.basis(g).enumerate() {
                let dot: f64 = p.iter().zip(q).map(|(p, q)| p * q).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-15);
            }
        }
    }
    let z = |node: usize| {
        let at = f.groups.starts[f.groups.of[node] as usize] + f.groups.place[node] as usize;
        &f.z[3 * at..3 * at + 3]
    };
    for k in 0..c.len() {
        let left: f64 = c.terms(k).flat_map(|(i, part)| part.iter().zip(z(i))).map(|(c, z)| c * z).sum();
        assert!((left - c.value(k)).abs() < 1e-15, "constraint {k}: {left}");
    }
}

#[test]
fn dependent_constraints_are_left_out_and_contradictions_named() {
    let mut c = Constraints::new(4, 2).unwrap();
    c.point(1, &[1.0, 2.0]).unwrap();
    c.plane(1, &[3.0, 4.0], 11.0).unwrap(); // 3 · 1 + 4 · 2 = 11: redundant
    c.equation(&[(2, &[1.0, 0.0]), (3, &[-1.0, 0.0])], 0.5).unwrap();
    let f = factors(&c).unwrap();
    assert_eq!((&f.dependent[..], f.rank(0), &f.z[..2]), (&[2][..], 2, &[1.0, 2.0][..]));
    c.plane(2, &[2.0, 0.0], 2.0).unwrap();
    c.plane(3, &[2.0, 0.0], 2.0).unwrap(); // x₂ − x₃ = 0 contradicts 0.5
    let error = factors(&c).unwrap_err();
    let ConstraintError::Contradiction { constraint, others, nodes, asked, left } = &error else {
        panic!("{error}");
    };
    let mut all = others.clone();
    all.push(*constraint);
    all.sort_unstable();
    assert_eq!((&all[..], &nodes[..]), (&[3, 4, 5][..], &[2, 3][..]), "{error}");
    assert!((asked - left).abs() > 0.1, "{error}");
    assert!(error.to_string().contains("on nodes 2 and 3"), "{error}");
}

/// x₀ = 1000 and x₀ − x₁ = 1000 leave x₁ = 0. Another value of x₁ is dropped up to 1e-6 of the largest value in the
/// group, as `agree_within` says, and named above.
#[test]
fn values_agree_up_to_a_share_of_the_largest() {
    for (value, agrees) in [(5e-4, true), (5e-3, false)] {
        let mut c = Constraints::new(2, 1).unwrap();
        c.equation(&[(0, &[1.0])], 1000.0).unwrap();
        c.equation(&[(0, &[1.0]), (1, &[-1.0])], 1000.0).unwrap();
        c.equation(&[(1, &[1.0])], value).unwrap();
        match factors(&c) {
            Ok(f) => assert!(agrees && f.dependent.len() == 1, "{value}"),
            Err(ConstraintError::Contradiction { .. }) => assert!(!agrees, "{value}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn long_chains_are_refused() {
    let mut c = Constraints::new(100, 1).unwrap();
    (0..99).for_each(|i| c.equation(&[(i, &[1.0]), (i + 1, &[-1.0])], 0.0).unwrap());
    let refused = Factors::default().find(&c, 64);
    assert_eq!(refused, Err(ConstraintError::Chain { found: 100, limit: 64, nodes: (0..8).collect() }));
    let mut long = Factors::default();
    long.find(&c, 100).unwrap();
    assert_eq!((long.groups.count(), long.rank(0)), (1, 99));
}

#[test]
fn threads_do_not_change_bits() {
    let mut c = Constraints::new(60_000, 3).unwrap();
    let numbers = coarsen_core::SplitMix64::new(1).numbers(60_000);
    for i in 0..9_000 {
        let n = &numbers[3 * i..3 * i + 3];
        c.vertex_face(6 * i, [6 * i + 1, 6 * i + 2, 6 * i + 3], [0.2, 0.3, 0.5], n, n[0]).unwrap();
        c.plane(6 * i + 4, n, n[1]).unwrap();
    }
    let run = |threads| parallel::threads(threads, || factors(&c).unwrap()).unwrap();
    let one = run(1);
    for n in [2, 7] {
        let f = run(n);
        assert_eq!((&one.q, &one.z, &one.rank), (&f.q, &f.z, &f.rank));
    }
}
