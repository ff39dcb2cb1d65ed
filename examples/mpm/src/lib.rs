//! Simulates solids by the implicit material point method. Copy this example to start your own.
//!
//! A time step minimises an incremental potential over increments of velocity on a grid ([`energy`]), by any
//! descent method with any preconditioner ([`solver`]). Particles carry mass, velocity and deformation; they are
//! transferred to the grid and back ([`grid`]). Scenes are files ([`scene`]): twelve are built in, others are read.
//!
//! *Reference* Wang, Li, Fang, Zhang, Gao, Tang, Kaufman & Jiang 2020, "Hierarchical Optimization Time
//! Integration for CFL-rate MPM Stepping" (HOT), ACM TOG 39(3):21. `benches/papers/hot` repeats its tables and figures.
//!
//! | file | what |
//! |---|---|
//! | [`step`] | a time step, part by part |
//! | [`weights`], [`particles`] | quadratic B-splines; particles and bodies, energy and momentum |
//! | [`grid`] | the sparse grid; transfers |
//! | [`shape`], [`collider`], [`constraints`] | shapes; colliders; what they prescribe at nodes |
//! | [`energy`] | the incremental potential, its gradient and its Hessian |
//! | [`solver`] | the solvers of a step by name |
//! | [`material`] | materials by name; von Mises, granular flow |
//! | [`scene`], [`seed`] | scenes; particles of shapes and meshes |
//! | [`state`], [`rows`], [`output`] | what is written |
//! | [`fault`], [`options`] | errors; the command line |

pub mod collider;
pub mod constraints;
pub mod energy;
pub mod fault;
pub mod grid;
pub mod material;
pub mod options;
pub mod output;
pub mod particles;
pub mod rows;
pub mod scene;
pub mod seed;
pub mod solver;
pub mod state;
pub mod step;
pub mod weights;

pub use examples_scene::shape;
