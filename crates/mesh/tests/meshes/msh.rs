//! Gmsh MSH.

use coarsen_mesh::{Format, Group, Location, Mesh, Problem, ReadError};

fn parse(bytes: &[u8]) -> Result<Mesh, ReadError> {
    coarsen_mesh::parse(Format::Msh, bytes)
}

const POINTS: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Builds the bytes of a binary file in either byte order.
struct Bytes {
    bytes: Vec<u8>,
    big: bool,
}

impl Bytes {
    fn put(&mut self, little: &[u8]) {
        let mut raw = little.to_vec();
        if self.big {
            raw.reverse();
        }
        self.bytes.extend(raw);
    }
    fn text(&mut self, text: &str) {
        self.bytes.extend(text.as_bytes());
    }
    fn ints(&mut self, ints: &[i32]) {
        ints.iter().for_each(|i| self.put(&i.to_le_bytes()));
    }
    fn sizes(&mut self, sizes: &[u64]) {
        sizes.iter().for_each(|i| self.put(&i.to_le_bytes()));
    }
    fn point(&mut self, x: [f64; 3]) {
        x.iter().for_each(|x| self.put(&x.to_le_bytes()));
    }
}

#[test]
fn curved_elements_are_read_by_their_corners() {
    let nodes: String = (1..=10).map(|k| format!("{k} {k} 0 0\n")).collect();
    let head = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n{nodes}$EndNodes\n");
    let elements = "$Elements\n3\n1 8 2 0 1 1 2 5\n2 9 2 1 1 1 2 3 5 6 7\n3 11 2 1 1 1 2 3 4 5 6 7 8 9 10\n$EndElements\n";
    let mesh = parse(format!("{head}{elements}").as_bytes()).unwrap();
    assert_eq!((&mesh.triangles[..], &mesh.tetrahedra[..]), (&[[0, 1, 2]][..], &[[0, 1, 2, 3]][..]));
    assert_eq!(mesh.without_unused().positions.len(), 4);
    let hexahedron = format!("{head}$Elements\n1\n1 5 0 1 2 3 4 5 6 7 8\n$EndElements\n");
    let fault = parse(hexahedron.as_bytes()).unwrap_err();
    assert_eq!((fault.location, fault.problem), (Some(Location::Line(19)), Problem::Element { kind: 5 }));
}

fn group(name: &str, dimension: u8, elements: &[u32]) -> Group {
    Group { name: name.into(), dimension, elements: elements.to_vec() }
}

/// The names of groups, of which the first has only curves.
const NAMES: &str = "$PhysicalNames\n3\n1 7 \"edge\"\n2 7 \"outer wall\"\n3 1 \"steel\"\n$EndPhysicalNames\n";

#[test]
fn versions_and_encodings_agree() {
    let old = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n$EndNodes\n\
         $Elements\n3\n1 15 2 0 1 10\n2 2 2 7 1 10 20 30\n3 4 2 1 1 10 20 30 40\n$EndElements\n{NAMES}"
    );
    let expected = parse(old.as_bytes()).unwrap();
    assert_eq!((&expected.positions[..], &expected.numbers[..]), (&POINTS[..], &[10, 20, 30, 40][..]));
    assert_eq!(expected.groups, [group("outer wall", 2, &[0]), group("steel", 3, &[0])]);
    assert_eq!((&expected.triangles[..], &expected.tetrahedra[..]), (&[[0, 1, 2]][..], &[[0, 1, 2, 3]][..]));
    let new = format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Comments\nwhatever\n$EndComments\n{NAMES}\
         $Entities\n1 1 1 1\n1 0 0 0 0\n1 0 0 0 1 0 0 1 7 2 1 -2\n1 0 0 0 1 1 0 2 -7 7 1 1\n1 0 0 0 1 1 1 1 1 1 1\n\
         $EndEntities\n$Nodes\n2 4 10 40\n0 1 0 1\n10\n0 0 0\n3 1 0 3\n20\n30\n40\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n\
         $Elements\n2 2 1 2\n2 1 2 1\n1 10 20 30\n3 1 4 1\n2 10 20 30 40\n$EndElements\n"
    );
    assert_eq!(parse(new.as_bytes()).unwrap(), expected);
    for big in [false, true] {
        let mut two = Bytes { bytes: Vec::new(), big };
        two.text("$MeshFormat\n2.2 1 8\n");
        two.ints(&[1]);
        two.text("\n$EndMeshFormat\n$Nodes\n4\n");
        for (k, x) in POINTS.into_iter().enumerate() {
            two.ints(&[10 * (k as i32 + 1)]);
            two.point(x);
        }
        two.text("\n$EndNodes\n$Elements\n2\n");
        two.ints(&[2, 1, 2, 1, 7, 7, 10, 20, 30]);
        two.ints(&[4, 1, 1, 2, 1, 10, 20, 30, 40]);
        two.text("\n$EndElements\n");
        two.text(NAMES);
        assert_eq!(parse(&two.bytes).unwrap(), expected);

        let mut four = Bytes { bytes: Vec::new(), big };
        four.text("$MeshFormat\n4.1 1 8\n");
        four.ints(&[1]);
        four.text("\n$EndMeshFormat\n");
        four.text(NAMES);
        four.text("$Entities\n");
        four.sizes(&[1, 0, 1, 1]);
        four.ints(&[1]);
        four.point([0.0; 3]);
        four.sizes(&[0]);
        for (entity, group) in [(1, 7), (1, 1)] {
            four.ints(&[entity]);
            four.point([0.0; 3]);
            four.point([1.0; 3]);
            four.sizes(&[1]);
            four.ints(&[group]);
            four.sizes(&[2]);
            four.ints(&[1, -2]);
        }
        four.text("\n$EndEntities\n$Nodes\n");
        four.sizes(&[1, 4, 10, 40]);
        four.ints(&[3, 1, 0]);
        four.sizes(&[4, 10, 20, 30, 40]);
        POINTS.into_iter().for_each(|x| four.point(x));
        four.text("\n$EndNodes\n$Elements\n");
        four.sizes(&[2, 2, 1, 2]);
        four.ints(&[2, 1, 2]);
        four.sizes(&[1, 1, 10, 20, 30]);
        four.ints(&[3, 1, 4]);
        four.sizes(&[1, 2, 10, 20, 30, 40]);
        four.text("\n$EndElements\n");
        assert_eq!(parse(&four.bytes).unwrap(), expected);
    }
}

