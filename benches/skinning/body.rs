//! The armadillo of Xian, Tong & Liu 2019 at any resolution, attached at its ears, and their sheet of springs,
//! attached at two corners.

use std::path::PathBuf;

use coarsen::elastic::{
    Attachments, CoRotational, Curvature, ImplicitEuler, Lame, Plus, Potential, Spring, Springs, Tetrahedra,
};
use coarsen::prelude::*;
use coarsen_core::Objective;
use coarsen_mesh::Mesh;

use crate::Outcome;

/// The time step h in seconds.
const STEP: f64 = 1.0 / 30.0;

/// Gravity in m/s², along the longest side of the bounding box.
const GRAVITY: f64 = -9.81;

pub(crate) type Solid = Plus<Tetrahedra<CoRotational>, Attachments>;
pub(crate) type Sheet = Plus<Springs, Attachments>;

/// A body in motion.
pub(crate) struct Body<P = Solid> {
    /// The mesh of the body at rest.
    pub(crate) mesh: Mesh,
    pub(crate) f: ImplicitEuler<P>,
    pub(crate) x: Vec<f64>,
    pub(crate) v: Vec<f64>,
    /// The number of tetrahedra or springs.
    pub(crate) elements: usize,
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
        let elements = mesh.tetrahedra.len();
        Ok(Self { mesh, f, v: vec![0.0; x.len()], x, elements, up })
    }
}

impl Body<Sheet> {
    /// Creates a horizontal sheet of n x n vertices and side 2 with six springs per cell, attached at two
    /// corners. Stiffnesses are those of Table 4: springs 100 and, across two cells, 20; attachments 100. The
    /// mass per area is 1.
    pub(crate) fn sheet(n: usize) -> Outcome<Self> {
        let h = 2.0 / (n - 1) as f64;
        let positions: Vec<_> = (0..n * n).map(|v| [(v % n) as f64 * h, 0.0, (v / n) as f64 * h]).collect();
        let mut springs = Vec::new();
        for (i, j) in (0..n * n).map(|v| (v % n, v / n)) {
            for (di, dj, k) in [(1, 0, 100.0), (0, 1, 100.0), (1, 1, 100.0), (2, 0, 20.0), (0, 2, 20.0)] {
                if i + di < n && j + dj < n {
                    springs.push((j * n + i, (j + dj) * n + i + di, k));
                }
            }
            if i + 1 < n && j + 1 < n {
                springs.push((j * n + i + 1, (j + 1) * n + i, 100.0));
            }
        }
        let elements = springs.len();
        let spring = |(a, b, stiffness): (usize, usize, f64)| {
            let d: f64 = (0..3).map(|k| (positions[a][k] - positions[b][k]).powi(2)).sum();
            Spring { ends: [a as u32, b as u32], stiffness, length: d.sqrt() }
        };
        let springs =
            Springs::new(springs.into_iter().map(spring).collect(), &vec![false; n * n], &positions)?;
        let mut pins = Attachments::new(n * n)?;
        for corner in [0, n - 1] {
            pins.attach(corner, positions[corner], 100.0)?;
        }
        let masses = vec![4.0 / (n * n) as f64; n * n];
        let mut f = ImplicitEuler::new(Plus::new(springs, pins)?, &masses, STEP)?;
        f.curvature = Curvature::Constant;
        let x = positions.as_flattened().to_vec();
        let mesh = Mesh { positions, ..Mesh::default() };
        Ok(Self { mesh, f, v: vec![0.0; x.len()], x, elements, up: 1 })
    }
}

impl<P: Potential> Body<P> {
    /// x + h v, the first guess of a time step.
    pub(crate) fn start(&self) -> Vec<f64> {
        self.x.iter().zip(&self.v).map(|(x, v)| x + STEP * v).collect()
    }

    /// Begins a time step; returns −∇f(x + h v), the right-hand side of the first iteration.
    pub(crate) fn begin(&mut self) -> Outcome<Vec<f64>> {
        let mut gravity = [0.0; 3];
        gravity[self.up] = GRAVITY;
        self.f.begin(&self.x, &self.v, gravity)?;
        let start = self.start();
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
