//! Clusters around centres in a graph with lengths: Lloyd's algorithm, and its balanced variant.
//!
//! | symbol | here |
//! |---|---|
//! | c, m, d | the centre of each cluster, the cluster of each node, its distance to the centre |
//! | E | what the sum of squared distances grows by without a cluster |
//! | S | what it falls by with two centres in a cluster |
//!
//! *Reference* Bell 2008, "Algebraic multigrid for discrete differential forms", §2.3; Zaman, Nytko, Taghibakhshi, MacLachlan,
//! Olson & West 2024, "Generalizing Lloyd's algorithm for graph clustering", SIAM J. Sci. Comput. 46, Algorithms 2 to 6.

use std::collections::BinaryHeap;

use coarsen::Cancel;
use coarsen::backend::SetupError;

use super::blocks::Sparse;

/// No cluster.
const NONE: i32 = -1;

/// The clusters of the nodes of `g`, whose entries are lengths, −1 for nodes that no centre reaches, and the centres.
///
/// `centres` are the first ones, all different. `rounds` limits the alternations of assignment and centring, `rebalances` those
/// of elimination and splitting; `None` for Lloyd's algorithm without balance.
pub(crate) fn clusters(
    g: &Sparse,
    mut centres: Vec<usize>,
    rounds: usize,
    rebalances: Option<usize>,
    cancel: &Cancel,
) -> Result<(Vec<i32>, Vec<usize>), SetupError> {
    let mut found = Assignment::new(g, &centres, rebalances.is_some(), cancel)?;
    for again in 0..=rebalances.unwrap_or(0) {
        if again > 0 {
            found = Assignment::new(g, &centres, true, cancel)?;
        }
        for _ in 1..rounds {
            let next = match rebalances {
                Some(_) => found.central(g, &centres, cancel)?,
                None => found.interior(g, &centres, cancel)?,
            };
            if next == centres {
                break;
            }
            centres = next;
            found = Assignment::new(g, &centres, rebalances.is_some(), cancel)?;
        }
        if again == rebalances.unwrap_or(0) {
            break;
        }
        match found.rebalanced(g, &centres, cancel)? {
            Some(next) => centres = next,
            None => break,
        }
    }
    Ok((found.of, centres))
}

/// The cluster and the distance of each node.
struct Assignment {
    of: Vec<i32>,
    distance: Vec<f64>,
    /// The nodes of each cluster, in order.
    members: Vec<Vec<usize>>,
}

/// A node to be settled, with the size of its cluster, the cluster and the node before it: the smallest distance first, then the
/// smallest cluster.
#[derive(PartialEq)]
struct Reached(f64, usize, usize, i32, usize);

impl Eq for Reached {}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by = |r: &Self| (r.1, r.2, r.3, r.4);
        other.0.total_cmp(&self.0).then_with(|| by(other).cmp(&by(self)))
    }
}

impl Assignment {
    /// Assigns each node to its nearest centre; with `balanced`, among equally near ones to the smallest cluster of the time.
    fn new(g: &Sparse, centres: &[usize], balanced: bool, cancel: &Cancel) -> Result<Self, SetupError> {
        let n = g.pattern().rows();
        let (mut of, mut distance) = (vec![NONE; n], vec![f64::INFINITY; n]);
        // The node before each node on its path from the centre.
        let mut before = vec![usize::MAX; n];
        let mut members = vec![Vec::new(); centres.len()];
        let mut queue = BinaryHeap::new();
        for (&c, k) in centres.iter().zip(0..) {
            (of[c], distance[c]) = (k, 0.0);
            members[k as usize].push(c);
        }
        for (&c, k) in centres.iter().zip(0..) {
            queue.extend(g.row(c).map(|(j, v)| Reached(v[0], 1, j, k, c)));
        }
        while let Some(Reached(d, size, i, k, from)) = queue.pop() {
            SetupError::unless_cancelled(Some(cancel))?;
            if of[i] != NONE {
                continue;
            }
            let now = if balanced { members[k as usize].len() } else { 1 };
            if now > size {
                queue.push(Reached(d, now, i, k, from)); // the cluster has grown since
                continue;
            }
            (of[i], distance[i], before[i]) = (k, d, from);
            members[k as usize].push(i);
            for (j, v) in g.row(i).filter(|(j, _)| *j != i && of[*j] == NONE) {
                queue.push(Reached(d + v[0], now, j, k, i));
            }
        }
        if balanced {
            even_out(g, &mut of, &distance, &mut before, centres.len(), cancel)?;
            members.iter_mut().for_each(Vec::clear);
            (0..n).filter(|&i| of[i] != NONE).for_each(|i| members[of[i] as usize].push(i));
        }
        members.iter_mut().for_each(|own: &mut Vec<usize>| own.sort_unstable());
        Ok(Self { of, distance, members })
    }

