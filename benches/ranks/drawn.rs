//! Schedules and the pipeline, drawn for the book.

use coarsen_distributed::Schedule;
use coarsen_distributed::simulation::{blocking, pipelined};

use crate::Outcome;
use crate::svg::Drawing;

/// A colour for each sub-vector of the exchange of eight ranks.
const COLOURS: [&str; 8] =
    ["#9ECAE1", "#FDD0A2", "#A1D99B", "#DADAEB", "#FCBBA1", "#C7E9C0", "#E5C494", "#D9D9D9"];

pub(crate) fn run(_: &[String]) -> Outcome<()> {
    schedules()?;
    pipeline()
}

/// The letter v with an index.
fn sub_vector(v: usize) -> String {
    let digits = ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇'];
    format!("v{}", digits[v])
}

/// For four and for eight ranks: rows are ranks, columns are stages. A box has the colour of the sub-vector.
fn schedules() -> Outcome<()> {
    let (wide, high, left) = (52.0, 24.0, 64.0);
    let mut drawing = Drawing::new(1390.0, 430.0);
    let mut top = 34.0;
    for n in [4, 8] {
        let mut x = left;
        for (name, schedule) in [
            ("work queues", Schedule::work_queues(n)?),
            ("ring", Schedule::ring(n)?),
            ("pairwise", Schedule::pairwise(n)?),
        ] {
            drawing.words([x, top - 14.0], "start", &format!("{name}, {n} ranks"));
            for rank in 0..n {
                let y = top + rank as f64 * high;
                drawing.words([x - 8.0, y + 16.5], "end", &format!("rank {rank}"));
                for (stage, node) in schedule.queue(rank).iter().enumerate() {
                    let place = [x + stage as f64 * wide, y, wide, high];
                    let words = format!("{} ← {}", sub_vector(node.vector), node.peer);
                    drawing.tile(place, COLOURS[node.vector], &words);
                }
            }
            x += (n - 1) as f64 * wide + left + 20.0;
        }
        top += n as f64 * high + 56.0;
    }
    drawing.write("book/src/methods/schedules.svg")
}

/// Rank 0 of four: transfers above, products below, with equal times and with most work in the diagonal block.
fn pipeline() -> Outcome<()> {
    let (scale, high) = (58.0, 24.0);
    let mut drawing = Drawing::new(820.0, 330.0);
    let mut y = 30.0;
    for (title, compute, transfer) in [
        ("equal blocks", [1.5, 1.5, 1.5, 1.5], [1.8, 1.8, 1.8]),
        ("nearly all work in the diagonal block", [4.8, 0.4, 0.4, 0.4], [1.8, 1.8, 1.8]),
    ] {
        drawing.words([8.0, y - 10.0], "start", title);
        let total: f64 = transfer.iter().sum();
        for (name, overlap) in [("blocking (eq. 6)", false), ("pipelined (eq. 7)", true)] {
            drawing.words([8.0, y + high + 4.0], "start", name);
            let left = 128.0;
            let mut arrived = 0.0;
            for (j, t) in transfer.iter().enumerate() {
                let place = [left + scale * arrived, y, scale * t, high];
                drawing.tile(place, COLOURS[j + 1], &format!("T{}", ['₁', '₂', '₃'][j]));
                arrived += t;
            }
            let ends = if overlap { pipelined(&compute, &transfer) } else { blocking(&compute, &transfer) };
            let mut end = total;
            for (j, c) in compute.iter().enumerate() {
                // Without overlap, products follow one another after the last transfer.
                end = if overlap { ends[j] } else { end + c };
                let place = [left + scale * (end - c), y + high + 3.0, scale * c, high];
                let words =
                    if *c > 0.5 { format!("C{}", ['₀', '₁', '₂', '₃'][j]) } else { String::new() };
                drawing.tile(place, COLOURS[j], &words);
            }
            y += 2.0 * high + 16.0;
        }
        y += 26.0;
    }
    drawing.write("book/src/methods/pipeline.svg")
}
