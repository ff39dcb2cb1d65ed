//! Files of a run: checkpoints, the table of frames, surfaces.
//!
//! | file | what |
//! |---|---|
//! | `checkpoint` | [`Saved`]: a state that is written and read back |
//! | `table` | [`Table`]: one line per frame; the [`summary`] of a run |
//! | `surface` | [`Surface`]: the bodies of a frame, in the formats of other programs |
//! | `cache` | a point cache, `.pc2`: the positions of all frames |
//! | `gltf` | an animation, `.glb`, of a point cache |
//! | `vtu` | [`Grid`]: a frame for ParaView, `.vtu`, and the list of all frames, `.pvd` |
//! | `shown` | [`Shown`]: what a run wrote of a frame |
//! | `error` | [`OutputError`] |

mod cache;
mod checkpoint;
mod error;
mod gltf;
mod shown;
mod surface;
mod table;
mod vtu;

pub use checkpoint::{
    CheckpointError, NUMERICS, Reader, Saved, Writer, read, read_run, read_state, write, write_run,
};
use error::require;
pub use error::{OutputError, failed};
pub use shown::{Shown, check_shown};
pub use surface::{Format, Group, Moment, Solid, Surface};
pub use table::{Cell, Columns, Record, Table, summary};
pub use vtu::{Grid, cauchy, list_frames, von_mises};
