//! The names of all systems and sequences of the gallery.

/// The systems that take a number as size. `garment` and `softbody` take a file instead.
pub(crate) const SYSTEMS: [&str; 8] =
    ["poisson2d", "poisson3d", "anisotropic2d", "jump3d", "elasticity3d", "cloth", "pinned", "graph"];

/// The sequences of systems.
pub(crate) const SEQUENCES: [&str; 2] = ["cloth-contact", "stack"];

/// Whether the gallery has a single system of this name.
pub(crate) fn is_system(name: &str) -> bool {
    SYSTEMS.contains(&name) || matches!(name, "garment" | "softbody")
}
