//! `spy`: pictures, and inputs that cannot be drawn.

use crate::common::{Folder, coarsen, fails, prints};

/// Width and height of a PNG, from its header.
fn size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let at = |k: usize| u32::from_be_bytes(bytes[k..k + 4].try_into().unwrap());
    (at(16), at(20))
}

#[test]
fn every_order_is_a_picture_of_bounded_size() {
    let folder = Folder::new();
    let out = folder.path("a.png");
    let mut pictures = Vec::new();
    for order in ["natural", "morton", "rcm", "parts"] {
        prints(
            &format!("spy --problem poisson2d:40 --reorder {order} --out {}", out.display()),
            "1600 x 1600",
        );
        let bytes = std::fs::read(&out).unwrap();
        let (width, height) = size(&bytes);
        assert!(width == height && (400..=1200).contains(&width), "{order}: {width} x {height}");
        pictures.push(bytes);
    }
    pictures.dedup();
    assert_eq!(pictures.len(), 4, "each order is another picture");
}

#[test]
fn matrices_of_files_are_drawn_too() {
    let folder = Folder::new();
    let wide =
        folder.file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 8 2\n1 1 1\n2 8 1\n");
    let out = folder.path("a.png");
    assert_eq!(coarsen(&format!("spy {wide} --out {}", out.display())).code, 0);
    let (width, height) = size(&std::fs::read(&out).unwrap());
    assert!(width > 2 * height, "{width} x {height}");
    for order in ["rcm", "parts"] {
        assert_eq!(
            coarsen(&format!("spy {wide} --reorder {order} --out {}", out.display())).code,
            3,
            "{order}"
        );
    }
}

#[test]
fn a_curve_needs_points() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 4, &[(1, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0), (4, 4, 1.0)]);
    let out = folder.path("a.png").display().to_string();
    fails(&format!("spy {a} --reorder morton --out {out}"), 2, "--coordinates");
    let points = folder.vector("x.mtx", &[2.0, 1.0]);
    assert_eq!(coarsen(&format!("spy {a} --reorder morton --coordinates {points} --out {out}")).code, 0);
    assert_eq!(coarsen(&format!("spy {a} --out {}", folder.path("nowhere/a.png").display())).code, 2);
}

#[test]
fn a_picture_is_named_as_what_it_is() {
    for name in ["a.jpg", "a"] {
        fails(&format!("spy --problem poisson2d:4 --out {name}"), 2, ".png");
    }
}
