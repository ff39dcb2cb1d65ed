//! Files of a run: checkpoints, the table of frames, surfaces.
//!
//! | file | what |
//! |---|---|
//! | `checkpoint` | [`Saved`]: a state that is written and read back |
//! | `table` | [`Table`]: one line per frame; the [`summary`] of a run |
//! | `surface` | [`Surface`]: the bodies of a frame as VTK or OBJ |
//! | `error` | [`OutputError`] |

mod checkpoint;
mod error;
mod surface;
mod table;

pub use checkpoint::{CheckpointError, NUMERICS, Reader, Saved, Writer, read, read_state, write};
pub use error::{OutputError, failed};
pub use surface::{Format, Group, Surface};
pub use table::{Cell, Columns, Record, Table, summary};
