//! Attachments over time: which nodes are pinned in a frame, and to which points.

use std::ops::Range;

use coarsen::elastic::{Attachments, BodyError};
use coarsen::mesh::vector::{cross, dot, sub};

/// Nodes that are pinned during some frames. They are pinned to their positions before the first of these
/// frames, or to points that move away from these positions.
#[derive(Clone, Debug)]
pub(crate) struct TimedAttachment {
    /// The indices of the nodes in the scene.
    pub(crate) nodes: Vec<u32>,
    /// The frames, counted from 1.
    pub(crate) frames: Range<usize>,
    /// The stiffness of the pin of each node in N/m.
    pub(crate) stiffness: f64,
    /// The velocity of the points in m/s.
    pub(crate) velocity: [f64; 3],
    /// The rotation of the points: a point on the axis, the unit vector of the axis, and the rate in radians
    /// per second.
    pub(crate) turn: Option<([f64; 3], [f64; 3], f64)>,
}

impl TimedAttachment {
    /// The point to which a node is pinned, `time` seconds after it was at `anchor`.
    fn target(&self, anchor: [f64; 3], time: f64) -> [f64; 3] {
        let turned = match self.turn {
            None => anchor,
            Some((through, axis, rate)) => {
                // Rodrigues: r cos θ + (a × r) sin θ + a (a · r)(1 − cos θ)
                let (r, (sin, cos)) = (sub(anchor, through), (rate * time).sin_cos());
                let (across, along) = (cross(axis, r), dot(axis, r) * (1.0 - cos));
                std::array::from_fn(|k| through[k] + r[k] * cos + across[k] * sin + axis[k] * along)
            }
        };
        std::array::from_fn(|k| turned[k] + time * self.velocity[k])
    }
}

/// Sets the pins of a frame, where x are the positions before it. `anchors` has the positions of the nodes at the start of
/// each attachment. Returns whether attachments begin or end with this frame, which changes the Hessian.
pub(crate) fn set_pins(
    list: &[TimedAttachment],
    frame: usize,
    h: f64,
    x: &[f64],
    anchors: &mut [Vec<[f64; 3]>],
    pins: &mut Attachments,
) -> Result<bool, BodyError> {
    let is_active = |attachment: &&TimedAttachment| attachment.frames.contains(&frame);
    for attachment in list.iter().filter(|attachment| !is_active(attachment)) {
        attachment.nodes.iter().for_each(|&node| _ = pins.release(node as usize));
    }
    for (attachment, anchors) in list.iter().zip(anchors).filter(|(attachment, _)| is_active(attachment)) {
        if anchors.is_empty() {
            let at = |&node: &u32| std::array::from_fn(|k| x[3 * node as usize + k]);
            anchors.extend(attachment.nodes.iter().map(at));
        }
        let time = h * (frame + 1 - attachment.frames.start) as f64;
        for (&node, &anchor) in attachment.nodes.iter().zip(&*anchors) {
            pins.attach(node as usize, attachment.target(anchor, time), attachment.stiffness)?;
        }
    }
    Ok(list.iter().any(|attachment| is_active(&attachment) != attachment.frames.contains(&(frame - 1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::elastic::Potential;
    use std::f64::consts::FRAC_PI_2;

    fn attachment(frames: Range<usize>) -> TimedAttachment {
        TimedAttachment { nodes: vec![1], frames, stiffness: 2.0, velocity: [0.0; 3], turn: None }
    }

    #[test]
    fn pins_come_and_go() {
        let mut pins = Attachments::new(3).unwrap();
        let attachments = [attachment(2..4)];
        let (x, mut anchors) = ([0.5; 9], vec![Vec::new()]);
        let mut lengths = Vec::new();
        for frame in 1..=5 {
            let changed = set_pins(&attachments, frame, 0.1, &x, &mut anchors, &mut pins).unwrap();
            lengths.push((pins.len(), changed));
        }
        assert_eq!(lengths, [(0, false), (1, true), (1, false), (0, true), (0, false)]);
        assert_eq!(anchors, [vec![[0.5; 3]]]);
    }

    /// The anchor is the position of the node before the first frame, also after the node has moved.
    #[test]
    fn points_move_from_their_anchors() {
        let mut pins = Attachments::new(3).unwrap();
        let turn = Some(([0.0; 3], [0.0, 0.0, 1.0], 10.0 * FRAC_PI_2));
        let attachments = [TimedAttachment { velocity: [0.0, 0.0, 20.0], turn, ..attachment(3..9) }];
        let mut anchors = vec![Vec::new()];
        let mut x = [0.0; 9];
        x[3] = 1.0;
        set_pins(&attachments, 3, 0.1, &x, &mut anchors, &mut pins).unwrap();
        let at = |p: [f64; 3]| [[0.0; 3], p, [0.0; 3]].as_flattened().to_vec();
        assert!(pins.energy(&at([0.0, 1.0, 2.0])).value < 1e-20);
        set_pins(&attachments, 4, 0.1, &[7.0; 9], &mut anchors, &mut pins).unwrap();
        assert!(pins.energy(&at([-1.0, 0.0, 4.0])).value < 1e-20);
    }
}
