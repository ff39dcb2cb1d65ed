//! Checks of the numbers of a scene.

use super::error::SceneError;
use super::setting::{Body, Pick, Setting};

impl Setting {
    /// Checks the ranges of all numbers that no later step checks.
    ///
    /// # Errors
    /// [`SceneError`] for the first number outside its range.
    pub(super) fn check(&self) -> Result<(), SceneError> {
        if self.body.is_empty() {
            return Err(SceneError::Empty);
        }
        self.body.iter().enumerate().try_for_each(|(index, body)| check_body(index, body))?;
        for (index, attachment) in self.attachment.iter().enumerate() {
            if attachment.body >= self.body.len() {
                let (found, count) = (attachment.body, self.body.len());
                return Err(SceneError::Missing { index, what: "body", found, count });
            }
            let value =
                |key, found, range| Err(SceneError::Value { table: "attachment", index, key, found, range });
            if let Pick::Top(share) = attachment.nodes
                && !(share > 0.0 && share <= 1.0)
            {
                return value("nodes.top", share, "above 0 and at most 1");
            }
            if let Pick::Nearest(point) = &attachment.nodes
                && let Some(&found) = point.iter().find(|v| !v.is_finite())
            {
                return value("nodes.nearest", found, "finite");
            }
            if let Some(until) = attachment.until.filter(|until| *until <= attachment.from.max(1)) {
                return value("until", until as f64, "a frame after the first one of the attachment");
            }
            if let Some(found) = attachment.stiffness.filter(|k| !(*k > 0.0 && k.is_finite())) {
                return value("stiffness", found, "positive and finite");
            }
            let turn = attachment.turn;
            if let Some(turn) = turn.filter(|turn| turn.axis.iter().all(|v| *v == 0.0)) {
                return value("turn.axis", turn.axis[0], "a vector of positive length");
            }
            let moving =
                turn.iter().flat_map(|t| [t.through, t.axis, [t.rate; 3]]).chain([attachment.velocity]);
            if let Some(found) = moving.flatten().find(|v| !v.is_finite()) {
                return value("velocity or turn", found, "finite");
            }
        }
        let gravity = self.gravity.into_iter().flatten().find(|v| !v.is_finite());
        let view = self.view.corners.into_iter().flatten().flatten().find(|v| !v.is_finite());
        let not_positive = |value: Option<f64>| value.filter(|v| !(*v > 0.0 && v.is_finite()));
        for (key, found, range) in [
            ("gravity", gravity, "finite"),
            ("view.corners", view, "finite"),
            ("contact_stiffness", not_positive(self.contact_stiffness), "positive and finite"),
            ("contact_thickness", not_positive(self.contact_thickness), "positive and finite"),
        ] {
            if let Some(found) = found {
                return Err(SceneError::Value { table: "scene", index: 0, key, found, range });
            }
        }
        Ok(())
    }
}

fn check_body(index: usize, body: &Body) -> Result<(), SceneError> {
    let positive = |v: f64| v > 0.0 && v.is_finite();
    let moduli = [("young", body.young), ("density", body.density), ("size", Some(body.size))];
    for (key, value) in moduli {
        if let Some(found) = value.filter(|v| !positive(*v)) {
            return Err(SceneError::Value { table: "body", index, key, found, range: "positive and finite" });
        }
    }
    if let Some(found) = body.poisson.filter(|v| !(*v > -1.0 && *v < 0.5)) {
        let (key, range) = ("poisson", "between -1 and 1/2");
        return Err(SceneError::Value { table: "body", index, key, found, range });
    }
    let above = [body.above.unwrap_or(0.0); 3];
    let vectors =
        [("rotate", body.rotate), ("centre", body.centre), ("above", above), ("velocity", body.velocity)];
    for (key, vector) in vectors {
        if let Some(&found) = vector.iter().find(|v| !v.is_finite()) {
            return Err(SceneError::Value { table: "body", index, key, found, range: "finite" });
        }
    }
    Ok(())
}
