//! Nodes divided into classes: colours, parts or connected components.

use coarsen_core::Error;

use crate::by_bucket;

/// A class for each node: the result of colourings, partitions and connected components.
///
/// *Memory* 4 bytes per node.
///
/// ```
/// use coarsen_sparse::Classes;
/// let c = Classes::new(2, vec![1, 0, 1])?;
/// assert_eq!(c.sizes(), [1, 2]);
/// assert_eq!(c.members(), (vec![0, 1, 3], vec![1, 0, 2]));
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    count: usize,
    of: Vec<u32>,
}

impl Classes {
    /// Creates `count` classes, where node i is in class `of[i] < count`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a class is not below `count`, [`Error::TooLarge`] for more than `u32::MAX`
    /// nodes.
    pub fn new(count: usize, of: Vec<u32>) -> Result<Self, Error> {
        let limit = u32::MAX as usize;
        if of.len() > limit {
            return Err(Error::TooLarge { what: "nodes", count: of.len(), limit });
        }
        match of.iter().find(|&&class| class as usize >= count) {
            Some(&c) => {
                Err(Error::Parameter { name: "class", value: f64::from(c), range: "below the count" })
            }
            None => Ok(Self { count, of }),
        }
    }

    /// The number of classes, including empty classes.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The class of each node.
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// The number of nodes in each class.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.count];
        self.of.iter().for_each(|&class| sizes[class as usize] += 1);
        sizes
    }

    /// `(offsets, nodes)`: the offset of each class, then the number of nodes; all nodes, class after class, in increasing order. *Cost* two passes
    /// over the nodes.
    pub fn members(&self) -> (Vec<usize>, Vec<u32>) {
        by_bucket(self.count, self.of.iter().map(|&class| Some(class as usize)))
    }
}
