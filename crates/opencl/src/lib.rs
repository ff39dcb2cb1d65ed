//! OpenCL devices as backends: [`coarsen_device`] over OpenCL.
//!
//! [`default_device`] returns an [`OpenCl`], which is a [`coarsen_device::DeviceBackend`]; [`devices`] lists the
//! devices. Vectors, matrices and preconditioners are those of `coarsen_device`, and this crate implements
//! its [`Driver`](coarsen_device::Driver). It builds and links without OpenCL; at run time [`devices`] then returns an error
//! that names the missing part.
//!
//! | file | what |
//! |---|---|
//! | `loader`, `forward` | the OpenCL library, loaded when a program runs, and the functions that forward calls to it |
//! | [`devices`] | the OpenCL devices of this machine |
//! | `driver` | buffers, compiled programs and launches of a queue |
//! | `transfer` | copies between host and device |
//! | `pinned` | memory of the host from which copies are fast |
//! | `second_queue` | copies that overlap with kernels |
//! | `event` | synchronisation with commands, and their times |
//! | `compile`, `cache` | programs: compiled, read from disk or shared |
//! | `handle` | objects of the driver and their release |
//! | [`error`](OpenClError) | the errors of the creation of a backend |

mod cache;
mod compile;
mod devices;
mod driver;
mod error;
mod event;
#[cfg(not(target_os = "macos"))]
mod forward;
mod handle;
mod loader;
mod pinned;
mod second_queue;
mod transfer;

pub use coarsen_device::{
    Counters, Device, DeviceBlocks, DeviceBorder, DeviceDomains, DeviceError, DeviceGalerkin, DeviceRows,
    DeviceScalar, DeviceSubdomains, DeviceSystem, Format, Operand, Recorded, Renewed, StructureSource,
    Touched,
};
pub use devices::{default_device, devices};
pub use error::OpenClError;
pub use loader::Absent;

/// An OpenCL device as a backend.
///
/// ```
/// use coarsen_opencl::{OpenCl, devices};
/// let Ok([device, ..]) = devices() else { return Ok(()) }; // no OpenCL here
/// let backend = OpenCl::<f32>::new(device)?;
/// assert_eq!(backend.device().name, device.name);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type OpenCl<V, S = V> = coarsen_device::DeviceBackend<V, S>;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_contact::ClothContact;
/// use coarsen_core::Scalar;
/// use coarsen_opencl::{DeviceClothContact, default_device};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// // A vertex 0.1 above a triangle; its own triangle stands on end.
/// let x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.1], [2.0, 1.0, 2.1], [1.0, 2.0, 2.1]];
/// let host = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x, 0.3, 50.0)?;
/// let mut contact = DeviceClothContact::new(&backend, &host.kernel()?)?;
/// let mut down = vec![0.0; 18];
/// down[11] = -1.0; // the vertex may move by 0.07: up to 0.03, which is a tenth of 0.3
/// let (x, down) = (backend.vector(x.as_flattened())?, backend.vector(&down)?);
/// let step = contact.max_step(&x, &down).read();
/// assert!(step < 0.07 && step > 0.06);
/// // −50 (0.3 − 0.1)² ln((0.1 − 0.03) / (0.3 − 0.03)); the search of the bound serves.
/// let energy = contact.energy(&x).value.read();
/// assert!((energy - 50.0 * 0.2 * 0.2 * (27.0 / 7.0_f64).ln()).abs() < 1e-12);
/// assert!(!contact.grow()?); // no list was too small
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceClothContact;

