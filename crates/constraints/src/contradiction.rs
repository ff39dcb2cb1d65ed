//! Explanations of contradictory constraints.

use super::factor::{SPANNED, norm, subtract};
use super::{ConstraintError, Constraints};

/// Writes constraint k as a combination of the other constraints of its group `members` and returns the error
/// that explains the contradiction.
pub(super) fn explain(constraints: &Constraints, members: &[u32], k: u32) -> ConstraintError {
    // A row has one coefficient for each unknown of the group. It is stored with its value and with the
    // combination of constraints from which it results.
    let others: Vec<usize> = members.iter().filter(|&&m| m != k).map(|&m| m as usize).collect();
    let mut unknowns: Vec<usize> =
        members.iter().flat_map(|&m| constraints.terms(m as usize)).map(|t| t.0).collect();
    unknowns.sort_unstable();
    unknowns.dedup();
    let b = constraints.block();
    let row = |m: usize| {
        let mut row = vec![0.0; unknowns.len() * b];
        for (node, coefficients) in constraints.terms(m) {
            let at = unknowns.partition_point(|&u| u < node) * b;
            row[at..at + b].copy_from_slice(coefficients);
        }
        let length = norm(&row);
        row.iter_mut().for_each(|v| *v /= length);
        (row, constraints.value(m) / length)
    };
    let unit = |m: usize| (0..others.len()).map(move |o| f64::from(u8::from(o == m))).collect::<Vec<f64>>();
    let mut basis: Vec<(Vec<f64>, f64, Vec<f64>)> = Vec::new();
    let reduce =
        |row: &mut Vec<f64>, of: &mut Vec<f64>, value: &mut f64, basis: &[(Vec<f64>, f64, Vec<f64>)]| {
            for _ in 0..2 {
                for (q, e, parts) in basis {
                    let share = subtract(row, q);
                    of.iter_mut().zip(parts).for_each(|(o, p)| *o -= share * p);
                    *value -= share * e;
                }
            }
        };
    for (at, &m) in others.iter().enumerate() {
        let ((mut q, mut e), mut parts) = (row(m), unit(at));
        reduce(&mut q, &mut parts, &mut e, &basis);
        let length = norm(&q);
        if length > SPANNED {
            q.iter_mut().for_each(|v| *v /= length);
            parts.iter_mut().for_each(|v| *v /= length);
            basis.push((q, e / length, parts));
        }
    }
    let ((mut q, asked), mut parts) = (row(k as usize), vec![0.0; others.len()]);
    let mut remains = asked;
    reduce(&mut q, &mut parts, &mut remains, &basis);
    let named = others.iter().zip(&parts).filter(|(_, p)| p.abs() > SPANNED).map(|(&m, _)| m);
    let others: Vec<usize> = named.collect();
    let mut nodes: Vec<u32> =
        others.iter().chain([&(k as usize)]).flat_map(|&m| constraints.nodes_of(m)).copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    ConstraintError::Contradiction { constraint: k as usize, others, nodes, asked, left: asked - remains }
}
