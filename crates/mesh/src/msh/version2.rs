//! `$Nodes`, `$ParametricNodes` and `$Elements` of version 2.

use super::super::fields::{Encoding, Fault, Fields};
use super::{Elements, Nodes, Problem, element, shape};

/// Reads the nodes up to `end`. Parametric nodes name their geometric entity and have a parameter for each of its
/// dimensions, except in volumes.
pub(super) fn nodes(fields: &mut Fields<'_>, end: &'static str, nodes: &mut Nodes) -> Result<(), Fault> {
    let count: usize = fields.text("the number of nodes")?;
    fields.begin_data()?;
    for _ in 0..count {
        fields.entry(|fields| {
            let tag = fields.signed(4, "the number of a node")?;
            let x = fields.point(8)?;
            if end != "$EndNodes" {
                let dimension = fields.signed(4, "the dimension of an entity")?;
                fields.signed(4, "the number of an entity")?;
                for _ in 0..if dimension < 3 { dimension } else { 0 } {
                    fields.float(8, "a parameter")?;
                }
            }
            nodes.name(fields, tag)?;
            nodes.positions.push(x);
            Ok(())
        })?;
    }
    fields.keyword(end)
}

pub(super) fn elements(fields: &mut Fields<'_>, nodes: &Nodes, elements: &mut Elements) -> Result<(), Fault> {
    let count: usize = fields.text("the number of elements")?;
    fields.begin_data()?;
    let mut read = 0;
    while read < count {
        read += fields.entry(|fields| block(fields, count - read, nodes, elements))?;
    }
    fields.keyword("$EndElements")
}

/// Reads up to `most` elements of one type and returns their number. A binary file has blocks: type, count, tags. A
/// text file repeats type and tags for each element.
fn block(
    fields: &mut Fields<'_>,
    most: usize,
    nodes: &Nodes,
    elements: &mut Elements,
) -> Result<usize, Fault> {
    let (kind, block, tags) = if fields.encoding == Encoding::Text {
        fields.signed(4, "the number of an element")?;
        (fields.signed(4, "the type of an element")?, 1, fields.signed(4, "the number of tags")?)
    } else {
        let kind = fields.signed(4, "the type of an element")?;
        let block = fields.signed(4, "the number of elements")?;
        (kind, fields.count(block, "the number of elements")?, fields.signed(4, "the number of tags")?)
    };
    if block == 0 || block > most {
        let what = "elements of a block";
        return Err(fields.fault(Problem::Count { what, expected: most, found: block }));
    }
    let shape = shape(fields, kind)?;
    for _ in 0..block {
        if fields.encoding != Encoding::Text {
            fields.signed(4, "the number of an element")?;
        }
        let mut group = 0; // the first tag
        for k in 0..tags {
            let tag = fields.signed(4, "a tag")?;
            group = if k == 0 { tag.unsigned_abs() } else { group };
        }
        element(fields, shape, 4, nodes, &[group], elements)?;
    }
    Ok(block)
}
