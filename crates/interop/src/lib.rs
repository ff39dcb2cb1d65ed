//! Conversions to and from sprs, nalgebra-sparse and faer.
