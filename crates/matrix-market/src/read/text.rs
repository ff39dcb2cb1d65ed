//! Text in batches of whole lines; gzip streams are decompressed.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use crate::Problem;

/// The number of bytes read at a time. The whole text is never in memory: one batch is parsed while the next
/// batch is read.
const BATCH: usize = 1 << 20;

/// The maximum length of a line. Comments in real files are much shorter.
const LONGEST: usize = 1 << 20;

/// The first bytes of every gzip stream (RFC 1952, §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The maximum length of a quotation in a message, in characters.
const QUOTED: usize = 60;

/// A stream that is divided into batches at line ends.
pub(crate) struct Text {
    input: Box<dyn Read + Send>,
    compressed: bool,
    batch: usize,
    /// The start of the next batch: a line whose end has not been read yet.
    carry: Vec<u8>,
    /// The error that ended the stream early.
    failed: Option<Problem>,
}

impl Text {
    /// Opens a stream and reads its first two bytes.
    pub(crate) fn new(mut input: impl Read + Send + 'static) -> Self {
        let mut magic = Vec::new();
        let failed = input.by_ref().take(2).read_to_end(&mut magic).err();
        let compressed = magic == GZIP;
        let whole = io::Cursor::new(magic).chain(input);
        let input: Box<dyn Read + Send> = if compressed {
            let whole = io::BufReader::with_capacity(BATCH / 8, whole);
            Box::new(Streams { current: Some(GzDecoder::new(whole)) })
        } else {
            Box::new(whole)
        };
        let failed = failed.map(|error| Problem::Read { kind: error.kind() });
        Self { input, compressed, batch: BATCH, carry: Vec::new(), failed }
    }

    /// Whether the stream is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Replaces `batch` by the next whole lines, or empties it at the end of the stream. If the last newline
    /// of the file is missing, it is added.
    pub(super) fn fill(&mut self, batch: &mut Vec<u8>) -> Result<(), Problem> {
        batch.clear();
        batch.append(&mut self.carry);
        let mut size = self.batch;
        loop {
            let from = batch.len();
            if self.failed.is_none() {
                let wanted = size.saturating_sub(from) as u64;
                let result = self.input.by_ref().take(wanted).read_to_end(batch);
                self.failed = result.err().map(|error| self.blame(&error));
            }
            if let Some(end) = batch[from..].iter().rposition(|&byte| byte == b'\n') {
                self.carry.extend_from_slice(&batch[from + end + 1..]);
                batch.truncate(from + end + 1);
                return Ok(());
            }
            if let Some(problem) = &self.failed {
                return Err(problem.clone());
            }
            if batch.len() < size {
                if !batch.is_empty() {
                    batch.push(b'\n');
                }
                return Ok(());
            }
            if size > LONGEST {
                return Err(Problem::LongLine { limit: LONGEST });
            }
            size *= 2;
        }
    }

    fn blame(&self, error: &io::Error) -> Problem {
        let kind = error.kind();
        match kind {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                if self.compressed =>
            {
                Problem::Gzip { kind }
            }
            _ => Problem::Read { kind },
        }
    }
}

/// The contents of all gzip streams of a file. Zeros behind a stream are skipped, as `gzip` does: they fill the last
/// block of a device.
struct Streams<R> {
    /// Empty at the end of the file.
    current: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Streams<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(current) = &mut self.current {
            let read = current.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let rest = current.get_mut();
            let more = loop {
                let bytes = rest.fill_buf()?;
                let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
                if zeros == 0 || zeros < bytes.len() {
                    let more = !bytes.is_empty();
                    rest.consume(zeros);
                    break more;
                }
                rest.consume(zeros);
            };
            self.current =
                self.current.take().map(GzDecoder::into_inner).filter(|_| more).map(GzDecoder::new);
        }
        Ok(0)
    }
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| is_blank(*byte) || *byte == b'\n').filter(|word| !word.is_empty())
}

/// Whether a line is blank or a comment.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    words(line).next().is_none_or(|word| word[0] == b'%')
}

/// Whether a byte is a space, a tab, or the carriage return of a Windows line end.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// A quotation for a message, trimmed, shortened and with escaped control characters.
#[cold]
pub(crate) fn quote(bytes: &[u8]) -> String {
    let bytes = bytes.trim_ascii();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * QUOTED)]);
    let mut shown: String = text.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    if text.chars().count() > QUOTED {
        shown.push('…');
    }
    shown
}
