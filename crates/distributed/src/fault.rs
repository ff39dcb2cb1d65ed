//! An error as bytes, so that a transport between processes can tell all ranks the same error.

use std::time::Duration;

use crate::{CommError, pack, unpack};

impl CommError {
    /// The error as bytes, for [`from_bytes`](Self::from_bytes) in another process of the same program.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, numbers, text): (u64, _, _) = match self {
            Self::Late { rank, from, stage, deadline } => {
                let nanoseconds = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
                (0, [*rank as u64, *from as u64, nanoseconds, 0], [*stage, ""])
            }
            Self::Lost { rank, lost, stage } => (1, [*rank as u64, *lost as u64, 0, 0], [*stage, ""]),
            Self::Panicked { rank } => (2, [*rank as u64, 0, 0, 0], ["", ""]),
            Self::Threads { rank } => (3, [*rank as u64, 0, 0, 0], ["", ""]),
            Self::Length { rank, from, stage, expected, found } => {
                (4, [*rank, *from, *expected, *found].map(|n| n as u64), [*stage, ""])
            }
            Self::Peer { rank, peer, stage, size } => {
                (5, [*rank, *peer, *size, 0].map(|n| n as u64), [*stage, ""])
            }
            Self::Disagree { rank, other, stage } => {
                (6, [*rank, *other, 0, 0].map(|n| n as u64), [*stage, ""])
            }
            Self::Transport { rank, stage, reason } => (7, [*rank as u64, 0, 0, 0], [*stage, &reason[..]]),
        };
        let mut bytes = Vec::new();
        pack([kind], &mut bytes);
        pack(numbers, &mut bytes);
        pack([text[0].len() as u64], &mut bytes);
        text.iter().for_each(|text| bytes.extend_from_slice(text.as_bytes()));
        bytes
    }

    /// The error of [`to_bytes`](Self::to_bytes); `None` for other bytes.
    ///
    /// *Memory* the name of the stage is kept until the process ends, since errors hold static names. A group
    /// stops at its first error, so this happens once.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, text) = bytes.split_at_checked(48)?;
        let head: Vec<u64> = unpack(head).collect();
        let (stage, reason) = std::str::from_utf8(text).ok()?.split_at_checked(head[5] as usize)?;
        let stage: &'static str = Box::leak(Box::from(stage));
        let [rank, second, third, fourth] = [1, 2, 3, 4].map(|k| head[k] as usize);
        Some(match head[0] {
            0 => Self::Late { rank, from: second, stage, deadline: Duration::from_nanos(head[3]) },
            1 => Self::Lost { rank, lost: second, stage },
            2 => Self::Panicked { rank },
            3 => Self::Threads { rank },
            4 => Self::Length { rank, from: second, stage, expected: third, found: fourth },
            5 => Self::Peer { rank, peer: second, stage, size: third },
            6 => Self::Disagree { rank, other: second, stage },
            7 => Self::Transport { rank, stage, reason: reason.to_owned() },
            _ => return None,
        })
    }
}
