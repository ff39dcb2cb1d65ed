//! Energies of elements for devices.

/// The elements of an energy, with the source of a device that computes one of them.
///
/// `coarsen_device::DeviceElements` is made from it. The source is OpenCL C with three functions, with
/// `coarsen_element_max_step` if elements bound steps, and with `coarsen_element_renew` if their numbers are renewed. `elements.cl` of `coarsen_kernels` declares and calls them. `READS` states the counts of corners and
/// numbers; others do not compile. The functions compute what [`Element`](crate::Element) computes, with the
/// same operations in the same order: + - * / and √ of f64 then have the bits of the host. *Memory* a copy of all elements.
///
/// ```
/// use coarsen_elastic::{Potential, Spring, Springs};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[true, false], &[[5.0; 3], [0.0; 3]])?;
/// let kernel = &rope.kernels()?[0];
/// assert_eq!((kernel.corners, &kernel.elements[..], &kernel.data[..]), (2, &[1, 0][..], &[10.0, 1.0][..]));
/// assert_eq!(kernel.held[0], [5.0; 3]); // node 1 of one free node: the first held position
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ElementKernel {
    /// OpenCL C.
    pub source: &'static str,
    /// The number K of nodes of an element.
    pub corners: usize,
    /// The number of free nodes.
    pub free: usize,
    /// K nodes for each element: the number of a free node, or the number of free nodes plus an index of `held`.
    pub elements: Vec<u32>,
    /// Positions of held nodes in m.
    pub held: Vec<[f64; 3]>,
    /// The numbers that the source reads, equally many for each element.
    pub data: Vec<f64>,
    /// The numbers that the source reads for all elements.
    pub common: Vec<f64>,
    /// Whether elements bound steps.
    pub bounds_steps: bool,
    /// Whether the source computes numbers of the elements at the start of each step, as [`Potential::renew`](crate::Potential::renew).
    pub renewed: bool,
}

/// A surface of triangles whose parts touch, with the sources of a device that finds pairs of them and computes their energy.
///
/// `coarsen_device::DeviceClothContact` is made from it. A pair is a vertex and a triangle, or two edges. Nodes are numbered
/// as those of [`ElementKernel::elements`].
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceKernel {
    /// The energy of a pair: elements of four nodes, of which there are none yet. Their numbers are the kind of the pair and
    /// the squared lengths of its edges at rest.
    pub pair: ElementKernel,
    /// Friction of the pairs that are near at the start of a step, if there is any. Its numbers begin with those of a pair; the
    /// others are [renewed](ElementKernel::renewed).
    pub friction: Option<ElementKernel>,
    /// OpenCL C of the distance of a pair and of its continuous detection.
    pub detection: &'static str,
    /// All vertices.
    pub vertices: Vec<u32>,
    /// All edges.
    pub edges: Vec<[u32; 2]>,
    /// All triangles.
    pub triangles: Vec<[u32; 3]>,
    /// The squared length of each edge at rest, m².
    pub rest: Vec<f64>,
    /// The distance at which contact begins, m.
    pub thickness: f64,
    /// The distance that steps keep, m.
    pub min_distance: f64,
}

/// The OpenCL C files of this crate with these names, one after the other.
macro_rules! kernel {
    ($($file:literal),*) => {
        concat!($(include_str!(concat!($file, ".cl"))),*)
    };
}
pub(crate) use kernel;