/// A quadrilateral without area, one that becomes two triangles, and triangles; group 4 has no name.
#[test]
fn elements_have_the_indices_of_their_triangles() {
    let text = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{NAMES}$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes\n\
         $Elements\n4\n1 3 2 7 1 1 2 2 1\n2 3 2 7 1 1 2 3 4\n3 2 2 -4 1 1 2 3\n4 2 0 1 3 4\n$EndElements\n"
    );
    let mesh = parse(text.as_bytes()).unwrap();
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2], [0, 2, 3]]);
    assert_eq!(mesh.groups, [group("4", 2, &[2]), group("outer wall", 2, &[0, 1])]);
    // Names of version 2.0 have no dimension.
    let first = text
        .replace("2.2 0 8", "2 0 8")
        .replace("3\n1 7 \"edge\"\n2 7", "1\n7")
        .replace("3 1 \"steel\"\n", "");
    assert_eq!(parse(first.as_bytes()).unwrap().groups, [group("4", 2, &[2]), group("7", 2, &[0, 1])]);
}

/// A file of version 4.1 with sections before its nodes, and with the blocks of its elements.
fn text4(sections: &str, blocks: &str) -> String {
    format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{sections}$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n\
         0 0 1\n$EndNodes\n$Elements\n1 1 1 1\n{blocks}$EndElements\n"
    )
}

#[test]
fn partitions_have_groups() {
    let parts = "$PartitionedEntities\n2\n1\n9 2\n0 0 0 1\n5 3 1 2 1 2 0 0 0 1 1 1 2 3 1 1 8\n$EndPartitionedEntities\n";
    let mesh = parse(text4(&format!("{NAMES}{parts}"), "3 5 4 1\n1 1 2 3 4\n").as_bytes()).unwrap();
    assert_eq!(mesh.groups, [group("steel", 3, &[0]), group("3", 3, &[0])]);
}

#[test]
fn bad_groups_are_named_with_their_line() {
    let number = |what, found: &str| Problem::Number { what, found: found.into() };
    let cases = [
        (
            "$PhysicalNames\n1\n2 7 wall\n",
            Problem::Word { expected: "a name in quotes", found: "wall".into() },
        ),
        ("$PhysicalNames\n1\n2 7 \"\n", Problem::Word { expected: "a name in quotes", found: "\\\"".into() }),
        ("$PhysicalNames\n1\n2 x \"wall\"\n", number("the number of a group", "x")),
        ("$PhysicalNames\n1\n-2 7 \"wall\"\n", number("the dimension of a group", "-2")),
        ("$Entities\n0 0 0 1\n1 0 0 0 1 1 1 1 x 0\n", number("the number of a group", "x")),
        ("$Entities\n0 0 0 1\n1 0 0 0 1 1 1 -1 0\n", number("the length of a list", "-1")),
    ];
    for (sections, problem) in cases {
        let error = parse(text4(sections, "3 1 4 1\n1 1 2 3 4\n").as_bytes()).unwrap_err();
        assert_eq!((error.location, error.problem), (Some(Location::Line(6)), problem));
    }
}

/// Many groups of many elements would need more memory than the file allows.
#[test]
fn groups_are_bounded_by_the_size_of_the_file() {
    let read = |count: usize| {
        let groups: String = (1..=count).map(|k| format!(" {k}")).collect();
        let entity = format!("$Entities\n0 0 1 0\n1 0 0 0 1 1 0 {count}{groups} 0\n$EndEntities\n");
        parse(text4(&entity, &format!("2 1 2 1000\n{}", "1 1 2 3\n".repeat(1000))).as_bytes())
    };
    assert_eq!(read(4).unwrap().groups.len(), 4);
    let error = read(100).unwrap_err();
    assert!(matches!(error.problem, Problem::Count { .. }), "{error}");
}
