//! Sequences of systems that change from step to step: sheets move, and contacts appear and disappear.
//!
//! > A_k = E(x_k) + C_k,  E = M + Δt² K    (1)
//!
//! E is the elastic part as in [`cloth`](crate::cloth()), on a constant pattern. C contains Δt² κ n nᵀ for
//! every contact with normal n. κ is a thousand times the stiffness of the membrane (Wu, Wang & Wang 2022,
//! §8). Positions are given by a formula and not by time integration, so that no step depends on the solver.
//!
//! | file | what |
//! |---|---|
//! | [`elastic`] | E of several sheets, assembled in place |
//! | [`cloth_contact`] | a sheet pressed on a sphere |
//! | [`motion`] | the trait of the two sequences: positions and contacts of a step |
//! | [`stack`] | four sheets with random springs |

mod cloth_contact;
mod elastic;
mod motion;
mod stack;

use coarsen_sparse::{Bsr, Contacts, NearKernel, Stencil, Sum, System};

use crate::cloth::FABRIC;
use crate::{Options, ProblemError, names, random_vector};
use cloth_contact::ClothContact;
use elastic::Elastic;
use motion::Motion;
use stack::Stack;

/// The stiffness ratio κ / k of contact and membrane.
const STIFFER: f64 = 1000.0;

/// A sequence of systems. Every step changes the values of the matrix, the contacts and their pattern, and
/// the positions.
///
/// ```
/// use coarsen_problems::{Options, Sequence};
/// let mut s = Sequence::parse("cloth-contact:10", 5, &Options::default())?;
/// let mut pairs = vec![s.pairs()];
/// while s.advance()? {
///     pairs.push(s.pairs());
/// }
/// assert_eq!(pairs, [0, 75, 150, 225, 300]); // 3 N² at last
/// assert!(s.touched().len() > 50); // rows of the last step whose pairs came or went
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
pub struct Sequence {
    name: String,
    steps: usize,
    step: usize,
    dt: f64,
    motion: Box<dyn Motion>,
    elastic: Elastic,
    contacts: Vec<(Stencil, [f64; 3])>,
    stencils: Vec<Stencil>,
    stiffness: Vec<f64>,
    contact: Contacts<f64>,
    before: Contacts<f64>,
    touched: Vec<u32>,
    near_kernel: NearKernel,
}

impl Sequence {
    /// The names that [`parse`](Self::parse) accepts.
    pub const NAMES: [&str; 2] = names::SEQUENCES;

    /// Whether the name in a text NAME:SIZE is a sequence.
    pub fn is_named(spec: &str) -> bool {
        spec.split_once(':').is_some_and(|(name, _)| Self::NAMES.contains(&name))
    }

    /// Returns the sequence for a text NAME:SIZE at its first step. The default time step is 0.01 s.
    ///
    /// # Errors
    /// The errors of [`Problem::parse`](crate::Problem::parse), [`ProblemError::NotSequence`] for the name of
    /// a single system, and [`ProblemError::Steps`] for `steps` = 0.
    pub fn parse(spec: &str, steps: usize, options: &Options) -> Result<Self, ProblemError> {
        let malformed = || ProblemError::Spec { found: spec.to_owned() };
        let (name, size) = spec.split_once(':').ok_or_else(malformed)?;
        if names::is_system(name) {
            return Err(ProblemError::NotSequence { name: name.to_owned() });
        }
        let n: usize = size.parse().map_err(|_| malformed())?;
        for (given, option) in [(options.jump.is_some(), "jump"), (options.share.is_some(), "share")] {
            if given {
                return Err(ProblemError::Option { problem: name.to_owned(), option });
            }
        }
        let dt = options.dt.unwrap_or(0.01);
        ProblemError::check_positive("dt", dt)?;
        if steps == 0 {
            return Err(ProblemError::Steps);
        }
        let (motion, sheet, light): (Box<dyn Motion>, _, _) = match name {
            "cloth-contact" => {
                let (motion, sheet) = ClothContact::new(n)?;
                (Box::new(motion), sheet, 2 * (n - 1) * (n - 1))
            }
            "stack" => {
                let (motion, sheet) = Stack::new(n)?;
                let all = sheet.triangles.len();
                (Box::new(motion), sheet, all)
            }
            _ => return Err(ProblemError::Unknown { name: name.to_owned() }),
        };
        let nodes = sheet.positions.len();
        let near_kernel = NearKernel::rigid_body_modes(&sheet.positions, 3)?;
        let mut sequence = Self {
            name: format!("{name}:{n} dt={dt}"),
            steps,
            step: 0,
            dt,
            motion,
            elastic: Elastic::new(sheet, light)?,
            contacts: Vec::new(),
            stencils: Vec::new(),
            stiffness: Vec::new(),
            contact: Contacts::new(nodes, 3)?,
            before: Contacts::new(nodes, 3)?,
            touched: Vec::new(),
            near_kernel,
        };
        sequence.make()?;
        Ok(sequence)
    }

