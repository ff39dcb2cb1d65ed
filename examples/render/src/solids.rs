//! Solids of one colour each, seen by a camera that stays where it is.

use crate::raster::{self, Balls, Frame, Paint, Surface};
use crate::{Drawing, Picture, PictureError};

/// A surface of one colour: a body, an obstacle, tiles of a floor.
#[derive(Clone, Copy, Debug)]
pub struct Solid<'a> {
    /// The vertices.
    pub positions: &'a [[f64; 3]],
    /// The corners of each triangle; both sides are drawn.
    pub triangles: &'a [[u32; 3]],
    /// The colour in sRGB.
    pub colour: [u8; 3],
}

impl<'a> Solid<'a> {
    fn surface(&self) -> Surface<'a> {
        let paint = Paint::Colour(self.colour.map(|c| f64::from(c) / 255.0));
        Surface { positions: self.positions, triangles: self.triangles, paint }
    }
}

impl Drawing {
    /// Draws solids over the whole picture, without a colour bar. The camera is fitted to the points `view`
    /// and not to the solids, so that it does not move with them.
    ///
    /// Triangles that reach behind the eye are left out. *Cost* as [`mesh`](Self::mesh).
    ///
    /// ```
    /// use examples_render::{Drawing, Solid};
    /// let drawing = Drawing { width: 160, height: 120, ..Drawing::default() };
    /// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    /// let tile = Solid { positions: &corners, triangles: &[[0, 1, 2]], colour: [200, 80, 40] };
    /// let picture = drawing.solids(&[[-1.0; 3], [2.0; 3]], &[tile])?;
    /// assert_eq!(picture.pixel(0, 0), drawing.background);
    /// # Ok::<(), examples_render::PictureError>(())
    /// ```
    ///
    /// # Errors
    /// [`PictureError`] for positions that are not finite, triangles with missing vertices, or an empty
    /// picture.
    pub fn solids(&self, view: &[[f64; 3]], solids: &[Solid<'_>]) -> Result<Picture, PictureError> {
        self.solids_and_balls(view, solids, Balls::default())
    }

    /// As [`solids`](Self::solids), with balls among them.
    ///
    /// # Errors
    /// As [`solids`](Self::solids); [`PictureError::Values`] for another number of radii or colours than balls.
    pub fn solids_and_balls(
        &self,
        view: &[[f64; 3]],
        solids: &[Solid<'_>],
        balls: Balls<'_>,
    ) -> Result<Picture, PictureError> {
        self.check(view, &[])?;
        self.check(balls.centres, &[])?;
        let expected = balls.centres.len();
        for found in [balls.radii.len(), balls.colours.len()] {
            if found != expected {
                return Err(PictureError::Values { expected, found });
            }
        }
        for solid in solids {
            self.check(solid.positions, solid.triangles)?;
        }
        let (width, height) = (self.width as f64, self.height as f64);
        let camera = self.camera.fit(view, width / height);
        let surfaces: Vec<_> = solids.iter().map(Solid::surface).collect();
        let frame = Frame { left: 0.0, top: 0.0, width, height };
        Ok(raster::draw(&surfaces, balls, self, &camera, frame))
    }
}
