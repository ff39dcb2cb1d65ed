//! `$Nodes` and `$Elements` of version 4.1. `int` has 4 bytes, `size_t` has 8.

use super::super::fields::{Encoding, Fault, Fields};
use super::{Mesh, Nodes, element, shape};

pub(super) fn nodes(fields: &mut Fields<'_>, nodes: &mut Nodes) -> Result<(), Fault> {
    for_each_block(fields, |fields| {
        let dimension = fields.signed(4, "the dimension of an entity")?;
        fields.signed(4, "the number of an entity")?;
        let parametric = fields.signed(4, "whether nodes are parametric")?;
        let parameters = if parametric == 0 { 0 } else { dimension };
        let count = fields.unsigned(8, "the number of nodes")?;
        for _ in 0..count {
            let tag = fields.entry(|fields| fields.unsigned(8, "the number of a node"))?;
            nodes.name(fields, tag)?;
        }
        for _ in 0..count {
            let x = fields.entry(|fields| {
                let x = [fields.coordinate(8)?, fields.coordinate(8)?, fields.coordinate(8)?];
                for _ in 0..parameters {
                    fields.float(8, "a parameter")?;
                }
                Ok(x)
            })?;
            nodes.positions.push(x);
        }
        Ok(())
    })?;
    fields.keyword("$EndNodes")
}

pub(super) fn elements(fields: &mut Fields<'_>, nodes: &Nodes, mesh: &mut Mesh) -> Result<(), Fault> {
    for_each_block(fields, |fields| {
        fields.signed(4, "the dimension of an entity")?;
        fields.signed(4, "the number of an entity")?;
        let kind = fields.signed(4, "the type of elements")?;
        let shape = shape(fields, kind)?;
        for _ in 0..fields.unsigned(8, "the number of elements")? {
            fields.entry(|fields| {
                fields.unsigned(8, "the number of an element")?;
                element(fields, shape, 8, nodes, mesh)
            })?;
        }
        Ok(())
    })?;
    fields.keyword("$EndElements")
}

/// Reads the header of a section and calls `block` for each of its blocks.
fn for_each_block<'a>(
    fields: &mut Fields<'a>,
    mut block: impl FnMut(&mut Fields<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if fields.encoding != Encoding::Text {
        fields.end_line()?;
    }
    let blocks = fields.unsigned(8, "the number of blocks")?;
    for what in ["the number of entries", "the smallest number", "the largest number"] {
        fields.unsigned(8, what)?;
    }
    for _ in 0..blocks {
        block(fields)?;
    }
    Ok(())
}