/// ```
/// use coarsen_core::Error;
/// use coarsen_opencl::{DeviceContacts, default_device};
/// use coarsen_sparse::{Contacts, Stencil};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let mut host = Contacts::<f64>::new(4, 1)?;
/// host.assemble(&[Stencil::point_point(0, 2)], &[10.0])?;
/// let mut there = DeviceContacts::new(&backend, 4, 1, 8)?; // up to 8 blocks
/// there.replace(&host)?;
/// assert_eq!(there.read()?, (host.places().to_vec(), host.values().to_vec()));
/// let face = Stencil::vertex_face(0, [1, 2, 3], [0.2, 0.3, 0.5]);
/// host.assemble(&[Stencil::point_point(0, 2), face], &[1.0, 1.0])?;
/// let refused = there.replace(&host).unwrap_err();
/// assert_eq!(refused, Error::Capacity { what: "contact blocks", count: 16, capacity: 8 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceContacts;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::LinearOperator;
/// use coarsen_opencl::{DeviceEll, DeviceStream, default_device};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let mut stream = DeviceStream::of_blocks(&backend, 2, 8)?;
/// stream.write_blocks(&[(0, 0), (1, 1), (0, 1), (0, 0)])?;
/// let mut a = DeviceEll::new(&backend, 2, 1, 2)?; // two blocks a row at most
/// a.assemble(&stream, &backend.vector(&[1.0, 2.0, 3.0, 4.0])?)?;
/// a.check()?;
/// assert_eq!(a.read()?.values(), [5.0, 3.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceEll;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_constraints::{Constraints, Projector};
/// use coarsen_opencl::{DeviceFilter, default_device};
/// use coarsen_sparse::Bsr;
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let mut host = Bsr::<f64>::identity(2, 2)?;
/// let (a, mut filtered) = (backend.matrix(&host)?, backend.matrix(&host)?);
/// let mut constraints = Constraints::new(2, 2)?;
/// constraints.plane(1, &[0.0, 1.0], 0.0)?; // y of node 1 is 0
/// let mut filter = DeviceFilter::new(&backend, 2, 2)?;
/// filter.replace(&Projector::new(&constraints, 1)?)?;
/// filter.matrix(&a, &mut filtered)?;
/// filtered.read_values(&mut host)?;
/// assert_eq!(host.value(1), [1.0, 0.0, 0.0, 1.0]); // σ = 1 for y of node 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceFilter;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{Preconditioner, Vector};
/// use coarsen_opencl::{DeviceJacobi, default_device};
/// use coarsen_sparse::assembly::from_triplets;
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let a = backend.matrix(&from_triplets(2, 2, &[(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?)?;
/// let mut m = DeviceJacobi::new(&a, 1.0)?;
/// let (r, mut z) = (backend.vector(&[2.0, 4.0])?, backend.zeros(2)?);
/// m.apply(&r, &mut z);
/// assert_eq!(z.norm(), 2.0_f64.sqrt());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceJacobi;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_opencl::default_device;
/// use coarsen_sparse::Bsr;
/// let Ok(backend) = default_device::<f32>() else { return Ok(()) }; // no OpenCL here
/// let (a, x) = (backend.matrix(&Bsr::<f64>::identity(1, 2).unwrap())?, backend.vector(&[3.0, 4.0])?);
/// let mut y = x.like()?;
/// a.apply(&x, &mut y);
/// assert_eq!(y.norm(), 5.0);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceMatrix;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{Preconditioner, Vector};
/// use coarsen_opencl::{DeviceSchwarz, default_device};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let p = coarsen_problems::cloth(20, 0.01)?;
/// let mut m = DeviceSchwarz::default().build(p.system(), &backend)?;
/// let a = backend.matrix(&p.matrix)?;
/// m.update_on_device(&a)?; // a time step later: nothing travels
/// let r = backend.vector(&p.right_hand_side(1))?;
/// let mut z = r.like()?;
/// m.apply(&r, &mut z);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceSchwarz;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_opencl::{DeviceContacts, DeviceSchwarz, DeviceSum, DeviceTouched, default_device};
/// use coarsen_opencl::{StructureSource, Touched};
/// use coarsen_sparse::{Contacts, Stencil};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let p = coarsen_problems::cloth(20, 0.01)?;
/// let n = p.matrix.pattern().rows();
/// let parameters = DeviceSchwarz { structure: StructureSource::Device, contacts: 100, ..DeviceSchwarz::default() };
/// let mut m = parameters.build(p.system(), &backend)?;
/// let (a, positions) = (backend.matrix(&p.matrix)?, backend.vector(&p.positions.concat())?);
/// let (mut contact, mut touched) = (DeviceContacts::new(&backend, n, 3, 100)?, DeviceTouched::new(&backend, n)?);
/// let mut host = Contacts::<f64>::new(n, 3)?;
/// for step in 1..4 {
///     host.assemble(&[Stencil::point_point(105, 105 + 40 * step)], &[5.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 5.0])?;
///     touched.clear()?;
///     touched.mark(&contact)?; // the pairs that go
///     contact.replace(&host)?; // or `assemble`, without synchronisation
///     touched.mark(&contact)?; // the pairs that come
///     m.patch_or_restructure_on_device(&DeviceSum::new(&a, &contact)?, &positions, Touched::Marked(&touched))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceTouched;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_opencl::{DeviceContacts, DeviceStream, default_device};
/// use coarsen_sparse::{Contacts, Stencil};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let touching = [Stencil::point_point(0, 2), Stencil::vertex_face(3, [0, 1, 2], [0.2, 0.3, 0.5])];
/// let mut stream = DeviceStream::of_contacts(&backend, 4, 8)?; // up to 8 contacts of 4 nodes
/// stream.write_contacts(&touching)?;
/// let stiffness = backend.vector(&[10.0, 5.0])?; // of device memory, where a program computes it
/// let mut there = DeviceContacts::new(&backend, 4, 1, 16)?;
/// there.assemble(&stream, &stiffness)?; // nothing travels, nothing synchronises
/// there.check()?; // one synchronisation: whether the capacity sufficed
/// let mut host = Contacts::<f64>::new(4, 1)?;
/// host.assemble(&touching, &[10.0, 5.0])?;
/// assert_eq!(there.read()?, (host.places().to_vec(), host.values().to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceStream;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::Scalar;
/// use coarsen_elastic::{Potential, Spring, Springs};
/// use coarsen_opencl::{DeviceElements, default_device};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[true, false], &[[0.0; 3]; 2])?;
/// let there = DeviceElements::new(&backend, &rope.kernels()?[0])?;
/// let x = backend.vector(&[0.0, 3.0, 0.0])?;
/// assert_eq!(there.energy(&x).value.read(), 20.0); // 10/2 (3 − 1)²
/// let mut g = backend.zeros(3)?;
/// there.add_gradient(&x, &mut g);
/// let mut found = [0.0; 3];
/// backend.read(&g, &mut found)?;
/// assert_eq!(found, [0.0, 20.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceElements;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{Objective, Scalar};
/// use coarsen_elastic::{Potential, Spring, Springs};
/// use coarsen_opencl::{DeviceImplicitEuler, default_device};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[true, false], &[[0.0; 3]; 2])?;
/// let mut step = DeviceImplicitEuler::new(&backend, &rope.kernels()?, &[2.0], 0.1)?;
/// backend.write(&[0.0, 1.0, 0.0], step.state()[0])?;
/// step.begin([0.0, -10.0, 0.0]);
/// // y is 0.1 m below x: the inertia alone is 2/2 · 0.1² / 0.1² J.
/// let mut x = backend.zeros(3)?;
/// step.predict(1.0, &mut x); // the positions, since nothing moves yet
/// assert!((step.value(&x).value.read() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceImplicitEuler;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_opencl::{DeviceContacts, DeviceSum, default_device};
/// use coarsen_sparse::{Bsr, Contacts};
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let elastic = backend.matrix(&Bsr::<f64>::identity(2, 1)?)?;
/// let mut host = Contacts::<f64>::new(2, 1)?;
/// host.replace(&[(0, 1)], &[10.0])?;
/// let mut contact = DeviceContacts::new(&backend, 2, 1, 4)?;
/// contact.replace(&host)?;
/// let (x, mut y) = (backend.vector(&[1.0, 2.0])?, backend.zeros(2)?);
/// DeviceSum::new(&elastic, &contact)?.apply(&x, &mut y);
/// let mut found = vec![0.0; 2];
/// backend.read(&y, &mut found)?;
/// assert_eq!(found, [21.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceSum;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_opencl::{DeviceSymmetric, default_device};
/// use coarsen_sparse::assembly::from_triplets;
/// let Ok(backend) = default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let a = from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 4.0)])?;
/// let (x, mut y) = (backend.vector(&[1.0, 0.0])?, backend.zeros(2)?);
/// DeviceSymmetric::new(&backend, &a)?.apply(&x, &mut y);
/// assert_eq!(y.norm(), 17.0_f64.sqrt());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceSymmetric;

/// ```
/// use coarsen_backend::Backend;
/// use coarsen_core::{Scalar, Vector};
/// use coarsen_opencl::default_device;
/// let Ok(backend) = default_device::<f32>() else { return Ok(()) }; // no OpenCL here
/// let (x, mut y) = (backend.vector(&[1.0, 2.0])?, backend.vector(&[3.0, 4.0])?);
/// y.axpby(&backend.vector(&[2.0])?.scalar(2.0), &x, &y.scalar(1.0));
/// assert_eq!(x.dot(&y).read(), 21.0);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[doc(inline)]
pub use coarsen_device::DeviceVector;
