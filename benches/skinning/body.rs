//! The armadillo of Xian, Tong & Liu 2019 at any resolution, attached at its ears.

use std::path::PathBuf;

use coarsen::elastic::{Attachments, CoRotational, Curvature, ImplicitEuler, Lame, Plus, Tetrahedra};
use coarsen::prelude::*;
use coarsen_core::Objective;
use coarsen_mesh::Mesh;

use crate::Outcome;

/// The time step h in seconds.
const STEP: f64 = 1.0 / 30.0;

/// Gravity in m/s², along the longest side of the bounding box.
const GRAVITY: f64 = -9.81;

pub(crate) type Energy = Plus<Tetrahedra<CoRotational>, Attachments>;

/// A body in motion.
pub(crate) struct Body {
    /// The mesh of the body at rest.
    pub(crate) mesh: Mesh,
    pub(crate) f: ImplicitEuler<Energy>,
    pub(crate) x: Vec<f64>,
    v: Vec<f64>,
    up: usize,
}

/// Returns the mesh of 13K vertices, or with `cells` a voxel mesh of it, with `cells` cubes along the longest
/// side, each divided into tetrahedra. The longest side is scaled to 2.
pub(crate) fn armadillo(cells: Option<usize>) -> Outcome<Mesh> {
    let data = std::env::var_os("COARSEN_DATA").map(PathBuf::from).ok_or("COARSEN_DATA is not set")?;
    let mesh = coarsen_mesh::read_tetrahedra(data.join("meshes/ipc_Armadillo13K.msh.gz"))?.oriented();
    Ok(match cells {
        None => mesh.without_unused().scaled(2.0),
        Some(cells) => mesh.voxels(cells).map_err(|problem| problem.to_string())?.scaled(2.0),
    })
}

impl Body {
    /// Creates the body at rest, attached at the highest 1 % of its vertices.
    pub(crate) fn new(mesh: Mesh, mu: f64) -> Outcome<Self> {
        let [low, high] = mesh.bounds();
        let up = (0..3).max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b]))).unwrap_or(1);
        let nodes = mesh.positions.len();
        let held = vec![false; nodes];
        let solid = Tetrahedra::new(CoRotational, &mesh, &held, |_| Lame { lambda: 0.0, mu })?;
        let masses = solid.masses(1.0);
        let mut pins = Attachments::new(nodes)?;
        let mut heights: Vec<f64> = mesh.positions.iter().map(|x| x[up]).collect();
        heights.sort_unstable_by(|a, b| b.total_cmp(a));
        let ears = heights[nodes / 100];
        for (i, x) in mesh.positions.iter().enumerate().filter(|(_, x)| x[up] > ears) {
            pins.attach(i, *x, 1.0)?;
        }
        let mut f = ImplicitEuler::new(Plus::new(solid, pins)?, &masses, STEP)?;
        f.curvature = Curvature::Constant;
        let x = mesh.positions.as_flattened().to_vec();
        Ok(Self { mesh, f, v: vec![0.0; x.len()], x, up })
    }

    /// Begins a time step; returns −∇f(x + h v), the right-hand side of the first iteration.
    pub(crate) fn begin(&mut self) -> Outcome<Vec<f64>> {
        let mut gravity = [0.0; 3];
        gravity[self.up] = GRAVITY;
        self.f.begin(&self.x, &self.v, gravity)?;
        let start: Vec<f64> = self.x.iter().zip(&self.v).map(|(x, v)| x + STEP * v).collect();
        let mut g = vec![0.0; start.len()];
        self.f.gradient(&start, &mut g);
        Ok(g.into_iter().map(|g| -g).collect())
    }

    /// Ends the time step after one iteration: x increases by h v + `direction`, and v is this increase / h.
    pub(crate) fn end(&mut self, direction: &[f64]) {
        for ((x, v), d) in self.x.iter_mut().zip(&mut self.v).zip(direction) {
            let next = *x + STEP * *v + d;
            *v = (next - *x) / STEP;
            *x = next;
        }
    }

    /// The matrix of Projective Dynamics, M/h² + L, where L includes the attachments.
    pub(crate) fn matrix(&mut self) -> Bsr<f64> {
        let x = self.x.clone();
        self.f.hessian(&x).clone()
    }
}
