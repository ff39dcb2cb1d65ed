//! Pairs, touches and impacts as messages.

use coarsen_contact::{Pair, Touch};
use coarsen_distributed::{pack, unpack};

/// The bytes of a pair, of a touch, and of an impact.
const PAIR: usize = 20;
pub(crate) const TOUCH: usize = PAIR + 88;
const IMPACT: usize = 8 + PAIR;

fn kind(pair: &Pair) -> u32 {
    u32::from(matches!(pair, Pair::EdgeEdge { .. }))
}

/// The pair of a kind and four nodes.
fn pair_of(bytes: &[u8]) -> Pair {
    let mut all = [0; 5];
    all.iter_mut().zip(unpack::<u32>(bytes)).for_each(|(to, node)| *to = node);
    let [kind, a, b, c, d] = all;
    match kind {
        0 => Pair::VertexFace { vertex: a, face: [b, c, d] },
        _ => Pair::EdgeEdge { edges: [[a, b], [c, d]] },
    }
}

/// Times and pairs as a message.
pub(crate) fn pack_impacts(impacts: &[(f64, Pair)]) -> Vec<u8> {
    let mut message = Vec::with_capacity(IMPACT * impacts.len());
    for (t, pair) in impacts {
        pack([*t], &mut message);
        pack([kind(pair)], &mut message);
        pack(pair.nodes(), &mut message);
    }
    message
}

pub(crate) fn impacts_of(message: &[u8]) -> impl Iterator<Item = (f64, Pair)> {
    message.chunks_exact(IMPACT).map(|bytes| {
        let (t, pair) = bytes.split_at(8);
        (unpack::<f64>(t).next().unwrap_or_default(), pair_of(pair))
    })
}

/// Appends a touch to a message.
pub(crate) fn put(touch: &Touch, message: &mut Vec<u8>) {
    let mut bytes = [0; TOUCH];
    let (pair, numbers) = bytes.split_at_mut(PAIR);
    pair[..4].copy_from_slice(&kind(&touch.pair).to_ne_bytes());
    let nodes = pair[4..].chunks_exact_mut(4).zip(touch.pair.nodes());
    nodes.for_each(|(to, node)| to.copy_from_slice(&node.to_ne_bytes()));
    let numbers = numbers.chunks_exact_mut(8).zip(touch.numbers());
    numbers.for_each(|(to, v)| to.copy_from_slice(&v.to_ne_bytes()));
    message.extend_from_slice(&bytes);
}

pub(crate) fn touches_of(message: &[u8]) -> Vec<Touch> {
    let touch = |bytes: &[u8]| {
        let mut numbers = [0.0; 11];
        numbers.iter_mut().zip(unpack::<f64>(&bytes[PAIR..])).for_each(|(to, v)| *to = v);
        Touch::of_numbers(pair_of(bytes), numbers)
    };
    message.chunks_exact(TOUCH).map(touch).collect()
}

/// Replaces `found` by the touches of all lists, each of which is sorted by pair. No pair is in two of them.
pub(crate) fn merge(lists: &[Vec<Touch>], found: &mut Vec<Touch>) {
    found.clear();
    found.reserve(lists.iter().map(Vec::len).sum());
    let mut rest: Vec<&[Touch]> = lists.iter().map(Vec::as_slice).collect();
    loop {
        // The list with the first pair is taken up to the first pair of the others.
        rest.retain(|list| !list.is_empty());
        rest.sort_unstable_by_key(|list| list[0].pair);
        let Some((first, others)) = rest.split_first_mut() else { return };
        let end = match others.first() {
            None => first.len(),
            Some(next) => run(first, &next[0].pair),
        };
        found.extend_from_slice(&first[..end]);
        *first = &first[end..];
    }
}

/// The number of touches at the start of a list whose pairs are before `end`, by doubled steps.
fn run(list: &[Touch], end: &Pair) -> usize {
    let mut step = 1;
    while step < list.len() && list[step].pair < *end {
        step *= 2;
    }
    let low = step / 2;
    low + list[low..list.len().min(step)].partition_point(|touch| touch.pair < *end)
}
