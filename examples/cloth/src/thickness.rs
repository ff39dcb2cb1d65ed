//! The thickness of the cloth: where contact begins.

use coarsen_contact::clearance;

use crate::fault::SceneError;
use crate::options::Options;
use crate::sheet::Sheet;

/// The default thickness in m, and its largest share of the shortest edge.
const THICKNESS: [f64; 2] = [2e-3, 0.25];

/// Round-off of distances.
const ROUND: f64 = 1e-9;

/// The distance that barriers keep, in units of the thickness: that of contact of triangles.
pub(crate) const MIN_DISTANCE: f64 = 0.1;

/// The thickness of the cloth, m: that of the options; or the default, but not more than the distance of parts of the sheet
/// from each other.
///
/// # Errors
/// [`SceneError::Thick`] if it is not below all edges, [`SceneError::Near`] if parts of the sheet are nearer than it, or than a
/// tenth of the default.
pub(crate) fn thickness(sheet: &Sheet, options: &Options) -> Result<f64, SceneError> {
    let [most, share] = THICKNESS;
    let [(shortest, ends), _] = sheet.edges();
    let thickness = options.cloth.thickness.unwrap_or(most.min(share * shortest));
    if thickness >= shortest {
        return Err(SceneError::Thick { thickness, ends, length: shortest });
    }
    // Parts of a flat sheet are as near as the smallest height of a triangle, and layers as they are placed.
    let Some((distance, pair)) = clearance(&sheet.triangles, &sheet.rest, thickness)? else {
        return Ok(thickness);
    };
    if options.cloth.thickness.is_some() || distance < MIN_DISTANCE * thickness {
        return Err(SceneError::Near { thickness, pair, distance });
    }
    Ok((1.0 - ROUND) * distance)
}
