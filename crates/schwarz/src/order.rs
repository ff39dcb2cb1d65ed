//! The order in which nodes are collected into domains (§5.1).

use coarsen_backend::SetupError;
use coarsen_core::{Cancel, Real};
use coarsen_sparse::{Graph, System, morton};

use crate::links::Links;

/// The order of the nodes. A domain starts at the first free node, and the first of several equally coupled
/// nodes is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// `Curve` if the system has positions, otherwise `Graph`.
    #[default]
    Auto,
    /// Along a Morton curve through the positions: 2²⁰ cubic cells per axis, 60-bit codes, a radix sort.
    /// Without positions, as `Graph`.
    Curve,
    /// The Cuthill-McKee order of the pattern, without the couplings of high-degree nodes: nodes with more than 64 neighbours,
    /// and 8 times the mean. By such a node all nodes are close to each other. *Cost* a few breadth-first searches
    /// and a sort of each row.
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
    /// The errors of [`morton::order`] for the positions; [`SetupError::Cancelled`].
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
                by_graph(&Graph::of(system.whole()?.pattern())?, system.cancel)?
            }
            _ => by_graph(&Graph::of(system.matrix.pattern())?, system.cancel)?,
        })
    }
}

/// A node with more neighbours than this, and than the multiple below of the mean, is a high-degree node.
const LEAST_DEGREE: usize = 64;

const DEGREE_RATIO: usize = 8;

/// Returns the Cuthill-McKee order of a graph without the edges of high-degree nodes.
fn by_graph(graph: &Graph, cancel: Option<&Cancel>) -> Result<Vec<u32>, SetupError> {
    SetupError::unless_cancelled(cancel)?;
    let nodes = graph.nodes() as u32;
    let is_high_degree = |i: u32| {
        let degree = graph.degree(i as usize);
        degree > LEAST_DEGREE && degree * graph.nodes() > DEGREE_RATIO * 2 * graph.edges()
    };
    if !(0..nodes).any(is_high_degree) {
        return Ok(graph.cuthill_mckee());
    }
    let edges = (0..nodes).filter(|&i| !is_high_degree(i)).flat_map(|i| {
        let later = graph.neighbours(i as usize).iter().filter(move |&&j| j > i && !is_high_degree(j));
        later.map(move |&j| (i, j))
    });
    Ok(Graph::from_edges(graph.nodes(), &edges.collect::<Vec<_>>())?.cuthill_mckee())
}
