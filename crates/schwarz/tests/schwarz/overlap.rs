//! Overlapping domains compared with their formula: layers of neighbours, restrictions of A, own nodes.

use coarsen_backend::Cpu;
use coarsen_backend::conformance::noise;
use coarsen_problems::poisson2d;
use coarsen_schwarz::{AdditiveSchwarz, Coarse, Coupling, Inner, Storage};

use crate::common::{adjacent, applied, difference};
use crate::formulas::solved;

/// z = Σ_d R_dᵀ (R_d A R_dᵀ)⁻¹ R_d r, where R_d selects the nodes of a domain and of layers of neighbours
/// around it; the restricted form keeps z only at the nodes of the domain. Many sweeps over the colours of a
/// domain, too, solve it.
#[test]
fn layers_are_neighbours_and_restrictions_are_parts_of_a() {
    let p = poisson2d(12).unwrap();
    let (a, r) = (&p.matrix, noise(144, 3));
    let plan = adjacent(16, 1, Coarse::Domains).plan(p.system()).unwrap();
    for layers in [0, 1, 2] {
        let (mut whole, mut own) = (vec![0.0; 144], vec![0.0; 144]);
        for d in 0..plan.domains(0) {
            let members: Vec<usize> = plan.members(0, d).iter().map(|&i| i as usize).collect();
            let mut nodes = members.clone();
            for _ in 0..layers {
                nodes.extend(nodes.clone().iter().flat_map(|&i| a.pattern().row(i)).map(|&j| j as usize));
                nodes.sort_unstable();
                nodes.dedup();
            }
            let small: Vec<Vec<f64>> =
                nodes.iter().map(|&i| nodes.iter().map(|&j| a.get(i, j)).collect()).collect();
            let part: Vec<f64> = nodes.iter().map(|&i| r[i]).collect();
            for (&i, v) in nodes.iter().zip(solved(&small, &part)) {
                whole[i] += v;
                own[i] += if members.contains(&i) { v } else { 0.0 };
            }
        }
        for inner in [Inner::Inverses, Inner::Factors, Inner::Sweeps { pairs: 200 }] {
            for (restricted, expected) in [(false, &whole), (true, &own)] {
                let parameters = AdditiveSchwarz {
                    domain: 16,
                    overlap: layers,
                    restricted,
                    inner,
                    coupling: Coupling::Adjacency,
                    storage: Storage::Double,
                    ..AdditiveSchwarz::overlapping()
                };
                let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
                assert_eq!(m.domains(), plan.domains(0));
                let doubled = m.redundancy();
                assert!(if layers == 0 { doubled == 1.0 } else { doubled > 1.5 }, "{layers}: {doubled}");
                let off = difference(&applied(&mut m, &r), expected);
                assert!(off < 1e-10, "{inner:?}, {layers} layers, restricted {restricted}: {off:.1e}");
            }
        }
    }
}
