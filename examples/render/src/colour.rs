//! Colour maps.

/// A colour map whose lightness increases evenly. Equal steps look equal, also in grey and to colour-blind
/// readers.
///
/// *Reference* Smith & van der Walt 2015, "A better default colormap for Matplotlib", SciPy conference. The
/// polynomials of degree 6 are fits by Zucker (2019, public domain), within 0.02 of the tables.
///
/// ```
/// use examples_render::Colours;
/// assert_eq!(Colours::Viridis.at(-1.0), Colours::Viridis.at(0.0)); // constant beyond the ends
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// Violet, green, yellow.
    #[default]
    Viridis,
    /// Blue, red, yellow: from cold to hot.
    Plasma,
}

/// Coefficients of red, green and blue, from t⁰ to t⁶.
const VIRIDIS: [[f64; 3]; 7] = [
    [0.277_727_327, 0.005_407_345, 0.334_099_805],
    [0.105_093_043, 1.404_613_530, 1.384_590_163],
    [-0.330_861_829, 0.214_847_559, 0.095_095_163],
    [-4.634_230_499, -5.799_100_973, -19.332_440_956],
    [6.228_269_936, 14.179_933_367, 56.690_552_601],
    [4.776_384_998, -13.745_145_378, -65.353_032_633],
    [-5.435_455_856, 4.645_852_612, 26.312_435_250],
];

/// As [`VIRIDIS`].
const PLASMA: [[f64; 3]; 7] = [
    [0.058_732_344, 0.023_336_709, 0.543_340_183],
    [2.176_514_634, 0.238_383_417, 0.753_960_460],
    [-2.689_460_476, -7.455_851_136, 3.110_799_940],
    [6.130_348_346, 42.346_188_148, -28.518_854_653],
    [-11.107_436_191, -82.666_311_094, 60.139_847_674],
    [10.023_065_576, 71.413_617_701, -54.072_186_556],
    [-3.658_713_843, -22.931_534_655, 18.191_907_785],
];

impl Colours {
    /// The colour at t in \[0, 1\], in sRGB from 0 to 1; constant outside.
    pub fn at(self, t: f64) -> [f64; 3] {
        let t = t.clamp(0.0, 1.0);
        let coefficients = match self {
            Self::Viridis => &VIRIDIS,
            Self::Plasma => &PLASMA,
        };
        [0, 1, 2].map(|k| coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c[k]).clamp(0.0, 1.0))
    }
}

/// The pixel of a colour with components from 0 to 1.
pub(crate) fn bytes(colour: [f64; 3]) -> [u8; 3] {
    colour.map(|c| (255.0 * c).round().clamp(0.0, 255.0) as u8)
}

/// The light intensity of an sRGB value, with a gamma of 2; intensities can be averaged and shaded.
pub(crate) fn to_light(colour: [f64; 3]) -> [f32; 3] {
    colour.map(|c| (c * c) as f32)
}

/// The sRGB value of a light intensity.
pub(crate) fn from_light(light: [f32; 3]) -> [f64; 3] {
    light.map(|c| f64::from(c.max(0.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fits approximate the tables of Matplotlib.
    #[test]
    fn the_fits_follow_the_tables() {
        let tables = [
            (Colours::Viridis, 0.0, [0.267, 0.005, 0.329]),
            (Colours::Viridis, 0.25, [0.230, 0.322, 0.546]),
            (Colours::Viridis, 0.5, [0.128, 0.567, 0.551]),
            (Colours::Viridis, 0.75, [0.369, 0.789, 0.383]),
            (Colours::Viridis, 1.0, [0.993, 0.906, 0.144]),
            (Colours::Plasma, 0.0, [0.050, 0.030, 0.528]),
            (Colours::Plasma, 0.5, [0.798, 0.280, 0.470]),
            (Colours::Plasma, 1.0, [0.940, 0.975, 0.131]),
        ];
        for (colours, t, table) in tables {
            let ours = colours.at(t);
            assert!(ours.iter().zip(table).all(|(a, b)| (a - b).abs() < 0.02), "{colours:?} {t} {ours:?}");
        }
    }

    #[test]
    fn lightness_grows() {
        let light = |c: [f64; 3]| 0.21 * c[0] * c[0] + 0.72 * c[1] * c[1] + 0.07 * c[2] * c[2];
        for colours in [Colours::Viridis, Colours::Plasma] {
            let scale: Vec<f64> = (0..=50).map(|k| light(colours.at(f64::from(k) / 50.0))).collect();
            assert!(scale.windows(2).all(|pair| pair[1] > pair[0] - 2e-3), "{colours:?}");
        }
    }
}
