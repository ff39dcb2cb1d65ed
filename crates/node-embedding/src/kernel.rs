//! The weights of a node at the coarse nodes around it.

/// The kernel N that embeds the nodes of a grid in a grid of twice the spacing (§4.2 and §7.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// Hats: weights 1, or ½ and ½ along an axis. With each level the composed weights become narrower, in
    /// units of the spacing of the level.
    #[default]
    Linear,
    /// Quadratic B-splines: weights ⅛, ¾, ⅛, or ½ and ½. *Use* for comparison: coarse rows are longer (up to
    /// 7^d blocks), and iterations are about as many (§7.5).
    Quadratic,
}

/// The coarse nodes along one axis that embed a fine node, in order: their offsets from the half of its
/// place, rounded down, and their weights.
type Along = &'static [(i32, f64)];

impl Kernel {
    /// Returns the coarse nodes along an axis for an even or an odd place.
    fn along(self, place: i32) -> Along {
        match (self, place & 1) {
            (Self::Linear, 0) => &[(0, 1.0)],
            (Self::Quadratic, 0) => &[(-1, 0.125), (0, 0.75), (1, 0.125)],
            _ => &[(0, 0.5), (1, 0.5)],
        }
    }

    /// The largest distance along an axis between a coarse node and a node embedded in it, in units of the
    /// fine spacing.
    pub(super) fn reach(self) -> i32 {
        match self {
            Self::Linear => 1,
            Self::Quadratic => 2,
        }
    }

    /// Calls `f` with every coarse node that embeds the node at x, and with its weight. The last axis varies
    /// fastest. Along `absent` axes a node has one coarse node.
    pub(super) fn around(self, x: [i32; 3], absent: [bool; 3], mut f: impl FnMut([i32; 3], f64)) {
        let [xs, ys, zs] = [0, 1, 2].map(|d| if absent[d] { &[(0, 1.0)] } else { self.along(x[d]) });
        let half = x.map(|k| k >> 1);
        for &(dx, wx) in xs {
            for &(dy, wy) in ys {
                for &(dz, wz) in zs {
                    f([half[0] + dx, half[1] + dy, half[2] + dz], wx * wy * wz);
                }
            }
        }
    }
}

/// Whether an axis is absent: all nodes have the same place on it.
pub(super) fn absent(nodes: &[[i32; 3]]) -> [bool; 3] {
    [0, 1, 2].map(|d| nodes.iter().all(|x| x[d] == nodes[0][d]))
}
