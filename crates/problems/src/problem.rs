//! A problem of the gallery, and its name as text.

use coarsen_constraints::{ConstraintError, Constraints, Filtered, prefilter};
use coarsen_sparse::{Bsr, NearKernel, System};

use crate::{
    Material, NumpyRandom, ProblemError, Sequence, anisotropic2d, cloth, elasticity3d, garment, graph,
    jump3d, pinned, poisson2d, poisson3d, softbody, softcube,
};

/// A symmetric positive definite matrix with what is known about it.
///
/// ```
/// use coarsen_problems::{Options, Problem};
/// let p = Problem::parse("elasticity3d:4", &Options::default())?;
/// assert_eq!((p.matrix.shape(), p.matrix.block()), ((300, 300), (3, 3)));
/// assert_eq!((p.positions.len(), p.near_kernel.vectors()), (100, 6));
/// let b = p.right_hand_side(1);
/// # assert_eq!(b.len(), 300);
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Problem {
    /// NAME:SIZE with the step of `cloth` and a `jump` that is not 1, as `cloth:101 dt=0.002`, `elasticity3d:10 jump=10000`.
    pub name: String,
    /// The matrix, in its natural blocks: 3x3 for displacements, 1x1 otherwise.
    pub matrix: Bsr<f64>,
    /// One point per block row, in metres; 2D points have z = 0.
    pub positions: Vec<[f64; 3]>,
    /// Constants, or rigid-body modes about the centroid with zeros on held rows.
    pub near_kernel: NearKernel,
    /// What x must satisfy beside, where there is something: see [`prefilter`](Self::prefilter).
    pub constraints: Option<Constraints>,
}

/// What a problem may be told beside its size; `None` leaves the usual value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// `cloth`, `pinned`, `garment`, `softbody`: the time step in seconds, usually 0.002 for cloth and pinned and 0.01 for the others.
    pub dt: Option<f64>,
    /// `elasticity3d`: how much stiffer the hard blocks are, usually 1, which is a homogeneous body.
    pub jump: Option<f64>,
    /// `pinned`: the share of vertices with a constraint, 0 to 1, usually 0.1.
    pub share: Option<f64>,
}

impl Problem {
    /// The names [`parse`](Self::parse) knows with a number as size; `garment` and `softbody` take a file instead.
    pub const NAMES: [&str; 8] =
        ["poisson2d", "poisson3d", "anisotropic2d", "jump3d", "elasticity3d", "cloth", "pinned", "graph"];

    /// The problem of a text NAME:SIZE, as a user types it.
    ///
    /// *Use* the functions of the same names where the problem is known at compile time.
    /// *Cost* linear in the stored entries. `graph`, whose memory accesses have no order, is
    /// the slowest by far.
    ///
    /// # Errors
    /// [`ProblemError::Spec`] for a text of another form, [`ProblemError::Unknown`] for another name,
    /// [`ProblemError::NotSystem`] for that of a sequence, [`ProblemError::Option`] for an option that the problem would ignore, otherwise as the function of that name.
    pub fn parse(spec: &str, options: &Options) -> Result<Self, ProblemError> {
        let malformed = || ProblemError::Spec { found: spec.to_owned() };
        let (name, size) = spec.split_once(':').ok_or_else(malformed)?;
        if let ("garment" | "softbody", false) = (name, size.is_empty()) {
            return Self::of_mesh(name, size, options);
        }
        if Sequence::NAMES.contains(&name) {
            return Err(ProblemError::NotSystem { name: name.to_owned() });
        }
        if !(name.is_empty() || Self::is_name(name)) {
            return Err(ProblemError::Unknown { name: name.to_owned() });
        }
        let n: usize = size.parse().map_err(|_| malformed())?;
        let Options { dt, jump, share } = *options;
        // What a problem would ignore.
        let ignored = [
            (dt.is_some() && !matches!(name, "cloth" | "pinned"), "dt"),
            (jump.is_some() && name != "elasticity3d", "jump"),
            (share.is_some() && name != "pinned", "share"),
        ];
        if let Some((_, option)) = ignored.into_iter().find(|(ignored, _)| *ignored)
            && Self::NAMES.contains(&name)
        {
            return Err(ProblemError::Option { problem: name.to_owned(), option });
        }
        match name {
            "poisson2d" => poisson2d(n),
            "poisson3d" => poisson3d(n),
            "anisotropic2d" => anisotropic2d(n),
            "jump3d" => jump3d(n),
            "elasticity3d" => elasticity3d(n, jump.unwrap_or(1.0)),
            "cloth" => cloth(n, dt.unwrap_or(0.002)),
            "pinned" => pinned(n, dt.unwrap_or(0.002), share.unwrap_or(0.1)),
            "graph" => graph(n),
            _ => Err(ProblemError::Unknown { name: name.to_owned() }),
        }
    }

    /// Whether the gallery holds a single system of this name.
    pub(crate) fn is_name(name: &str) -> bool {
        Self::NAMES.contains(&name) || matches!(name, "garment" | "softbody")
    }

