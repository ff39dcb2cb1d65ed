//! Preconditioners on a device, wrapped as preconditioners of host vectors, so that the same tests apply.

use std::sync::OnceLock;

use coarsen::backend::{Backend, Prepared, Update};
use coarsen::multigrid::Smoothing;
use coarsen::opencl::{DeviceError, DeviceVector, OpenCl, OpenClError, default_device};
use coarsen::prelude::*;
use coarsen::relax::{DampedJacobi, Spai0};
use coarsen::{PreconditionerKind, backend::SetupError};

use super::{Named, small_embedding, small_sa, small_skinning};

/// Copies vectors to the device and back.
struct Moved<V: Real> {
    backend: OpenCl<V>,
    m: Box<dyn Prepared<DeviceVector<V>, f64>>,
}

impl<V: Real> Preconditioner<Vec<V>> for Moved<V> {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let r = self.backend.vector(r).unwrap();
        let mut there = r.like().unwrap();
        there.fill(V::nan()); // the result must not depend on old values
        self.m.apply(&r, &mut there);
        self.backend.read(&there, z).unwrap();
    }

    fn kind(&self) -> PreconditionerKind {
        self.m.kind()
    }

    fn size(&self) -> Option<usize> {
        self.m.size()
    }
}

impl<V: Real> Update<f64> for Moved<V> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        self.m.update_from(system)
    }
}

/// One device for all tests, or `None` after printing the reason.
fn backend<V: Real>(kept: &'static OnceLock<Option<OpenCl<V>>>) -> Option<&'static OpenCl<V>> {
    kept.get_or_init(|| match default_device() {
        Ok(backend) => Some(backend),
        Err(why @ (OpenClError::Absent(_) | OpenClError::Device(DeviceError::Precision { .. }))) => {
            assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "{why}");
            println!("skipped on devices: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    })
    .as_ref()
}

fn double() -> Option<&'static OpenCl<f64>> {
    static BACKEND: OnceLock<Option<OpenCl<f64>>> = OnceLock::new();
    backend(&BACKEND)
}

fn single() -> Option<&'static OpenCl<f32>> {
    static BACKEND: OnceLock<Option<OpenCl<f32>>> = OnceLock::new();
    backend(&BACKEND)
}

fn build<R, V: Real, S: Real>(
    parameters: R,
    a: &Bsr<f64>,
    backend: OpenCl<V, S>,
) -> Box<dyn Prepared<Vec<V>, f64>>
where
    R: Setup<f64, OpenCl<V, S>>,
    R::Built: 'static,
{
    let m = Box::new(parameters.build(a, &backend).unwrap_or_else(|e| panic!("{e}")));
    Box::new(Moved { backend: backend.plain(), m })
}

macro_rules! preconditioners {
    ($backend:expr) => {
        vec![
            ("opencl jacobi", |a| build(Jacobi::default(), a, $backend)),
            ("opencl block-jacobi", |a| build(BlockJacobi::default(), a, $backend)),
            ("opencl damped", |a| build(DampedJacobi::default(), a, $backend)),
            ("opencl spai0", |a| build(Spai0::default(), a, $backend)),
            ("opencl gauss-seidel", |a| build(GaussSeidel::default(), a, $backend)),
            ("opencl ssor", |a| {
                build(GaussSeidel { omega: 1.3, sweeps: 2, ..Default::default() }, a, $backend)
            }),
            ("opencl chebyshev", |a| build(Chebyshev::default(), a, $backend)),
        ]
    };
}

pub(crate) fn doubles() -> Vec<Named<f64>> {
    if double().is_none() {
        return Vec::new();
    }
    preconditioners!(double().expect("asked before").clone())
}

pub(crate) fn mixed() -> Vec<Named<f64>> {
    if double().is_none() {
        return Vec::new();
    }
    preconditioners!(double().expect("asked before").mixed())
}

pub(crate) fn singles() -> Vec<Named<f32>> {
    if single().is_none() {
        return Vec::new();
    }
    preconditioners!(single().expect("asked before").clone())
}

pub(crate) fn multigrids() -> Vec<Named<f64>> {
    if double().is_none() {
        return Vec::new();
    }
    vec![
        ("opencl sa", |a| build(small_sa(Cycle::V), a, double().expect("asked before").clone())),
        ("opencl sa w-cycle", |a| build(small_sa(Cycle::W), a, double().expect("asked before").clone())),
        ("opencl sa gauss-seidel", |a| {
            let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
            build(Multigrid { smoothing, ..small_sa(Cycle::V) }, a, double().expect("asked before").clone())
        }),
        ("opencl skinning", |a| build(small_skinning(a), a, double().expect("asked before").clone())),
        ("opencl node embedding", |a| build(small_embedding(a), a, double().expect("asked before").clone())),
    ]
}
