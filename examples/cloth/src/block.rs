//! Boxes with sides along the axes, as obstacles.

use coarsen_contact::Shape;

/// A box, grown by a distance on all sides, with round edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    /// The lowest and the highest corner.
    pub(crate) corners: [[f64; 3]; 2],
    /// The distance.
    pub(crate) skin: f64,
}

impl Block {
    /// By how much a position is beyond the sides of each axis; negative between them. And the direction outwards.
    fn beyond(&self, x: [f64; 3]) -> [[f64; 3]; 2] {
        let [low, high] = self.corners;
        let middle = [0, 1, 2].map(|k| 0.5 * (low[k] + high[k]));
        let beyond = [0, 1, 2].map(|k| (x[k] - middle[k]).abs() - 0.5 * (high[k] - low[k]));
        [beyond, [0, 1, 2].map(|k| (x[k] - middle[k]).signum())]
    }
}

impl Shape for Block {
    fn distance(&self, x: [f64; 3]) -> f64 {
        let [beyond, _] = self.beyond(x);
        let outside = beyond.iter().map(|q| q.max(0.0).powi(2)).sum::<f64>().sqrt();
        let inside =
            beyond.iter().fold(f64::NEG_INFINITY, |most, q| if q.is_nan() { *q } else { most.max(*q) });
        if inside > 0.0 { outside - self.skin } else { inside - self.skin }
    }

    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let [beyond, side] = self.beyond(x);
        let outside = beyond.iter().map(|q| q.max(0.0).powi(2)).sum::<f64>().sqrt();
        if outside > 0.0 {
            return [0, 1, 2].map(|k| beyond[k].max(0.0) / outside * side[k]);
        }
        let nearest = (1..3).fold(0, |best, k| if beyond[k] > beyond[best] { k } else { best });
        [0, 1, 2].map(|k| if k == nearest { side[k] } else { 0.0 })
    }

    /// Not used: a block is only a constraint.
    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        x.iter().chain(self.corners.as_flattened()).fold(self.skin, |most, v| most.max(v.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The normal is the gradient of the distance, outside near a side, an edge and a corner, and inside.
    #[test]
    fn normals_are_gradients() {
        let block = Block { corners: [[-0.3, 0.0, 0.1], [-0.1, 0.4, 0.3]], skin: 0.01 };
        let near =
            [[-0.2, 0.5, 0.2], [-0.05, 0.45, 0.2], [0.0, 0.5, 0.4], [-0.31, -0.01, 0.0], [-0.12, 0.2, 0.2]];
        for x in near {
            let n = block.normal(x);
            for k in 0..3 {
                let moved =
                    |by: f64| block.distance([0, 1, 2].map(|c| if c == k { x[c] + by } else { x[c] }));
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slope - n[k]).abs() < 1e-8, "{x:?}: {slope} for {n:?}");
            }
            let foot = [0, 1, 2].map(|k| x[k] - block.distance(x) * n[k]);
            assert!(block.distance(foot).abs() < 1e-12, "{x:?}");
        }
    }
}