    /// The node of each cluster that is farthest from all other clusters.
    fn interior(&self, g: &Sparse, centres: &[usize], cancel: &Cancel) -> Result<Vec<usize>, SetupError> {
        let other = |i: usize| g.row(i).any(|(j, _)| self.of[j] != self.of[i] && self.of[j] != NONE);
        let border: Vec<usize> = (0..self.of.len()).filter(|&i| self.of[i] != NONE && other(i)).collect();
        if border.is_empty() {
            return Ok(centres.to_vec());
        }
        let depth = Self::new(g, &border, false, cancel)?.distance;
        let deepest = |(own, &centre): (&Vec<usize>, &usize)| {
            own.iter().fold(centre, |best, &i| if depth[i] > depth[best] { i } else { best })
        };
        Ok(self.members.iter().zip(centres).map(deepest).collect())
    }

    /// The node of each cluster with the smallest sum of squared distances to the others.
    fn central(&self, g: &Sparse, centres: &[usize], cancel: &Cancel) -> Result<Vec<usize>, SetupError> {
        let best = |(k, &centre): (usize, &usize)| -> Result<usize, SetupError> {
            SetupError::unless_cancelled(Some(cancel))?;
            let own = &self.members[k];
            let all = self.within(g, own);
            let sum = |at: usize| all[at].iter().map(|d| d * d).sum::<f64>();
            let Ok(mut chosen) = own.binary_search(&centre) else { return Ok(centre) };
            for at in 0..own.len() {
                if sum(at) < sum(chosen) {
                    chosen = at;
                }
            }
            Ok(own[chosen])
        };
        centres.iter().enumerate().map(best).collect()
    }

    /// The distances between all nodes of a cluster on paths within it.
    fn within(&self, g: &Sparse, own: &[usize]) -> Vec<Vec<f64>> {
        let from = |&start: &usize| {
            let mut d = vec![f64::INFINITY; own.len()];
            let mut queue = BinaryHeap::from([Reached(0.0, 0, start, 0, start)]);
            while let Some(Reached(far, _, i, ..)) = queue.pop() {
                let Ok(at) = own.binary_search(&i) else { continue };
                if far < d[at] {
                    d[at] = far;
                    queue.extend(
                        g.row(i).filter(|(j, _)| *j != i).map(|(j, v)| Reached(far + v[0], 0, j, 0, i)),
                    );
                }
            }
            d
        };
        own.iter().map(from).collect()
    }

