//! What an operand holds on the backend of the others.

/// An operand that is a `T` on the backend of the other operands. *Panics* if it lives on another backend.
pub(super) trait Operand<T> {
    fn inner(&self) -> &T;
    fn inner_mut(&mut self) -> &mut T;
}

macro_rules! operand {
    ($any:ident<$($of:ident),+>, $cpu:ty, $device:ty) => {
        operand!(Cpu of $any<$($of),+>, $cpu);
        #[cfg(feature = "opencl")]
        operand!(OpenCl of $any<$($of),+>, $device);
    };
    ($variant:ident of $any:ident<$($of:ident),+>, $own:ty) => {
        impl<$($of: coarsen_core::Real),+> $crate::any::operand::Operand<$own> for $any<$($of),+> {
            fn inner(&self) -> &$own {
                match self {
                    Self::$variant(own, ..) => own,
                    #[cfg(feature = "opencl")]
                    _ => panic!("operands live on different backends"),
                }
            }

            fn inner_mut(&mut self) -> &mut $own {
                match self {
                    Self::$variant(own, ..) => own,
                    #[cfg(feature = "opencl")]
                    _ => panic!("operands live on different backends"),
                }
            }
        }
    };
}
pub(super) use operand;
