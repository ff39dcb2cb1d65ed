//! The identity of a run: a hash of all that decides its bits.
//!
//! Fields are hashed as they are given, each with its name: whole numbers and floating-point numbers by their bits, lists
//! with their length. So neither the way in which a type is printed nor the size of a mesh matters, and no text of it is
//! made. [`fields`](crate::fields) lists the fields of a type; one that is added later does not compile until it is listed.

use std::path::{Path, PathBuf};

use coarsen_mesh::Mesh;

/// The fingerprint of bytes: the 64-bit hash FNV-1a. It changes whenever a single byte changes.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    continued(0xcbf2_9ce4_8422_2325, bytes)
}

/// The fingerprint of further bytes after those with a fingerprint.
fn continued(hash: u64, bytes: &[u8]) -> u64 {
    let prime = 0x0100_0000_01b3;
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(prime))
}

/// A hash of named fields, by [`fingerprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The hash of a program and of the version of its list of fields, which goes up when the meaning of a field changes.
    pub fn of(program: &str, version: u64) -> Self {
        let mut start = Self(fingerprint(&[]));
        start.field(program, &version);
        start
    }

    /// Adds a field.
    pub fn field(&mut self, name: &str, value: &(impl Field + ?Sized)) -> &mut Self {
        name.add(self);
        value.add(self);
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = continued(self.0, bytes);
    }

    /// The hash of all fields so far.
    pub fn value(&self) -> u64 {
        self.0
    }
}

/// A value that is part of the identity of a run.
pub trait Field {
    /// Adds all that decides bits.
    fn add(&self, to: &mut Fingerprint);
}

/// Implements [`Field`]. A struct adds the fields in braces, and not those after `without`; a `unit` enum adds its variant.
///
/// ```
/// use examples_scene::{fields, identity::Fingerprint};
/// struct Step { h: f64, note: String }
/// fields!(Step { h } without note);
/// #[derive(Debug)]
/// enum Side { Left, Right }
/// fields!(unit Side);
/// let of = |h: f64, note: &str| Fingerprint::of("x", 1).field("step", &Step { h, note: note.into() }).value();
/// assert!(of(0.5, "a") == of(0.5, "b") && of(0.5, "a") != of(0.25, "a"));
/// ```
#[macro_export]
macro_rules! fields {
    (unit $($type:ty),+) => { $(impl $crate::identity::Field for $type {
        fn add(&self, to: &mut $crate::identity::Fingerprint) {
            to.field("variant", format!("{self:?}").as_str());
        }
    })+ };
    ($type:ty { $($name:ident),* $(,)? } $(without $($skip:ident),+)?) => {
        impl $crate::identity::Field for $type {
            fn add(&self, to: &mut $crate::identity::Fingerprint) {
                let Self { $($name,)* $($($skip: _,)+)? } = self;
                $(to.field(stringify!($name), $name);)*
            }
        }
    };
}

macro_rules! whole {
    ($($type:ty),*) => { $(impl Field for $type {
        fn add(&self, to: &mut Fingerprint) {
            to.number(*self as u64);
        }
    })* };
}

whole!(bool, u8, u16, u32, u64, usize);

impl Field for f64 {
    fn add(&self, to: &mut Fingerprint) {
        to.number(self.to_bits());
    }
}

impl Field for str {
    fn add(&self, to: &mut Fingerprint) {
        to.number(self.len() as u64);
        to.bytes(self.as_bytes());
    }
}

impl Field for String {
    fn add(&self, to: &mut Fingerprint) {
        self[..].add(to);
    }
}

impl Field for PathBuf {
    fn add(&self, to: &mut Fingerprint) {
        Path::to_string_lossy(self).add(to);
    }
}

impl<T: Field> Field for [T] {
    fn add(&self, to: &mut Fingerprint) {
        to.number(self.len() as u64);
        self.iter().for_each(|value| value.add(to));
    }
}

impl<T: Field> Field for Vec<T> {
    fn add(&self, to: &mut Fingerprint) {
        self[..].add(to);
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    fn add(&self, to: &mut Fingerprint) {
        self.iter().for_each(|value| value.add(to));
    }
}

impl<T: Field> Field for Option<T> {
    fn add(&self, to: &mut Fingerprint) {
        self.as_slice().add(to);
    }
}

impl<T: Field> Field for &T {
    fn add(&self, to: &mut Fingerprint) {
        T::add(self, to);
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn add(&self, to: &mut Fingerprint) {
        self.0.add(to);
        self.1.add(to);
    }
}

crate::fields!(Mesh { positions, triangles, tetrahedra } without groups, numbers);

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &(impl Field + ?Sized)) -> u64 {
        Fingerprint::of("test", 1).field("value", value).value()
    }

    /// The hash of these bytes, on every machine and with every compiler: checkpoints outlive both.
    #[test]
    fn hashes_do_not_change() {
        let version = [4, 0, 0, 0, 0, 0, 0, 0, b't', b'e', b's', b't', 1, 0, 0, 0, 0, 0, 0, 0];
        let name = [5, 0, 0, 0, 0, 0, 0, 0, b'v', b'a', b'l', b'u', b'e'];
        let half = 0.5_f64.to_le_bytes();
        let list = [1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(of(&vec![0.5]), fingerprint(&[&version[..], &name, &list, &half].concat()));
        assert_eq!(Fingerprint::of("test", 1).value(), 0x9d85_1c93_8ed6_cad8);
    }

    #[test]
    fn values_names_and_versions_differ() {
        assert_ne!(of(&0.0), of(&-0.0));
        assert_ne!(of(&None::<u32>), of(&Some(0_u32)));
        assert_ne!(of(&[vec![1_u32], vec![2, 3]][..]), of(&[vec![1_u32, 2], vec![3]][..]));
        assert_ne!(
            of(&["ab".to_owned().into(), "c".into()] as &[PathBuf; 2]),
            of(&["a".into(), "bc".into()] as &[PathBuf; 2])
        );
        let named = |program, version, name| Fingerprint::of(program, version).field(name, &1.0).value();
        let all = [named("a", 1, "x"), named("b", 1, "x"), named("a", 2, "x"), named("a", 1, "y")];
        assert!((0..4).all(|k| !all[..k].contains(&all[k])), "{all:?}");
        let mesh = Mesh { positions: vec![[0.0; 3]; 3], triangles: vec![[0, 1, 2]], ..Mesh::default() };
        assert_ne!(of(&mesh), of(&Mesh { triangles: vec![[0, 2, 1]], ..mesh.clone() }));
    }
}