    /// Eliminates clusters whose E is below the S of another one, which gets a second centre; `None` if there is none.
    fn rebalanced(
        &self,
        g: &Sparse,
        centres: &[usize],
        cancel: &Cancel,
    ) -> Result<Option<Vec<usize>>, SetupError> {
        let square = |d: f64| d * d;
        let (mut penalty, mut gain) = (Vec::new(), Vec::new());
        for own in &self.members {
            SetupError::unless_cancelled(Some(cancel))?;
            let all = self.within(g, own);
            let before: f64 = own.iter().map(|&i| square(self.distance[i])).sum();
            // The nearest other cluster of each node, by a path within its own that leaves it once.
            let leaves = |&i: &usize| {
                let others = g.row(i).filter(|(j, _)| self.of[*j] != self.of[i] && self.of[*j] != NONE);
                others.map(|(j, v)| self.distance[j] + v[0]).fold(f64::INFINITY, f64::min)
            };
            let exits: Vec<f64> = own.iter().map(leaves).collect();
            let nearest =
                |row: &Vec<f64>| row.iter().zip(&exits).map(|(d, e)| d + e).fold(f64::INFINITY, f64::min);
            penalty.push(all.iter().map(|row| square(nearest(row))).sum::<f64>() - before);
            let mut best = (f64::INFINITY, [own[0]; 2]);
            for (a, first) in all.iter().enumerate() {
                for (b, second) in all.iter().enumerate().skip(a + 1) {
                    let sum = first.iter().zip(second).map(|(p, q)| square(p.min(*q))).sum::<f64>();
                    if sum < best.0 {
                        best = (sum, [own[a], own[b]]);
                    }
                }
            }
            gain.push((before - best.0, best.1));
        }
        let count = centres.len();
        let neighbours = |k: usize| {
            let nodes = self.members[k].iter().flat_map(|&i| g.row(i).map(|(j, _)| self.of[j]));
            nodes.filter(|&l| l != NONE).map(|l| l as usize)
        };
        let (mut weak, mut wide): (Vec<usize>, Vec<usize>) = ((0..count).collect(), (0..count).collect());
        weak.sort_by(|&a, &b| penalty[a].total_cmp(&penalty[b]));
        wide.sort_by(|&a, &b| gain[b].0.total_cmp(&gain[a].0));
        let (mut free, mut next, mut changed) = (vec![true; count], centres.to_vec(), false);
        let (mut e, mut s) = (0, 0);
        while e < count && s < count {
            let (weakest, widest) = (weak[e], wide[s]);
            if !free[weakest] || weakest == widest {
                e += 1;
            } else if !free[widest] {
                s += 1;
            } else if penalty[weakest] > gain[widest].0 {
                break;
            } else {
                for k in [weakest, widest] {
                    free[k] = false;
                    neighbours(k).for_each(|l| free[l] = false);
                }
                [next[weakest], next[widest]] = gain[widest].1;
                changed = true;
            }
        }
        Ok(changed.then_some(next))
    }
}

/// Moves nodes at the ends of paths to smaller clusters at the same distance. Each move reduces the sum of squared sizes, so this
/// ends.
fn even_out(
    g: &Sparse,
    of: &mut [i32],
    distance: &[f64],
    before: &mut [usize],
    count: usize,
    cancel: &Cancel,
) -> Result<(), SetupError> {
    let (mut sizes, mut children) = (vec![0_usize; count], vec![0_usize; of.len()]);
    of.iter().filter(|k| **k != NONE).for_each(|&k| sizes[k as usize] += 1);
    before.iter().filter(|i| **i != usize::MAX).for_each(|&i| children[i] += 1);
    let mut moved = true;
    while std::mem::take(&mut moved) {
        SetupError::unless_cancelled(Some(cancel))?;
        for i in 0..of.len() {
            if of[i] == NONE || before[i] == usize::MAX || children[i] > 0 {
                continue;
            }
            let smaller = |j: usize| of[j] != NONE && sizes[of[j] as usize] + 1 < sizes[of[i] as usize];
            let near = |&(j, v): &(usize, &[f64])| distance[j] + v[0] == distance[i] && smaller(j);
            let least = g.row(i).filter(near).min_by_key(|(j, _)| sizes[of[*j] as usize]);
            if let Some((j, _)) = least {
                sizes[of[i] as usize] -= 1;
                sizes[of[j] as usize] += 1;
                children[before[i]] -= 1;
                children[j] += 1;
                (of[i], before[i], moved) = (of[j], j, true);
            }
        }
    }
    Ok(())
}