    /// A problem on a mesh from a file.
    fn of_mesh(name: &str, size: &str, options: &Options) -> Result<Self, ProblemError> {
        for (given, option) in [(options.jump, "jump"), (options.share, "share")] {
            if given.is_some() {
                return Err(ProblemError::Option { problem: name.to_owned(), option });
            }
        }
        let dt = options.dt.unwrap_or(0.01);
        let homogeneous = |_: usize, _: [f64; 3]| 1.0;
        if name == "garment" {
            let divided = |text: &'_ str| {
                text.rsplit_once('@').and_then(|(file, k)| Some((file.to_owned(), k.parse().ok()?)))
            };
            let springs =
                size.rsplit_once('@').and_then(|(rest, share)| Some((divided(rest)?, share.parse().ok()?)));
            let ((file, divisions), contact) =
                springs.unwrap_or_else(|| (divided(size).unwrap_or_else(|| (size.to_owned(), 0)), 0.0));
            return garment(&file, divisions, dt, contact);
        }
        match size.parse() {
            Ok(n) => softcube(n, dt, Material::NeoHookean, &homogeneous),
            Err(_) => softbody(size, dt, Material::NeoHookean, &homogeneous),
        }
    }

    /// Standard normal numbers, one per row: [`random_vector`] of the matrix' size.
    pub fn right_hand_side(&self, seed: u64) -> Vec<f64> {
        random_vector(self.matrix.shape().0, seed)
    }

    /// The system that respects the constraints, where there are some.
    ///
    /// # Errors
    /// As [`coarsen_constraints::prefilter`]; those of the gallery do not contradict each other.
    pub fn prefilter(&self) -> Result<Option<Filtered<f64>>, ConstraintError> {
        self.constraints.as_ref().map(|constraints| prefilter(self.system(), constraints)).transpose()
    }

    /// The parts as a builder of preconditioners takes them.
    pub fn system(&self) -> System<'_, f64> {
        System {
            positions: Some(&self.positions),
            near_kernel: Some(&self.near_kernel),
            ..System::from(&self.matrix)
        }
    }
}

/// n standard normal numbers: [`NumpyRandom::normal`] of a seed, one after the other.
///
/// A right-hand side with all frequencies in it. These are not the numbers of NumPy's `standard_normal`.
///
/// ```
/// assert_eq!(coarsen_problems::random_vector(3, 1), coarsen_problems::random_vector(5, 1)[..3]);
/// ```
pub fn random_vector(n: usize, seed: u64) -> Vec<f64> {
    let mut random = NumpyRandom::new(seed);
    (0..n).map(|_| random.normal()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_texts_are_named() {
        let error = |spec: &str, options: Options| Problem::parse(spec, &options).unwrap_err();
        let none = Options::default();
        let (dt, jump) = (Options { dt: Some(0.01), ..none }, Options { jump: Some(10.0), ..none });
        for spec in ["cloth", "cloth:", "cloth:ten", "cloth:-5", "cloth:1e3", "garment:", ":", ""] {
            assert_eq!(error(spec, none), ProblemError::Spec { found: spec.to_owned() });
        }
        assert_eq!(error("poison2d:ten", none), ProblemError::Unknown { name: "poison2d".to_owned() });
        assert_eq!(error("stack:5", none), ProblemError::NotSystem { name: "stack".to_owned() });
        let unknown = error("poison2d:10", dt);
        assert_eq!(unknown, ProblemError::Unknown { name: "poison2d".to_owned() });
        for name in Problem::NAMES {
            assert!(unknown.to_string().contains(name), "{unknown}");
        }
        for (spec, options, option) in [
            ("poisson2d:4", dt, "dt"),
            ("graph:4", jump, "jump"),
            ("cloth:4", jump, "jump"),
            ("elasticity3d:5", dt, "dt"),
            ("pinned:4", jump, "jump"),
            ("cloth:4", Options { share: Some(0.1), ..none }, "share"),
        ] {
            let problem = spec.split(':').next().unwrap_or_default().to_owned();
            assert_eq!(error(spec, options), ProblemError::Option { problem, option });
        }
    }

    #[test]
    fn wrong_sizes_and_values_are_named() {
        let none = Options::default();
        for spec in
            ["poisson2d:0", "jump3d:0", "jump3d:12", "elasticity3d:0", "cloth:2", "pinned:2", "graph:0"]
        {
            let error = Problem::parse(spec, &none).unwrap_err();
            assert!(matches!(error, ProblemError::Size { .. }), "{spec}: {error}");
            assert!(error.to_string().starts_with(spec), "{spec}: {error}");
        }
        for name in Problem::NAMES {
            let spec = format!("{name}:{}", 1_u64 << 62);
            let error = Problem::parse(&spec, &none).unwrap_err();
            assert!(matches!(error, ProblemError::TooLarge { .. }), "{spec}: {error}");
        }
        for jump in [1e-300, 1e13, 1e305] {
            assert!(matches!(elasticity3d(5, jump), Err(ProblemError::Contrast { .. })));
        }
        for jump in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(elasticity3d(5, jump), Err(ProblemError::Value { option: "jump", .. })));
            assert!(matches!(cloth(5, jump), Err(ProblemError::Value { option: "dt", .. })));
        }
        assert!(matches!(cloth(5, 1e200), Err(ProblemError::Sparse(_))));
        assert!(matches!(elasticity3d(7, 10.0), Err(ProblemError::Size { multiple: 5, .. })));
    }
}
