//! Materials: the elastic energy of a mesh for a material, and the masses of the nodes.

use std::collections::HashMap;

use clap::ValueEnum;
use coarsen::elastic::{
    Arap, BaraffWitkin, BodyError, CoRotational, Density, Fibers, FixedCoRotated, Lame, Potential, Spring,
    Springs, StVenantKirchhoff, StableNeoHookean, Tetrahedra,
};
use coarsen::mesh::Mesh;
use coarsen::mesh::vector::{cross, dot, sub};
use examples_scene::fields;

/// The thickness of sheets in m.
pub(crate) const THICKNESS: f64 = 1e-3;

/// The stiffness of bending springs as a share of that of stretching springs: Xian, Tong & Liu 2019, Table 4.
const BENDING: f64 = 0.2;

/// A material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Material {
    /// As rigid as possible: μ ‖F − R‖².
    Arap,
    /// Co-rotational linear elasticity.
    Corotational,
    /// The same with an energy of the volume.
    FixedCorotated,
    /// Stable neo-Hookean elasticity.
    NeoHookean,
    /// Hooke's law in the Green strain.
    StVenantKirchhoff,
    /// Stretching along three axes, and shearing between them.
    BaraffWitkin,
    /// Springs along edges, and across them in sheets.
    MassSpring,
}

fields!(unit Material);

/// A stress at a deformation gradient.
pub(crate) type Law = fn(Lame, &[[f64; 3]; 3]) -> [[f64; 3]; 3];

/// The elastic moduli of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moduli {
    /// Young's modulus, Pa.
    pub(crate) young: f64,
    /// Poisson's ratio; `arap` and `baraff-witkin` have 0, and springs 1/4.
    pub(crate) poisson: f64,
}

impl Material {
    /// Returns the default material of a mesh: neo-Hookean for tetrahedra, otherwise springs.
    pub(crate) fn fitting(mesh: &Mesh) -> Self {
        if mesh.tetrahedra.is_empty() { Self::MassSpring } else { Self::NeoHookean }
    }

    /// Returns the elastic energy of a mesh whose positions are at rest. `side` is the number of vertices
    /// along a side if the mesh is a sheet. Returns `None` if the material needs tetrahedra and the mesh has
    /// none.
    pub(crate) fn energy(
        self,
        mesh: &Mesh,
        side: Option<usize>,
        moduli: Moduli,
    ) -> Result<Option<Box<dyn Potential>>, BodyError> {
        if self == Self::MassSpring {
            let springs = springs(mesh, side, moduli.young);
            let free = vec![false; mesh.positions.len()];
            return Ok(Some(Box::new(Springs::new(springs, &free, &mesh.positions)?)));
        }
        if mesh.tetrahedra.is_empty() {
            return Ok(None);
        }
        let lame = self.lame(moduli);
        Ok(Some(match self {
            Self::Arap => solid(Arap, mesh, lame)?,
            Self::Corotational => solid(CoRotational, mesh, lame)?,
            Self::FixedCorotated => solid(FixedCoRotated, mesh, lame)?,
            Self::StVenantKirchhoff => solid(StVenantKirchhoff, mesh, lame)?,
            Self::BaraffWitkin => {
                let fibers = Fibers { stretch: 2.0 * lame.mu, shear: lame.mu };
                Box::new(BaraffWitkin::new(mesh, &vec![false; mesh.positions.len()], |_| fibers)?)
            }
            Self::NeoHookean | Self::MassSpring => solid(StableNeoHookean, mesh, lame)?,
        }))
    }

    fn lame(self, moduli: Moduli) -> Lame {
        match self {
            Self::Arap | Self::BaraffWitkin => Lame::new(moduli.young, 0.0), // λ = 0, μ = E/2
            _ => Lame::new(moduli.young, moduli.poisson),
        }
    }

    /// The moduli and the first Piola-Kirchhoff stress at a deformation gradient, if there is one: springs have forces alone,
    /// and of baraff-witkin it depends on axes.
    pub(crate) fn law(self, moduli: Moduli) -> (Lame, Option<Law>) {
        let law: Option<Law> = match self {
            Self::Arap => Some(|lame, f| Arap.stress(lame, f)),
            Self::Corotational => Some(|lame, f| CoRotational.stress(lame, f)),
            Self::FixedCorotated => Some(|lame, f| FixedCoRotated.stress(lame, f)),
            Self::StVenantKirchhoff => Some(|lame, f| StVenantKirchhoff.stress(lame, f)),
            Self::NeoHookean => Some(|lame, f| StableNeoHookean.stress(lame, f)),
            Self::BaraffWitkin | Self::MassSpring => None,
        };
        (self.lame(moduli), law)
    }
}

