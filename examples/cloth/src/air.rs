//! The air: drag, also of wind, and damping.

use coarsen::elastic::Nodes;
use coarsen::mesh::vector::{cross, dot, sub};

/// The forces of the air on cloth.
///
/// The air presses on a triangle of area a and normal n with a ρ |w·n| (w·n) n, where w is the velocity of the
/// air relative to the triangle: wind drives cloth, and still air slows it. A flat sheet of 0.2 kg/m² falls at no more than
/// √(0.2 g / ρ) = 1.28 m/s in air of 1.2 kg/m³. Damping pulls velocities towards that of the air.
pub(crate) struct Air {
    /// ρ, kg/m³; 0 without air.
    pub(crate) density: f64,
    /// The velocity of the air, m/s.
    pub(crate) velocity: [f64; 3],
    /// The rate of damping, 1/s.
    pub(crate) damping: f64,
    /// The triangles of the cloth; those at the nodes that are pushed suffice.
    pub(crate) triangles: Vec<[u32; 3]>,
}

impl Air {
    /// Changes the velocities v of the free nodes from `first` on by the forces of the air during h seconds, and returns
    /// the work. x and the masses are those of all free nodes.
    ///
    /// Drag is linear in the velocity v of a node, and implicit, with the coefficient |w·n| before it. The
    /// triangles act one after the other. Each moves v along its normal n towards the velocity w of the air, by
    /// less than all of (w − v)·n; damping moves v straight towards w. So no triangle and no damping increases
    /// |v − w| of any node, for any h. But |v| may exceed |w| if normals differ.
    pub(crate) fn push(
        &self,
        nodes: &Nodes,
        masses: &[f64],
        x: &[f64],
        h: f64,
        first: usize,
        v: &mut [f64],
    ) -> f64 {
        let masses = &masses[first..first + v.len() / 3];
        let own = |slot: usize| slot.checked_sub(first).filter(|row| *row < masses.len());
        let kinetic = |v: &[f64]| -> f64 {
            masses
                .iter()
                .zip(v.chunks_exact(3))
                .map(|(m, v)| 0.5 * m * v.iter().map(|v| v * v).sum::<f64>())
                .sum()
        };
        let before = kinetic(v);
        if self.density > 0.0 {
            for t in &self.triangles {
                let [a, b, c] = t.map(|i| nodes.at(i, x));
                let twice = cross(sub(b, a), sub(c, a));
                let length = dot(twice, twice).sqrt();
                if length == 0.0 {
                    continue; // a collapsed triangle
                }
                let (n, area) = (twice.map(|n| n / length), 0.5 * length);
                for slot in t.iter().filter_map(|&i| nodes.slot(i)).filter_map(own) {
                    let own = &mut v[3 * slot..3 * slot + 3];
                    let along = dot(n, sub(self.velocity, [own[0], own[1], own[2]]));
                    let rate = h * self.density * area / 3.0 * along.abs() / masses[slot];
                    (0..3).for_each(|k| own[k] += rate / (1.0 + rate) * along * n[k]);
                }
            }
        }
        let share = h * self.damping / (1.0 + h * self.damping);
        v.iter_mut().enumerate().for_each(|(k, v)| *v += share * (self.velocity[k % 3] - *v));
        kinetic(v) - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two triangles with a common edge, folded by 60°: no node departs from the velocity of the air, whatever the
    /// step; but a node of both, at rest at first, becomes faster than the air.
    #[test]
    fn folded_triangles_approach_the_air() {
        let (sin, cos) = (std::f64::consts::PI / 3.0).sin_cos();
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -cos, sin]];
        let nodes = Nodes::new(&[false; 4], &corners).unwrap();
        let wind = [0.0, 0.5, 2.0];
        let mut air =
            Air { density: 1.2, velocity: wind, damping: 0.3, triangles: vec![[0, 1, 2], [1, 0, 3]] };
        let from =
            |v: &[f64], w: [f64; 3]| dot(sub([v[0], v[1], v[2]], w), sub([v[0], v[1], v[2]], w)).sqrt();
        for h in [1e-4, 0.1, 10.0, 1e9] {
            let mut v: Vec<f64> = (0..12).map(|k| f64::from(k * 7 % 5) - 2.0).collect();
            for _ in 0..5 {
                let before = v.clone();
                air.push(&nodes, &[0.1; 4], corners.as_flattened(), h, 0, &mut v);
                for (v, before) in v.chunks(3).zip(before.chunks(3)) {
                    assert!(from(v, wind) <= from(before, wind) * (1.0 + 1e-15), "{h}: {v:?} {before:?}");
                }
            }
        }
        air.damping = 0.0;
        let mut v = vec![0.0; 12];
        air.push(&nodes, &[0.1; 4], corners.as_flattened(), 1e9, 0, &mut v);
        assert!(from(&v, [0.0; 3]) > 1.05 * from(&[0.0; 3], wind), "{v:?}");
    }

    /// A free triangle across the wind, and one along it.
    #[test]
    fn wind_accelerates_what_stands_across_it() {
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let nodes = Nodes::new(&[false; 3], &corners).unwrap();
        let x = corners.as_flattened();
        let push = |velocity: [f64; 3], damping: f64, h: f64| {
            let air = Air { density: 1.2, velocity, damping, triangles: vec![[0, 1, 2]] };
            let mut v = vec![0.0; 9];
            let work = air.push(&nodes, &[0.1; 3], x, h, 0, &mut v);
            let kinetic = 0.05 * v.iter().map(|v| v * v).sum::<f64>();
            assert!((work - kinetic).abs() < 1e-15);
            v
        };
        // h ρ a/3 w²/m = 1e-4 · 1.2 · 0.5/3 · 4/0.1
        let v = push([0.0, 0.0, 2.0], 0.0, 1e-4);
        assert!((v[2] / 8e-4 - 1.0).abs() < 1e-3 && v[0] == 0.0, "{v:?}");
        assert_eq!(push([2.0, 0.0, 0.0], 0.0, 1e-4), vec![0.0; 9]);
        assert!(push([0.0, 0.0, 2.0], 0.0, 1e9)[2] <= 2.0);
        assert!((push([2.0, 0.0, 0.0], 3.0, 1e-4)[3] / 6e-4 - 1.0).abs() < 1e-3);
    }

    /// A triangle that falls in still air reaches the velocity at which drag carries its weight, and drag takes its energy; a
    /// triangle that slides in its plane, and one without air, are not slowed.
    #[test]
    fn still_air_slows_what_falls() {
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let nodes = Nodes::new(&[false; 3], &corners).unwrap();
        let (mass, h, g) = (0.1 / 3.0, 1e-3, 9.81);
        let fall = |density: f64, start: [f64; 3]| {
            let air = Air { density, velocity: [0.0; 3], damping: 0.0, triangles: vec![[0, 1, 2]] };
            let mut v = [start; 3].concat();
            for _ in 0..2000 {
                v.chunks_mut(3).for_each(|v| v[1] -= h * g);
                let work = air.push(&nodes, &[mass; 3], corners.as_flattened(), h, 0, &mut v);
                assert!(work <= 0.0 && (work < 0.0) == (density > 0.0), "{work}");
            }
            v
        };
        let terminal = (0.1 * g / (1.2 * 0.5)).sqrt();
        let v = fall(1.2, [2.0, 0.0, 0.0]);
        assert!((v[1] / terminal + 1.0).abs() < 1e-2 && v[0] == 2.0, "{v:?} for {terminal}");
        assert!((fall(0.0, [0.0; 3])[1] + 2.0 * g).abs() < 1e-9);
    }
}
