//! Gmsh MSH.

use coarsen_mesh::{Format, Location, Mesh, Problem, ReadError};

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

#[test]
fn versions_and_encodings_agree() {
    let old = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n$EndNodes\n\
        $Elements\n3\n1 15 2 0 1 10\n2 2 2 1 1 10 20 30\n3 4 2 1 1 10 20 30 40\n$EndElements\n";
    let expected = parse(old.as_bytes()).unwrap();
    assert_eq!(expected.positions, POINTS);
    assert_eq!((&expected.triangles[..], &expected.tetrahedra[..]), (&[[0, 1, 2]][..], &[[0, 1, 2, 3]][..]));
    let new = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Comments\nwhatever\n$EndComments\n\
        $Nodes\n2 4 10 40\n0 1 0 1\n10\n0 0 0\n3 1 0 3\n20\n30\n40\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n\
        $Elements\n2 2 1 2\n2 1 2 1\n1 10 20 30\n3 1 4 1\n2 10 20 30 40\n$EndElements\n";
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
        two.ints(&[4, 1, 1, 2, 7, 10, 20, 30, 40]);
        two.text("\n$EndElements\n");
        assert_eq!(parse(&two.bytes).unwrap(), expected);

        let mut four = Bytes { bytes: Vec::new(), big };
        four.text("$MeshFormat\n4.1 1 8\n");
        four.ints(&[1]);
        four.text("\n$EndMeshFormat\n$Nodes\n");
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