fn solid(density: impl Density + 'static, mesh: &Mesh, lame: Lame) -> Result<Box<dyn Potential>, BodyError> {
    Ok(Box::new(Tetrahedra::new(density, mesh, &vec![false; mesh.positions.len()], |_| lame)?))
}

/// The mass of each node in kg: a quarter of the mass of each of its tetrahedra, or a third of each of its
/// triangles.
pub(crate) fn masses(mesh: &Mesh, density: f64) -> Vec<f64> {
    let at = |v: u32| mesh.positions[v as usize];
    let mut masses = vec![0.0; mesh.positions.len()];
    for t in &mesh.tetrahedra {
        let volume = volume(t.map(at));
        t.iter().for_each(|&v| masses[v as usize] += 0.25 * density * volume);
    }
    if mesh.tetrahedra.is_empty() {
        for t in &mesh.triangles {
            let [a, b, c] = t.map(at);
            let n = cross(sub(b, a), sub(c, a));
            let mass = density * THICKNESS * 0.5 * dot(n, n).sqrt();
            t.iter().for_each(|&v| masses[v as usize] += mass / 3.0);
        }
    }
    masses
}

/// The volume of a tetrahedron with these corners; negative if it is inverted.
pub(crate) fn volume([a, b, c, d]: [[f64; 3]; 4]) -> f64 {
    dot(cross(sub(b, a), sub(c, a)), sub(d, a)) / 6.0
}

/// The springs of a mesh, sorted by their ends; `side` is the number of vertices along a side of a sheet.
fn springs(mesh: &Mesh, side: Option<usize>, young: f64) -> Vec<Spring> {
    let stiffness = match side {
        Some(side) => grid(side, young * THICKNESS),
        None if mesh.tetrahedra.is_empty() => cloth(mesh, young * THICKNESS),
        None => network(mesh, young),
    };
    let at = |v: u32| mesh.positions[v as usize];
    let spring = |(ends, stiffness): ([u32; 2], f64)| {
        let d = sub(at(ends[0]), at(ends[1]));
        Spring { ends, stiffness, length: dot(d, d).sqrt() }
    };
    let mut springs: Vec<_> = stiffness.into_iter().map(spring).collect();
    springs.sort_unstable_by_key(|spring| spring.ends);
    springs
}

/// The springs of a sheet of n x n vertices. Each cell has six: two along its sides and two along its
/// diagonals with stiffness k, and two that span two cells with stiffness k/5.
///
/// *Reference* Provot 1995. A sheet of 201 x 201 vertices has 240,398 springs; Xian, Tong & Liu 2019 count
/// 240,000.
fn grid(n: usize, k: f64) -> HashMap<[u32; 2], f64> {
    let number = |i: usize, j: usize| (j * n + i) as u32;
    let mut stiffness = HashMap::new();
    for (i, j) in (0..n * n).map(|v| (v % n, v / n)) {
        for (di, dj, k) in [(1, 0, k), (0, 1, k), (1, 1, k), (2, 0, BENDING * k), (0, 2, BENDING * k)] {
            if i + di < n && j + dj < n {
                stiffness.insert([number(i, j), number(i + di, j + dj)], k);
            }
        }
        if i + 1 < n && j + 1 < n {
            stiffness.insert([number(i + 1, j), number(i, j + 1)], k);
        }
    }
    stiffness
}

/// The springs of a sheet of triangles: along each edge with stiffness k, and between the two vertices
/// opposite to an edge with stiffness k/5.
fn cloth(mesh: &Mesh, k: f64) -> HashMap<[u32; 2], f64> {
    let (mut stiffness, mut across) = (HashMap::new(), Vec::new());
    let mut tips: HashMap<[u32; 2], u32> = HashMap::new();
    for t in &mesh.triangles {
        for (edge, tip) in [([t[0], t[1]], t[2]), ([t[1], t[2]], t[0]), ([t[2], t[0]], t[1])] {
            stiffness.insert(ordered(edge), k);
            let other = tips.insert(ordered(edge), tip).filter(|other| *other != tip);
            across.extend(other.map(|other| ordered([tip, other])));
        }
    }
    across.into_iter().for_each(|ends| _ = stiffness.entry(ends).or_insert(BENDING * k));
    stiffness
}

