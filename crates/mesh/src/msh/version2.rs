//! `$Nodes` and `$Elements` of version 2.

use super::super::fields::{Encoding, Fault, Fields};
use super::{Mesh, Nodes, Problem, element, shape};

pub(super) fn nodes(fields: &mut Fields<'_>, nodes: &mut Nodes) -> Result<(), Fault> {
    let count: usize = fields.text("the number of nodes")?;
    begin(fields)?;
    for _ in 0..count {
        let tag = fields.signed(4, "the number of a node")?;
        let x = [fields.coordinate(8)?, fields.coordinate(8)?, fields.coordinate(8)?];
        nodes.name(fields, tag)?;
        nodes.positions.push(x);
    }
    fields.keyword("$EndNodes")
}

pub(super) fn elements(fields: &mut Fields<'_>, nodes: &Nodes, mesh: &mut Mesh) -> Result<(), Fault> {
    let count: usize = fields.text("the number of elements")?;
    begin(fields)?;
    let mut read = 0;
    while read < count {
        // A binary file has blocks of elements of one type: type, count, tags. A text file repeats type and
        // tags for each element.
        let (kind, block, tags) = if fields.encoding == Encoding::Text {
            fields.signed(4, "the number of an element")?;
            (fields.signed(4, "the type of an element")?, 1, fields.signed(4, "the number of tags")?)
        } else {
            let kind = fields.signed(4, "the type of an element")?;
            let block = fields.signed(4, "the number of elements")?;
            (kind, fields.count(block, "the number of elements")?, fields.signed(4, "the number of tags")?)
        };
        if block == 0 || block > count - read {
            let what = "elements of a block";
            return Err(fields.fault(Problem::Count { what, expected: count - read, found: block }));
        }
        let shape = shape(fields, kind)?;
        for _ in 0..block {
            if fields.encoding != Encoding::Text {
                fields.signed(4, "the number of an element")?;
            }
            for _ in 0..tags {
                fields.signed(4, "a tag")?;
            }
            element(fields, shape, 4, nodes, mesh)?;
        }
        read += block;
    }
    fields.keyword("$EndElements")
}

/// Skips the line end before binary data.
fn begin(fields: &mut Fields<'_>) -> Result<(), Fault> {
    if fields.encoding == Encoding::Text { Ok(()) } else { fields.end_line() }
}