    /// Advances to the next step. After the last step returns false and changes nothing.
    ///
    /// *Cost*: an assembly of the elastic values in place, and an assembly of the contacts with their
    /// pattern.
    ///
    /// # Errors
    /// [`ProblemError::Sparse`] for a time step so large that values overflow.
    pub fn advance(&mut self) -> Result<bool, ProblemError> {
        if self.step + 1 == self.steps {
            return Ok(false);
        }
        self.step += 1;
        std::mem::swap(&mut self.contact, &mut self.before);
        self.make()?;
        self.contact.touched_since(&self.before, &mut self.touched);
        Ok(true)
    }

    /// Computes (1) for the current step.
    fn make(&mut self) -> Result<(), ProblemError> {
        let positions = &mut self.elastic.sheet.positions;
        self.motion.place(self.step, self.steps, positions);
        self.contacts.clear();
        self.motion.touch(self.step, self.steps, positions, &mut self.contacts);
        self.elastic.assemble(self.dt)?;
        let kappa = self.dt * self.dt * STIFFER * FABRIC.stretch;
        self.stencils.clear();
        self.stiffness.clear();
        for (stencil, n) in &self.contacts {
            self.stencils.push(*stencil);
            self.stiffness.extend((0..9).map(|e| kappa * (n[e / 3] * n[e % 3])));
        }
        self.contact.assemble(&self.stencils, &self.stiffness)?;
        self.near_kernel = NearKernel::rigid_body_modes(&self.elastic.sheet.positions, 3)?;
        Ok(())
    }

    /// NAME:SIZE with the time step.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The current step, from 0.
    pub fn step(&self) -> usize {
        self.step
    }

    /// The number of pairs of nodes in contact: three for each contact of a vertex with a face.
    pub fn pairs(&self) -> usize {
        self.stencils.iter().map(|stencil| stencil.nodes().len() - 1).sum()
    }

    /// The contacts of the current step.
    pub fn stencils(&self) -> &[Stencil] {
        &self.stencils
    }

    /// The stiffness of each contact, 3x3.
    pub fn stiffness(&self) -> &[f64] {
        &self.stiffness
    }

    /// The elastic part E.
    pub fn elastic(&self) -> &Bsr<f64> {
        &self.elastic.matrix
    }

    /// The contact part C.
    pub fn contact(&self) -> &Contacts<f64> {
        &self.contact
    }

    /// The block rows whose contact pairs changed in this step, in increasing order.
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// One position per node, in metres.
    pub fn positions(&self) -> &[[f64; 3]] {
        &self.elastic.sheet.positions
    }

    /// The triangles of all sheets, for pictures.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.elastic.sheet.triangles
    }

    /// The system matrix E + C as an operator.
    pub fn sum(&self) -> Sum<'_, f64> {
        Sum { elastic: self.elastic(), contact: &self.contact }
    }

    /// All parts of the system, as the input of builders of preconditioners.
    pub fn system(&self) -> System<'_, f64> {
        System {
            contact: Some(&self.contact),
            positions: Some(self.positions()),
            near_kernel: Some(&self.near_kernel),
            ..System::from(self.elastic())
        }
    }

    /// Returns a [`random_vector`] of the size of the matrix as right-hand side, the same in every step.
    pub fn right_hand_side(&self, seed: u64) -> Vec<f64> {
        random_vector(self.elastic().shape().0, seed)
    }
}
