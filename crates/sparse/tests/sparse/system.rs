//! Systems: a matrix with geometry and contact.

use std::borrow::Cow;

use coarsen_core::Error;
use coarsen_sparse::{Bsr, Contacts, NearKernel, Sum, System, assembly};

#[test]
fn parts_that_do_not_fit_are_named() {
    let a = Bsr::<f64>::identity(2, 3).unwrap();
    let short = [[0.0; 3]];
    let scalar = NearKernel::constants(2, 1).unwrap();
    let plain = System::from(&a);
    assert_eq!(plain.check(), Ok(()));
    let with_points = System { positions: Some(&short), ..plain };
    assert!(matches!(with_points.check(), Err(Error::Shape { expected: 2, found: 1, .. })));
    let with_kernel = System { near_kernel: Some(&scalar), ..plain };
    assert!(matches!(with_kernel.check(), Err(Error::Shape { expected: 6, found: 2, .. })));
    let other = Contacts::new(2, 2).unwrap();
    let with_contact = System { contact: Some(&other), ..plain };
    assert!(matches!(with_contact.check(), Err(Error::Shape { expected: 3, found: 2, .. })));
    let wide = assembly::from_triplets(1, 2, &[(0, 1, 1.0)]).unwrap();
    assert_eq!(System::from(&wide).check(), Err(Error::NotSquare { rows: 1, columns: 2 }));
}

#[test]
fn contact_is_merged_on_demand() {
    let a = Bsr::<f64>::identity(2, 1).unwrap();
    let mut contact = Contacts::new(2, 1).unwrap();
    contact.replace(&[(0, 1), (1, 0)], &[3.0, 3.0]).unwrap();
    let sum = Sum { elastic: &a, contact: &contact };
    let system = System::from(&sum);
    assert_eq!(system.check(), Ok(()));
    assert_eq!(system.whole().unwrap().values(), [1.0, 3.0, 3.0, 1.0]);
    assert!(matches!(System::from(&a).whole(), Ok(Cow::Borrowed(_))));
    contact.replace(&[], &[]).unwrap();
    assert!(matches!(System::from(&Sum { elastic: &a, contact: &contact }).whole(), Ok(Cow::Borrowed(_))));
}
