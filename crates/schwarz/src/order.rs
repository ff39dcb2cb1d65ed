//! The order in which nodes are gathered into domains (§5.1).

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Graph, System, morton};

/// Where the growth of domains begins, and which node it prefers among equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Along a space-filling curve where the system has positions, else as the graph says.
    #[default]
    Auto,
    /// Along a Morton curve through the positions: 2²⁰ cells an axis, 60-bit codes, a radix sort. Cells are cubes. Without positions, as `Graph`.
    Curve,
    /// The Cuthill-McKee order of the pattern; *cost* a few searches and a sort of each row.
    Graph,
    /// The numbering as it is.
    Natural,
}

impl Order {
    /// What `Auto` stands for.
    pub(crate) fn resolve<T: Real>(self, system: &System<'_, T>) -> Self {
        match (self, system.positions) {
            (Self::Auto, Some(_)) => Self::Curve,
            (Self::Auto, None) => Self::Graph,
            (order, _) => order,
        }
    }

    /// The node that comes k-th, for every k.
    ///
    /// # Errors
    /// What [`morton::order`] finds wrong with the positions.
    pub(crate) fn of<T: Real>(self, system: &System<'_, T>) -> Result<Vec<u32>, SetupError> {
        Ok(match (self.resolve(system), system.positions) {
            (Self::Curve, Some(positions)) => morton::order(positions)?,
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
        assert_eq!(Order::Auto.of(&placed).unwrap(), [0, 2, 1]);
        assert_eq!(Order::Auto.of(&bare).unwrap(), Order::Graph.of(&placed).unwrap());
        assert_eq!(Order::Curve.of(&bare).unwrap(), Order::Graph.of(&bare).unwrap());
        assert_eq!(Order::Natural.of(&placed).unwrap(), [0, 1, 2]);
    }

    /// Two nodes that only contact couples stand side by side.
    #[test]
    fn contact_is_part_of_the_graph() {
        let a = assembly::from_triplets(4, 4, &(0..4).map(|i| (i, i, 1.0)).collect::<Vec<_>>()).unwrap();
        let mut contact = Contacts::new(4, 1).unwrap();
        contact.replace(&[(0, 3), (3, 0)], &[-0.5; 2]).unwrap();
        let order = Order::Graph.of(&System::from(&Sum { elastic: &a, contact: &contact })).unwrap();
        let at = |i| order.iter().position(|&j| j == i).unwrap();
        assert_eq!(at(0).abs_diff(at(3)), 1, "{order:?}");
    }
}