/// The springs along the edges of tetrahedra. An edge of length L has the stiffness Σ E V / L², summed over
/// the volumes V of the tetrahedra that contain it. A network with edges in all directions then has Young's
/// modulus E, and Poisson's ratio 1/4 like every isotropic network of springs.
fn network(mesh: &Mesh, young: f64) -> HashMap<[u32; 2], f64> {
    let at = |v: u32| mesh.positions[v as usize];
    let mut stiffness = HashMap::new();
    for t in &mesh.tetrahedra {
        let share = young * volume(t.map(at));
        for [a, b] in [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]] {
            let d = sub(at(t[a]), at(t[b]));
            *stiffness.entry(ordered([t[a], t[b]])).or_insert(0.0) += share / dot(d, d);
        }
    }
    stiffness
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meshes::MeshChoice;

    #[test]
    fn sheets_have_the_springs_of_the_paper() {
        assert_eq!(grid(201, 1.0).len(), 240_398);
        let sheet = MeshChoice::Sheet(5).load().unwrap();
        let springs = springs(&sheet, Some(5), 1e5);
        assert_eq!(springs.len(), 2 * 20 + 2 * 16 + 2 * 15);
        let long = springs.iter().filter(|s| s.length == 0.5);
        assert!(long.clone().count() == 30 && long.clone().all(|s| (s.stiffness - 20.0).abs() < 1e-12));
        let mass: f64 = masses(&sheet, 1000.0).iter().sum();
        assert!((mass - 1.0).abs() < 1e-12, "{mass}");
    }

    /// A strain e along x without lateral strain has the energy (λ + 2 μ)/2 e² per volume, which is 1.2 E/2
    /// e² for Poisson's ratio 1/4. The tolerance is needed because the edges of a bar of cubes are not
    /// distributed equally over all directions.
    #[test]
    fn networks_resist_as_their_material() {
        let mut mesh = MeshChoice::Bar(2).load().unwrap();
        let moduli = Moduli { young: 1.0, poisson: 0.25 };
        let mut energy = Material::MassSpring.energy(&mesh, None, moduli).unwrap().unwrap();
        mesh.positions.iter_mut().for_each(|p| p[0] *= 1.01);
        let (found, volume) = (energy.energy(mesh.positions.as_flattened()).value, 1.0 / 16.0);
        let expected = 0.5 * 1.2e-4 * volume;
        assert!((1.0..1.4).contains(&(found / expected)), "{found} of {expected}");
    }

    /// A small stretch e along x, with the sides free to narrow by Poisson's ratio times e, has the energy E/2
    /// e² per volume: E is Young's modulus of every solid.
    #[test]
    fn solids_have_youngs_modulus() {
        let (young, e) = (3.0, 1e-4);
        for material in Material::value_variants().iter().filter(|m| **m != Material::MassSpring) {
            let mut mesh = MeshChoice::Bar(1).load().unwrap();
            let moduli = Moduli { young, poisson: 0.3 };
            let mut energy = material.energy(&mesh, None, moduli).unwrap().unwrap();
            let poisson = if matches!(material, Material::Arap | Material::BaraffWitkin) { 0.0 } else { 0.3 };
            let scales = [1.0 + e, 1.0 - poisson * e, 1.0 - poisson * e];
            mesh.positions.iter_mut().for_each(|p| (0..3).for_each(|k| p[k] *= scales[k]));
            let (found, volume) = (energy.energy(mesh.positions.as_flattened()).value, 1.0 / 16.0);
            let expected = 0.5 * young * e * e * volume;
            assert!((found / expected - 1.0).abs() < 1e-3, "{material:?}: {found:e} of {expected:e}");
        }
    }

    #[test]
    fn materials_of_solids_need_tetrahedra() {
        let sheet = MeshChoice::Sheet(3).load().unwrap();
        for material in Material::value_variants() {
            let energy = material.energy(&sheet, Some(3), Moduli { young: 1e5, poisson: 0.3 }).unwrap();
            assert_eq!(energy.is_some(), *material == Material::MassSpring);
        }
    }
}
