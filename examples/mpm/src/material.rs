//! Materials by name: Wang et al. 2020 (HOT), Table 1. Each value is the mean of its range there, the geometric
//! mean for moduli and yield stresses.

use examples_common::fields;
use serde::Deserialize;

/// A material of Table 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Material {
    /// 300 to 1000 kg/m³, 1e2 to 1e6 Pa.
    Tissue,
    /// 1000 to 2500 kg/m³, 1e6 to 5e7 Pa.
    Rubber,
    /// 800 to 2000 kg/m³, 7e7 to 3e10 Pa.
    Bone,
    /// 1000 to 2000 kg/m³, 2e9 to 4e9 Pa, yield 1e7 to 4e7 Pa.
    Pvc,
    /// 500 to 20000 kg/m³, 1e10 to 4e11 Pa, yield 2e8 to 2e9 Pa. No metal is as light as the paper's 500; give the density
    /// of a metal that is known.
    Metal,
    /// 2000 to 6000 kg/m³, 1e11 to 4e11 Pa.
    Ceramic,
}

fields!(
    enum Material {
        Tissue,
        Rubber,
        Bone,
        Pvc,
        Metal,
        Ceramic,
    }
);

/// The numbers of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// kg/m³.
    pub density: f64,
    /// Young's modulus, Pa.
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Pa; `None` if the material does not yield.
    pub yield_stress: Option<f64>,
}

impl Material {
    /// Its numbers.
    pub const fn numbers(self) -> Numbers {
        let (density, young, poisson, yield_stress) = match self {
            Self::Tissue => (650.0, 1e4, 0.45, None),
            Self::Rubber => (1750.0, 7e6, 0.4, None),
            Self::Bone => (1400.0, 1.45e9, 0.25, None),
            Self::Pvc => (1500.0, 2.8e9, 0.35, Some(2e7)),
            Self::Metal => (10250.0, 6.3e10, 0.3, Some(6.3e8)),
            Self::Ceramic => (4000.0, 2e11, 0.3, None),
        };
        Numbers { density, young, poisson, yield_stress }
    }
}
