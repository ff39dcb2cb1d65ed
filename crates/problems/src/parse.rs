//! A problem from its name as text.

use crate::by_rows::ByRows;
use crate::{
    Material, Options, Problem, ProblemError, anisotropic, cloth, elasticity, garment, graph, jump, names,
    pinned, poisson, softbody,
};

impl Problem {
    /// The names that [`parse`](Self::parse) accepts with a number as size. `garment` and `softbody` take a
    /// file instead.
    pub const NAMES: [&str; 8] = names::SYSTEMS;

    /// Returns the problem for a text NAME:SIZE, as typed by a user.
    ///
    /// If the problem is known at compile time, *use* the function of the same name instead. *Cost*: linear
    /// in the stored entries. `graph` is by far the slowest problem, because its memory accesses are
    /// irregular.
    ///
    /// # Errors
    /// [`ProblemError::Spec`] for a text of another form, [`ProblemError::Unknown`] for an unknown name,
    /// [`ProblemError::NotSystem`] for the name of a sequence, [`ProblemError::Option`] for an option that
    /// the problem does not have, and the errors of the function of that name.
    pub fn parse(spec: &str, options: &Options) -> Result<Self, ProblemError> {
        system(spec, options)?.whole()
    }
}

/// Returns the system for a text NAME:SIZE.
pub(crate) fn system(spec: &str, options: &Options) -> Result<ByRows<'static>, ProblemError> {
    let malformed = || ProblemError::Spec { found: spec.to_owned() };
    let (name, size) = spec.split_once(':').ok_or_else(malformed)?;
    if let ("garment" | "softbody", false) = (name, size.is_empty()) {
        return of_mesh(name, size, options);
    }
    if names::SEQUENCES.contains(&name) {
        return Err(ProblemError::NotSystem { name: name.to_owned() });
    }
    if !(name.is_empty() || names::is_system(name)) {
        return Err(ProblemError::Unknown { name: name.to_owned() });
    }
    let n: usize = size.parse().map_err(|_| malformed())?;
    let Options { dt, jump, share } = *options;
    // Options that the problem does not use are errors.
    let ignored = [
        (dt.is_some() && !matches!(name, "cloth" | "pinned"), "dt"),
        (jump.is_some() && name != "elasticity3d", "jump"),
        (share.is_some() && name != "pinned", "share"),
    ];
    if let Some((_, option)) = ignored.into_iter().find(|(ignored, _)| *ignored)
        && names::SYSTEMS.contains(&name)
    {
        return Err(ProblemError::Option { problem: name.to_owned(), option });
    }
    match name {
        "poisson2d" => poisson::system("poisson2d", n, 2),
        "poisson3d" => poisson::system("poisson3d", n, 3),
        "anisotropic2d" => anisotropic::system(n),
        "jump3d" => jump::system(n),
        "elasticity3d" => elasticity::system(n, jump.unwrap_or(1.0)),
        "cloth" => cloth::system(n, dt.unwrap_or(0.002)),
        "pinned" => pinned::system(n, dt.unwrap_or(0.002), share.unwrap_or(0.1)),
        "graph" => graph::system(n),
        _ => Err(ProblemError::Unknown { name: name.to_owned() }),
    }
}

/// Returns a problem whose mesh is read from a file.
fn of_mesh(name: &str, size: &str, options: &Options) -> Result<ByRows<'static>, ProblemError> {
    for (given, option) in [(options.jump, "jump"), (options.share, "share")] {
        if given.is_some() {
            return Err(ProblemError::Option { problem: name.to_owned(), option });
        }
    }
    let dt = options.dt.unwrap_or(0.01);
    let homogeneous = &|_: usize, _: [f64; 3]| 1.0;
    if name == "garment" {
        let divided = |text: &'_ str| {
            text.rsplit_once('@').and_then(|(file, k)| Some((file.to_owned(), k.parse().ok()?)))
        };
        let springs =
            size.rsplit_once('@').and_then(|(rest, share)| Some((divided(rest)?, share.parse().ok()?)));
        let ((file, divisions), contact) =
            springs.unwrap_or_else(|| (divided(size).unwrap_or_else(|| (size.to_owned(), 0)), 0.0));
        return garment::system(&file, divisions, dt, contact);
    }
    match size.parse() {
        Ok(n) => softbody::cube(n, dt, Material::NeoHookean, homogeneous),
        Err(_) => softbody::of_file(size, dt, Material::NeoHookean, homogeneous),
    }
}
