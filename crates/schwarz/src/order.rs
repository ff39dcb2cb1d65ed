//! The order in which nodes are collected into domains (§5.1).

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Graph, System, morton};

use crate::links::Links;

/// The order of the nodes. A domain starts at the first free node, and the first of several equally coupled
/// nodes is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// `Curve` if the system has positions, otherwise `Graph`.
    #[default]
    Auto,
    /// Along a Morton curve through the positions: 2²⁰ cubic cells per axis, 60-bit codes, a radix sort.
    /// Without positions, as `Graph`.
    Curve,
    /// The Cuthill-McKee order of the pattern. *Cost* a few breadth-first searches and a sort of each row.
    Graph,
    /// The Cuthill-McKee order of the strong couplings only. Nodes of a stiff region then have close numbers.
    Strong,
    /// The numbering of the nodes in the matrix.
    Natural,
}

impl Order {
    /// Returns the order that `Auto` selects.
    pub(crate) fn resolve<T: Real>(self, system: &System<'_, T>) -> Self {
        match (self, system.positions) {
            (Self::Auto, Some(_)) => Self::Curve,
            (Self::Auto, None) => Self::Graph,
            (order, _) => order,
        }
    }

    /// Returns the nodes in this order.
    ///
    /// # Errors
    /// The errors of [`morton::order`] for the positions.
    pub(crate) fn of<T: Real>(self, system: &System<'_, T>, links: &Links) -> Result<Vec<u32>, SetupError> {
        Ok(match (self.resolve(system), system.positions) {
            (Self::Curve, Some(positions)) => morton::order(positions)?,
            (Self::Strong, _) => {
                let edges = (0..links.nodes() as u32).flat_map(|i| {
                    links.row(i as usize).filter(move |l| l.0 > i && l.1 > 0.0).map(move |l| (i, l.0))
                });
                Graph::from_edges(links.nodes(), &edges.collect::<Vec<_>>())?.cuthill_mckee()
            }
            (Self::Natural, _) => (0..system.matrix.pattern().rows() as u32).collect(),
            _ if system.contact.is_some_and(|c| !c.is_empty()) => {
                Graph::of(system.whole()?.pattern())?.cuthill_mckee()
            }
            _ => Graph::of(system.matrix.pattern())?.cuthill_mckee(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::Coupling;
    use crate::source::Source;
    use coarsen_sparse::{Contacts, Sum, assembly};

    #[test]
    fn positions_win_over_the_graph() {
        let a = assembly::from_triplets(
            3,
            3,
            &[(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (0, 2, -0.1), (2, 0, -0.1)],
        )
        .unwrap();
        let points = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        let bare = System::from(&a);
        let placed = System { positions: Some(&points), ..bare };
        let (links, _) = Links::of(Source::new(&a), Coupling::Adjacency);
        let order = |order: Order, system: &System<'_, f64>| order.of(system, &links).unwrap();
        assert_eq!(order(Order::Auto, &placed), [0, 2, 1]);
        assert_eq!(order(Order::Auto, &bare), order(Order::Graph, &placed));
        assert_eq!(order(Order::Curve, &bare), order(Order::Graph, &bare));
        assert_eq!(order(Order::Natural, &placed), [0, 1, 2]);
    }

    /// Two chains, 0 2 4 and 1 3 5, are coupled to each other a thousand times more weakly than inside. In
    /// the order one chain comes after the other.
    #[test]
    fn strong_parts_stand_together() {
        let mut entries: Vec<(u32, u32, f64)> = (0..6).map(|i| (i, i, 2.0)).collect();
        for (i, j, v) in
            [(0, 2, -1.0), (2, 4, -1.0), (1, 3, -1.0), (3, 5, -1.0), (0, 1, -1e-3), (4, 5, -1e-3)]
        {
            entries.extend([(i, j, v), (j, i, v)]);
        }
        let a = assembly::from_triplets(6, 6, &entries).unwrap();
        let (links, _) = Links::of(Source::new(&a), Coupling::Strength { theta: 0.25 });
        let order = Order::Strong.of(&System::from(&a), &links).unwrap();
        assert!(order[..3].iter().all(|i| i % 2 == order[0] % 2), "{order:?}");
    }

    /// Two nodes coupled only by contact are adjacent in the order.
    #[test]
    fn contact_is_part_of_the_graph() {
        let a = assembly::from_triplets(4, 4, &(0..4).map(|i| (i, i, 1.0)).collect::<Vec<_>>()).unwrap();
        let mut contact = Contacts::new(4, 1).unwrap();
        contact.replace(&[(0, 3), (3, 0)], &[-0.5; 2]).unwrap();
        let system = System::from(&Sum { elastic: &a, contact: &contact });
        let order = Order::Graph.of(&system, &Links::none(4)).unwrap();
        let at = |i| order.iter().position(|&j| j == i).unwrap();
        assert_eq!(at(0).abs_diff(at(3)), 1, "{order:?}");
    }
}
