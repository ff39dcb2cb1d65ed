//! `$Entities`, `$PartitionedEntities`, `$Nodes` and `$Elements` of version 4.1. `int` has 4 bytes, `size_t` has 8.

use std::collections::BTreeMap;

use super::super::fields::{Fault, Fields};
use super::{Elements, Nodes, element, shape};

/// The groups of surfaces and volumes, by dimension and number.
pub(super) type Entities = BTreeMap<(i64, i64), Vec<u64>>;

/// Reads the entities up to `end`.
pub(super) fn entities(
    fields: &mut Fields<'_>,
    end: &'static str,
    entities: &mut Entities,
) -> Result<(), Fault> {
    fields.begin_data()?;
    let partitioned = end != "$EndEntities";
    if partitioned {
        fields.unsigned(8, "the number of partitions")?;
        for _ in 0..fields.unsigned(8, "the number of ghost entities")? {
            fields.signed(4, "the number of an entity")?;
            fields.signed(4, "a partition")?;
        }
    }
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = fields.unsigned(8, "the number of entities")?;
    }
    for (dimension, count) in (0..).zip(counts) {
        for _ in 0..count {
            let (number, groups) = fields.entry(|fields| entity(fields, dimension, partitioned))?;
            if dimension > 1 && !groups.is_empty() {
                entities.insert((dimension, number), groups);
            }
        }
    }
    fields.keyword(end)
}

/// The number of an entity and those of its groups, whose signs are orientations.
fn entity(fields: &mut Fields<'_>, dimension: i64, partitioned: bool) -> Result<(i64, Vec<u64>), Fault> {
    let number = fields.signed(4, "the number of an entity")?;
    if partitioned {
        fields.signed(4, "the dimension of an entity")?;
        fields.signed(4, "the number of an entity")?;
        list(fields, "a partition")?;
    }
    for _ in 0..if dimension == 0 { 3 } else { 6 } {
        fields.float(8, "a bound of an entity")?;
    }
    let groups = list(fields, "the number of a group")?;
    let mut groups: Vec<u64> = groups.into_iter().map(i64::unsigned_abs).collect();
    groups.sort_unstable();
    groups.dedup();
    if dimension > 0 {
        list(fields, "the number of an entity")?;
    }
    Ok((number, groups))
}

/// A list behind its length.
fn list(fields: &mut Fields<'_>, what: &'static str) -> Result<Vec<i64>, Fault> {
    let length = fields.unsigned(8, "the length of a list")?;
    (0..fields.count(length, "the length of a list")?).map(|_| fields.signed(4, what)).collect()
}

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
                let x = fields.point(8)?;
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

pub(super) fn elements(
    fields: &mut Fields<'_>,
    nodes: &Nodes,
    entities: &Entities,
    elements: &mut Elements,
) -> Result<(), Fault> {
    for_each_block(fields, |fields| {
        let dimension = fields.signed(4, "the dimension of an entity")?;
        let entity = fields.signed(4, "the number of an entity")?;
        let groups = entities.get(&(dimension, entity)).map_or(&[][..], Vec::as_slice);
        let kind = fields.signed(4, "the type of elements")?;
        let shape = shape(fields, kind)?;
        for _ in 0..fields.unsigned(8, "the number of elements")? {
            fields.entry(|fields| {
                fields.unsigned(8, "the number of an element")?;
                element(fields, shape, 8, nodes, groups, elements)
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
    fields.begin_data()?;
    let blocks = fields.unsigned(8, "the number of blocks")?;
    for what in ["the number of entries", "the smallest number", "the largest number"] {
        fields.unsigned(8, what)?;
    }
    for _ in 0..blocks {
        block(fields)?;
    }
    Ok(())
}
