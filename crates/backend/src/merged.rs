//! The memory in which updates merge contact into the matrix.

use std::any::Any;
use std::sync::Arc;
use std::{fmt, mem};

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern, System};

use crate::{Reused, SetupError};

/// The matrix A + C of an earlier update, whose memory and pattern serve the next update.
///
/// *Use* as a field of an object that needs one matrix in each update. *Memory* a copy of A after the first system with
/// contact, nothing before.
///
/// ```
/// use coarsen_backend::Merged;
/// use coarsen_sparse::{Bsr, Contacts, System};
/// let a = Bsr::<f64>::identity(2, 1)?;
/// let mut contact = Contacts::new(2, 1)?;
/// contact.replace(&[(0, 1)], &[10.0])?;
/// let system = System { contact: Some(&contact), ..(&a).into() };
/// let (built, mut merged) = (system.whole()?, Merged::default());
/// assert_eq!(merged.whole(&system, built.pattern())?.get(0, 1), 10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Merged {
    /// An `Option<Bsr<T>>`.
    matrix: Option<Box<dyn Any + Send + Sync>>,
    bytes: usize,
}

impl Merged {
    /// The system matrix: A itself, or A + C in the memory of earlier calls. `known` is the pattern that the object in use
    /// has, as in [`System::whole_in`].
    ///
    /// *Cost* nothing without contact or with an empty contact set, otherwise a copy of A; nothing is allocated while the
    /// pattern and the scalar type stay.
    ///
    /// # Errors
    /// Those of [`System::check`] and [`System::whole`].
    pub fn whole<'r, 'a: 'r, T: Real>(
        &'r mut self,
        system: &System<'a, T>,
        known: &Arc<Pattern>,
    ) -> Result<&'r Bsr<T>, SetupError> {
        system.check()?;
        if system.contact.is_none_or(|contact| contact.is_empty()) {
            return Ok(system.matrix);
        }
        if !self.matrix.as_ref().is_some_and(|matrix| matrix.is::<Option<Bsr<T>>>()) {
            self.matrix = Some(Box::new(None::<Bsr<T>>));
        }
        let memory = self.matrix.as_mut().and_then(|matrix| matrix.downcast_mut()).expect("it has this type");
        let whole = system.whole_in(memory, known)?;
        self.bytes = size_of_val(whole.values());
        Ok(whole)
    }

    /// Updates `method` by the function `update` and the matrix of a system, which is merged in the memory `field` of the
    /// method, as by [`whole`](Self::whole). The memory is kept if `update` builds the method again.
    ///
    /// # Errors
    /// Those of [`whole`](Self::whole) and of `update`.
    pub fn update<T: Real, M>(
        method: &mut M,
        field: impl Fn(&mut M) -> &mut Self,
        system: &System<'_, T>,
        known: &Arc<Pattern>,
        update: impl FnOnce(&mut M, &Bsr<T>) -> Result<Reused, SetupError>,
    ) -> Result<Reused, SetupError> {
        let mut merged = mem::take(field(method));
        let done = merged.whole(system, known).and_then(|a| update(method, a));
        *field(method) = merged;
        done
    }

    /// The number of bytes of its values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merged").field("bytes", &self.bytes).finish()
    }
}
