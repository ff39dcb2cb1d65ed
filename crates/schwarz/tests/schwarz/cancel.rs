//! Builds and updates that another thread cancels at any time: they end, or they are complete.

use std::thread;
use std::time::Duration;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Prepared, SetupError, Update};
use coarsen_core::Cancel;
use coarsen_schwarz::{AdditiveSchwarz, DampedDomains, Schwarz};
use coarsen_sparse::{Bsr, System};

use crate::common::{applied, problem};

type Built = Box<dyn Prepared<Vec<f64>, f64>>;
type Build<'a> = Box<dyn Fn(System<'_, f64>) -> Result<Built, SetupError> + 'a>;

/// Calls `f` with a system whose flag another thread sets after some microseconds.
fn cancelled_after<R>(micros: u64, a: &Bsr<f64>, f: impl FnOnce(System<'_, f64>) -> R) -> R {
    let cancel = Cancel::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_micros(micros));
            cancel.cancel();
        });
        f(System { cancel: Some(&cancel), ..System::from(a) })
    })
}

#[test]
fn cancelled_domains_are_old_or_new() {
    let (p, backend) = (problem("poisson2d:60"), Cpu::<f64>::new());
    let r = noise(3600, 3);
    let mut other = p.matrix.clone();
    other.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let builds: [Build<'_>; 4] = [
        Box::new(|system| Ok(Box::new(Schwarz::multilevel().build(system, &backend)?) as Built)),
        Box::new(|system| Ok(Box::new(DampedDomains::default().build(system, &backend)?) as Built)),
        Box::new(|system| Ok(Box::new(AdditiveSchwarz::overlapping().build(system, &backend)?) as Built)),
        Box::new(|system| Ok(Box::new(AdditiveSchwarz::restricted().build(system, &backend)?) as Built)),
    ];
    for build in &builds {
        let mut m = build(System::from(&p.matrix)).unwrap();
        let old = applied(&mut m, &r);
        m.update(&other).unwrap();
        let new = applied(&mut m, &r);
        assert_ne!(old, new);
        m.update(&p.matrix).unwrap();
        for micros in (0..10).map(|k| 50_u64 << k) {
            match cancelled_after(micros, &p.matrix, build) {
                Ok(mut built) => assert_eq!(applied(&mut built, &r), old),
                Err(error) => assert_eq!(error, SetupError::Cancelled),
            }
            let updated = cancelled_after(micros, &other, |system| m.update(system));
            assert!(matches!(updated, Ok(_) | Err(SetupError::Cancelled)), "{updated:?}");
            let expected = if updated.is_ok() { &new } else { &old };
            assert_eq!(&applied(&mut m, &r), expected, "after {micros} microseconds");
            m.update(&p.matrix).unwrap();
            assert_eq!(applied(&mut m, &r), old);
        }
    }
}
