//! Rebuilds within an update: a system without positions has those of the last build.

use std::num::NonZeroUsize;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Prepared, Reused, Update};
use coarsen_schwarz::{AdditiveSchwarz, DampedDomains, Schwarz};
use coarsen_sparse::{Bsr, Sum, System};

use crate::common::{applied, exact, problem};
use crate::spring::spring;

/// Another pattern, and domains that are chosen again after some updates.
#[test]
fn a_rebuild_keeps_the_positions() {
    let p = problem("cloth:25");
    let contact = spring(625, [100, 600], 1.0);
    let touching = Sum { elastic: &p.matrix, contact: &contact }.merge().unwrap();
    let (backend, r) = (Cpu::<f64>::new(), noise(1875, 3));
    let with = |matrix| System { positions: Some(&p.positions), ..System::from(matrix) };
    type Build<'a> = Box<dyn Fn(System<'_, f64>) -> Box<dyn Prepared<Vec<f64>, f64>> + 'a>;
    let builds: [Build<'_>; 3] = [
        Box::new(|system| Box::new(exact().build(system, &backend).unwrap())),
        Box::new(|system| {
            Box::new(
                DampedDomains { schwarz: exact(), ..Default::default() }.build(system, &backend).unwrap(),
            )
        }),
        Box::new(|system| Box::new(AdditiveSchwarz::overlapping().build(system, &backend).unwrap())),
    ];
    for build in builds {
        let rebuilt = |system: System<'_, f64>| applied(&mut build(system), &r);
        let (expected, without) = (rebuilt(with(&touching)), rebuilt(System::from(&touching)));
        assert_ne!(expected, without, "positions change nothing");
        let mut m = build(with(&p.matrix));
        assert_eq!(m.update(&touching).unwrap(), Reused::Nothing);
        assert_eq!(applied(&mut m, &r), expected);
        m.update(&p.matrix).unwrap();
        m.update(&p.matrix).unwrap(); // prepared beside
        assert_eq!(m.update(&touching).unwrap(), Reused::Nothing);
        assert_eq!(applied(&mut m, &r), expected);
        let other = Bsr::identity(30, 3).unwrap();
        m.update(&other).unwrap();
        m.update(&touching).unwrap();
        assert_eq!(applied(&mut m, &r), without, "positions of other nodes");
    }
    let mut m = AdditiveSchwarz::overlapping().build(with(&p.matrix), &backend).unwrap();
    assert!(!m.to_string().contains("earlier"), "{m}");
    m.update(&touching).unwrap();
    assert!(m.to_string().contains("positions of an earlier build"), "{m}");
    m.update(with(&p.matrix)).unwrap();
    assert!(!m.to_string().contains("earlier"), "{m}");
    let mut m =
        Schwarz { refresh: NonZeroUsize::new(1), ..exact() }.build(with(&p.matrix), &backend).unwrap();
    let before = applied(&mut m, &r);
    assert!(!m.to_string().contains("earlier"), "{m}");
    assert_eq!(m.update(&p.matrix).unwrap(), Reused::Rest { redone: 1, of: 1 });
    assert_eq!(applied(&mut m, &r), before);
    assert!(m.to_string().contains("positions of an earlier build"), "{m}");
}
